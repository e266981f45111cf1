/**
 * Files: every call that the file store makes to the operating system, so that a test can let any of them fail.
 *
 * What is quick is synchronous (a write on the page cache takes microseconds; the thread pool ten times that); what waits for
 * the medium is not. Whatever is created here is 0600 or 0700 from the first moment, whatever the umask: the mode is given at
 * creation, where a umask can only take bits away, and then set.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { lockDescriptor } from "./native-lock.ts";

export interface FileStat {
  size: number;
  nlink: number;
  /** Device and inode: the same file has the same identity. */
  identity: string;
  modified: number;
}

/** `create` fails when the file exists. `append` and `update` create it when it is missing. */
export type OpenMode = "read" | "create" | "append" | "update";

export interface Files {
  open(path: string, mode: OpenMode): number;
  /** Never fails: what matters was synced before, so an error that the medium reports only now says nothing new. */
  close(fd: number): void;
  /** At `position`, or at the end of a file opened for appending. The number of bytes written may be less than asked. */
  write(fd: number, bytes: Uint8Array, position: number | null): number;
  read(fd: number, into: Uint8Array, range: { offset: number; length: number; position: number }): number;
  fstat(fd: number): FileStat;
  /** Takes the kernel's lock on the file, until the descriptor is closed; false when somebody else has it. */
  lock(fd: number): boolean;
  truncate(fd: number, length: number): void;
  /** Content and length of the file are on the medium. */
  sync(fd: number): Promise<void>;
  /** The names in the folder are on the medium. */
  syncFolder(path: string): Promise<void>;
  /** Null when there is nothing of that name. */
  stat(path: string): FileStat | null;
  isFolder(path: string): boolean;
  /** Makes the folder and those above it; false when it was there. */
  makeFolder(path: string): boolean;
  list(path: string): string[];
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** Removes a file or a folder with everything in it; nothing happens when there is none. */
  removeAll(path: string): void;
  symlink(target: string, path: string): void;
  /** Null when there is no link of that name. */
  readLink(path: string): string | null;
  fileSystemType(path: string): number;
}

const FLAGS: Record<OpenMode, number> = {
  read: constants.O_RDONLY,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
  append: constants.O_RDWR | constants.O_CREAT | constants.O_APPEND,
  update: constants.O_RDWR | constants.O_CREAT,
};

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/**
 * Makes the folder and those above it that are missing; false when it was there. Node's own recursive mkdir never returns where a folder can
 * be seen but nothing can be made in it, as under /proc.
 */
export function makeFolders(path: string): boolean {
  try {
    if (!makeFolder(path)) return false;
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    makeFolders(dirname(path));
    if (!makeFolder(path)) return false;
  }
  chmodSync(path, FOLDER_MODE);
  return true;
}

function makeFolder(path: string): boolean {
  try {
    mkdirSync(path, FOLDER_MODE);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST" && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return false;
    throw error;
  }
}

export const realFiles: Files = {
  open(path, mode) {
    const fd = openSync(path, FLAGS[mode], FILE_MODE);
    if (mode === "read") return fd;
    try {
      if ((fstatSync(fd).mode & 0o777) !== FILE_MODE) fchmodSync(fd, FILE_MODE);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  },
  close(fd) {
    try {
      closeSync(fd);
    } catch (error) {
      if (errorCode(error) === "EBADF") throw error;
    }
  },
  write: (fd, bytes, position) => writeSync(fd, bytes, 0, bytes.byteLength, position),
  read: (fd, into, { offset, length, position }) => readSync(fd, into, offset, length, position),
  fstat: (fd) => shape(fstatSync(fd)),
  lock: lockDescriptor,
  truncate: ftruncateSync,
  sync: (fd) => settled((done) => fdatasync(fd, done)),
  async syncFolder(path) {
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await settled((done) => fsync(fd, done));
    } finally {
      closeSync(fd);
    }
  },
  stat(path) {
    const found = statSync(path, { throwIfNoEntry: false });
    return found ? shape(found) : null;
  },
  isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false,
  makeFolder(path) {
    return makeFolders(path);
  },
  list: (path) => readdirSync(path),
  rename: renameSync,
  unlink: unlinkSync,
  removeAll: (path) => rmSync(path, { recursive: true, force: true }),
  symlink: (target, path) => symlinkSync(target, path),
  readLink(path) {
    try {
      return readlinkSync(path);
    } catch (error) {
      if (errorCode(error) === "ENOENT" || errorCode(error) === "EINVAL") return null;
      throw error;
    }
  },
  fileSystemType: (path) => statfsSync(path).type >>> 0,
};

export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

function shape(stat: { size: number; nlink: number; dev: number; ino: number; mtimeMs: number }): FileStat {
  return { size: stat.size, nlink: stat.nlink, identity: `${stat.dev}:${stat.ino}`, modified: stat.mtimeMs };
}

function settled(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())));
}
