/** Many small sessions in one home, newest last. Each has a word of its own in its title, so that rare words exist too. */
import type { Source, ThreadId } from "../../src/protocol/record.ts";
import { MIX } from "./mix.ts";
import { createRandom } from "./random.ts";
import { makeSession } from "./session.ts";

export interface MadeMany {
  sessions: number;
  bytes: number;
  newest: ThreadId;
  oldest: ThreadId;
}

const SPAN_MS = 2 * 365 * 24 * 3600 * 1000;
const NEWEST = Date.UTC(2026, 0, 31, 9);
const SOURCES: readonly Source[] = ["interactive", "interactive", "interactive", "exec", "app-server"];

/** The word that only the title of session `n` holds. */
export function wordOf(n: number): string {
  return `ticket${n}q`;
}

export function makeMany({ home, sessions, seed }: { home: string; sessions: number; seed: number }): MadeMany {
  const random = createRandom(seed);
  let bytes = 0;
  let oldest = "";
  let newest = "";
  for (let n = 0; n < sessions; n++) {
    const made = makeSession({
      home,
      small: true,
      seed: seed * 1_000_003 + n,
      bytes: random.size(MIX.smallSession),
      at: Math.floor(NEWEST - SPAN_MS + (SPAN_MS * n) / sessions),
      source: SOURCES[n % SOURCES.length]!,
      settings: { cwd: `/home/me/code/project-${n % 40}`, model_provider: n % 5 === 0 ? "anthropic" : "openai" },
      title: `Work on ${wordOf(n)}`,
    });
    bytes += made.bytes;
    oldest ||= made.thread;
    newest = made.thread;
  }
  return { sessions, bytes, newest, oldest };
}
