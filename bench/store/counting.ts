/** The file store's calls to the operating system, counted. */
import { realFiles, type Files } from "../../src/stores/file/files.ts";

export interface FileCounts {
  writes: number;
  written: number;
  reads: number;
  read: number;
  syncs: number;
  folderSyncs: number;
}

export function countingFiles(): { files: Files; counts: FileCounts } {
  const counts: FileCounts = { writes: 0, written: 0, reads: 0, read: 0, syncs: 0, folderSyncs: 0 };
  const files: Files = {
    ...realFiles,
    write(fd, bytes, position) {
      const wrote = realFiles.write(fd, bytes, position);
      counts.writes += 1;
      counts.written += wrote;
      return wrote;
    },
    read(fd, into, range) {
      const got = realFiles.read(fd, into, range);
      counts.reads += 1;
      counts.read += got;
      return got;
    },
    sync(fd) {
      counts.syncs += 1;
      return realFiles.sync(fd);
    },
    syncFolder(path) {
      counts.folderSyncs += 1;
      return realFiles.syncFolder(path);
    },
  };
  return { files, counts };
}

/** What was counted while `work` ran. */
export async function counted<T>(counts: FileCounts, work: () => Promise<T>): Promise<{ result: T; cost: FileCounts }> {
  const before = { ...counts };
  const result = await work();
  const cost = { ...counts };
  for (const key of Object.keys(before) as (keyof FileCounts)[]) cost[key] -= before[key];
  return { result, cost };
}
