/** What the measurements share. */
import type { Data } from "./data.ts";

export interface Bench {
  data: Data;
  quick: boolean;
  /** Measurements of which the median counts. */
  times: number;
  /** Of the logs that are opened, in MB. */
  sizes: number[];
  /** How many are listed and searched. */
  sessions: number;
}
