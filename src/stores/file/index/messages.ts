/** What the indexer's thread is given and tells. A pass cannot hear while it works, so stopping is a flag in shared memory. */
import type { PassEnd } from "./indexer.ts";
import type { Need } from "./need.ts";
import type { Progress } from "./rows.ts";

export interface ThreadData {
  home: string;
  /** Not zero: stop. */
  stop: SharedArrayBuffer;
}
export interface Order {
  need: Need;
  damaged: string | null;
}
export type Report = { type: "progress"; progress: Progress } | { type: "ended"; end: PassEnd | "failed" };
