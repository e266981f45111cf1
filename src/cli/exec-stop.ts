/**
 * What ends a run before its turn does: SIGINT, SIGTERM, SIGHUP, the timeout, or a standard output that takes no more. The first asks the turn
 * to stop; a second signal ends the process at once (`onImpatience` has the last word), except that one which comes while everything is
 * being closed after the turn changes nothing: whoever started us may just be making sure.
 */
import { EXIT } from "./shell.ts";

export interface Stopped {
  exit: number;
  message: string;
}

export interface Stop {
  /** Null as long as nothing asked for the end. */
  readonly why: Stopped | null;
  /** Aborts when something does. */
  readonly signal: AbortSignal;
  /** Throws when something did. */
  check(): void;
  now(why: Stopped): void;
  /** The turn has ended. */
  done(): void;
  dispose(): void;
}

export class StoppedError extends Error {
  readonly stopped: Stopped;
  constructor(stopped: Stopped) {
    super(stopped.message);
    this.name = "StoppedError";
    this.stopped = stopped;
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function createStop(given: { timeoutSeconds: number | null; onImpatience: () => void }): Stop {
  const { timeoutSeconds } = given;
  const abort = new AbortController();
  let why: Stopped | null = null;
  let over = false;
  let signals = 0;
  const now = (reason: Stopped): void => {
    if (over || why) return;
    why = reason;
    abort.abort();
  };
  const onSignal = (name: NodeJS.Signals): void => {
    signals += 1;
    now({ exit: EXIT.interrupted, message: `Interrupted by ${name}.` });
    if (signals < 2 || (over && signals < 3)) return;
    given.onImpatience();
    process.exit(EXIT.interrupted);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  const timer = timeoutSeconds === null ? null : setTimeout(() => now({ exit: EXIT.timedOut, message: `Timed out after ${timeoutSeconds} s.` }), Math.min(timeoutSeconds * 1000, LONGEST_TIMER_MS));
  return {
    get why() {
      return why;
    },
    signal: abort.signal,
    check() {
      if (why) throw new StoppedError(why);
    },
    now,
    done() {
      over = true;
      if (timer) clearTimeout(timer);
    },
    dispose() {
      if (timer) clearTimeout(timer);
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
