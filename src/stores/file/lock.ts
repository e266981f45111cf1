/**
 * The kernel's lock on a file: held by an open descriptor, freed by the kernel when its process dies (not when it is stopped), and
 * exclusive within a process as well. The lock file itself is never renamed or removed, because a lock on a file that has lost
 * its name excludes nobody.
 */
import type { Files } from "./files.ts";

export interface Held {
  release(): void;
}

/** Null when somebody else holds it. */
export function tryLock(path: string, files: Files): Held | null {
  const fd = files.open(path, "update");
  let locked = false;
  try {
    locked = files.lock(fd) && files.stat(path)?.identity === files.fstat(fd).identity;
  } finally {
    if (!locked) files.close(fd);
  }
  return locked ? { release: () => files.close(fd) } : null;
}

const PATIENCE_MS = 5000;
const STEP_MS = 5;

/** For locks that are held for milliseconds; null when the holder does not let go within seconds. */
export async function waitLock(path: string, files: Files): Promise<Held | null> {
  for (let waited = 0; ; waited += STEP_MS) {
    const held = tryLock(path, files);
    if (held || waited >= PATIENCE_MS) return held;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
}

/** Where locks do not reach other machines that use the same files. FUSE and 9P are left out: mostly they serve one machine. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
]);

/** The name of the network file system that the path is on; null on a local one. */
export function networkFileSystem(path: string, files: Files): string | null {
  return NETWORK.get(files.fileSystemType(path)) ?? null;
}
