/** usage.json in the home: the tallies of usage.ts between calls. Derived: what cannot be read or written costs time and nothing else. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Tallies, TallyCache } from "./usage.ts";

/** Raised whenever a tally means something else. */
const VERSION = 1;

export function usageFile(path: string): TallyCache {
  return {
    read() {
      try {
        const { v, threads } = JSON.parse(readFileSync(path, "utf8")) as { v: unknown; threads?: Tallies };
        return v === VERSION && threads ? threads : {};
      } catch {
        return {};
      }
    },
    write(threads) {
      const temporary = `${path}.${process.pid}.tmp`;
      try {
        writeFileSync(temporary, JSON.stringify({ v: VERSION, threads }), { mode: 0o600 });
        renameSync(temporary, path);
      } catch {
        rmSync(temporary, { force: true });
      }
    },
  };
}
