/**
 * Live text: items that are being streamed. Each piece passes the redactor, goes to disk (`live.jsonl`) so that a crash does not lose
 * what the user already read, and then to the screen with the offset at which it goes.
 */
import type { EventBody } from "../protocol/event.ts";
import type { Redactor } from "../core/redact.ts";
import { StoreFault, type LivePart, type Log } from "../core/store.ts";

export interface LiveStream {
  /** Text as it comes. */
  push(delta: string): void;
  /** What was held back is shown. */
  end(): void;
  /** What was shown so far. */
  readonly text: string;
}

export interface Live {
  open(id: string, kind: LivePart["kind"], event: (delta: string, offset: number) => EventBody): LiveStream;
  /** The items are committed: forget them, on disk too. */
  clear(): void;
  /** Forget one, without touching what is on disk until the next clear. */
  close(id: string): void;
  snapshot(): EventBody[];
}

export function createLive(given: { log: Log; redactor: Redactor; show: (body: EventBody) => void }): Live {
  let warned = false;
  /** Half an answer is not worth a turn: if it cannot be kept, that is said once, and the whole item will show what the disk thinks. */
  const onDisk = (write: () => void) => {
    try {
      write();
    } catch (error) {
      if (!(error instanceof StoreFault)) throw error;
      if (!warned) given.show({ type: "warning", message: `Text that is being streamed cannot be kept against a crash: ${error.message}` });
      warned = true;
    }
  };
  const open = new Map<string, { text: string; event: (delta: string, offset: number) => EventBody }>();
  return {
    open(id, kind, event) {
      const entry = { text: "", event };
      open.set(id, entry);
      const redacting = given.redactor.stream();
      const put = (shown: string) => {
        if (shown === "") return;
        onDisk(() => given.log.live.add({ id, kind, delta: shown }));
        const offset = entry.text.length;
        entry.text += shown;
        given.show(event(shown, offset));
      };
      return {
        push: (delta) => put(redacting.push(delta)),
        end: () => put(redacting.end()),
        get text() {
          return entry.text;
        },
      };
    },
    clear() {
      open.clear();
      onDisk(() => given.log.live.clear());
    },
    close(id) {
      open.delete(id);
      if (open.size === 0) onDisk(() => given.log.live.clear());
    },
    snapshot: () => [...open.values()].filter(({ text }) => text !== "").map(({ text, event }) => event(text, 0)),
  };
}
