/** What a front end says about the configuration, and what it gets for it. */
import type { Settings } from "../protocol/record.ts";
import type { Client } from "./client.ts";

/** As its user put it; the names are those of the flags. */
export interface Wish {
  mode: "exec" | "interactive" | "read";
  model?: string;
  profile?: string;
  sandbox?: string;
  approval?: string;
  cd?: string;
  addDirs?: string[];
  fullAuto?: boolean;
  bypass?: boolean;
  overrides: string[];
  strict?: boolean;
}

export interface Connected {
  client: Client;
  /** What a new thread starts with; null when no model is configured. */
  settings: Settings | null;
  /** What is missing, when something is configured and it is not enough. */
  problem: string | null;
  /** What the command line sets outright, and differs, for a thread that has settings of its own. */
  changes(current: Settings): Partial<Settings>;
  warnings: string[];
  close(): Promise<void>;
}
