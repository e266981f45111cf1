/** The kernel's file lock (OFD on Linux, flock on macOS), which Node does not offer. */
import { createRequire } from "node:module";

type LockFile = (fd: number) => boolean;

let lockFile: LockFile | null = null;

/** False when another open file has it. */
export function lockDescriptor(fd: number): boolean {
  lockFile ??= load();
  return lockFile(fd);
}

/** The binding is taken from where the package keeps it: the package's own search for it costs 15 ms, at every start. */
function load(): LockFile {
  const require = createRequire(import.meta.url);
  try {
    const binding = require(`fs-native-extensions/prebuilds/${process.platform}-${process.arch}/fs-native-extensions.node`) as {
      tryLock(fd: number, offset: number, length: number, exclusive: boolean): void;
    };
    return (fd) => {
      try {
        binding.tryLock(fd, 0, 0, true);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
        throw error;
      }
    };
  } catch {
    return (require("fs-native-extensions") as { tryLock: LockFile }).tryLock;
  }
}
