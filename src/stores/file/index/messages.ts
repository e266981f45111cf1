/**
 * What the indexer's thread is given and tells. A pass cannot hear while it works, so stopping is a flag in shared memory; and so is whether it
 * works, because a thread that is ended while it is inside SQLite takes the process with it.
 */
import type { PassEnd } from "./indexer.ts";
import type { Need } from "./need.ts";
import type { Progress } from "./rows.ts";

export interface ThreadData {
  home: string;
  flags: SharedArrayBuffer;
}
/** Of the flags, each not zero when it is so: that it shall stop, and that it has something to do. */
export const STOP = 0;
export const BUSY = 1;

export interface Order {
  need: Need;
  damaged: string | null;
}
export type Report = { type: "progress"; progress: Progress } | { type: "ended"; end: PassEnd | "failed" };
