/**
 * The turn loop. Read this file first.
 *
 * `next(state)` lists every effect that should be running now. This loop starts those that are not, aborts those that are no longer
 * listed, and waits for nothing: each effect commits its outcome as records, every commit wakes the loop, and it asks again. The
 * loop keeps nothing but handles of what runs, so continuing, resuming and recovering are one path.
 */
import type { Draft } from "../protocol/record.ts";
import { outputFor } from "../protocol/item.ts";
import { callItem } from "../core/lost.ts";
import { next, type Step } from "../core/next.ts";
import type { ToolOutcome } from "../core/tool.ts";
import { begin, beginCancelled, take, type Kept, type TurnContext } from "./begin.ts";
import { runCall } from "./call.ts";
import { runCompact } from "./compact.ts";
import type { Host } from "./host.ts";
import { askId } from "./ids.ts";
import { runOwnCommand } from "./own-command.ts";
import { prepareSummary } from "./prepare.ts";
import { runSample } from "./sample.ts";
import type { Handle } from "./handle.ts";

export interface TurnLoop {
  /** Something changed: look again. */
  wake(): void;
  /** Something was asked of the thread: go on, also after a fault halted the loop. */
  retry(): void;
  /** Aborts what runs and resolves when it has ended; nothing is started any more. */
  stop(): Promise<void>;
}

const LOOPING = "History was compacted twice without getting on: the work does not fit into the model's window. Go on anyway?";

interface Running {
  abort: AbortController;
  done: Promise<void>;
}

export function createTurnLoop(session: Handle, host: Host): TurnLoop {
  const running = new Map<string, Running>();
  const kept: Kept = { texts: new Map(), warned: new Set() };
  let context: TurnContext | null = null;
  let stopped = false;
  let halted = false;
  let awake = false;
  let scheduled = false;

  function reconcile(): void {
    scheduled = false;
    if (stopped || halted) return;
    const steps = next(session.state, {
      retries: context?.provider?.retries ?? 4,
      // A tool that is not known yet is taken for the most careful kind.
      effectOf: (tool) => context?.tools.get(tool)?.effect ?? "exec",
      awake,
      lasts: host.lasts,
    });
    const wanted = new Set(steps.map((step) => step.key));
    for (const [key, effect] of running) if (!wanted.has(key)) effect.abort.abort();
    for (const step of steps) if (!running.has(step.key)) start(step);
  }

  function start(step: Step): void {
    const abort = new AbortController();
    running.set(step.key, { abort, done: attempt(step, abort.signal) });
  }

  async function attempt(step: Step, signal: AbortSignal): Promise<void> {
    const { head } = session.state;
    try {
      await session.settled();
      if (!signal.aborted) await perform(step, signal);
      if (session.state.head === head && !signal.aborted) throw new Error("it left nothing in the log");
    } catch (error) {
      halt(step, error);
    }
    running.delete(step.key);
    wake();
  }

  /** What cannot be recorded must not go on: the turn stays open, and the next op tries again. */
  function halt(step: Step, error: unknown): void {
    halted = true;
    session.show({ type: "error", message: `The turn stopped at "${step.do}": ${error instanceof Error ? error.message : String(error)}` });
  }

  /** What the turn was begun with; after a restart it is gathered again. Null: aborted. */
  async function opened(signal: AbortSignal): Promise<TurnContext | null> {
    return (context ??= await begin(session, host, { inputs: null, kept, signal }));
  }

  function runCallOf(call: string, around: { context: TurnContext; signal: AbortSignal }): Promise<void> {
    const given = { session, host, call, ...around };
    const isOwn = session.state.talk.requested?.some((own) => own.call === call);
    return isOwn ? runOwnCommand(given) : runCall(given);
  }

  async function perform(step: Step, signal: AbortSignal): Promise<void> {
    const turn = session.state.talk.turn?.id;
    switch (step.do) {
      case "begin":
        if (step.cancelled) beginCancelled(session, step.inputs);
        else context = await begin(session, host, { inputs: step.inputs, kept, signal });
        return;
      case "take":
        return take(session, host, { ...step, signal });
      case "ask":
        session.commit([{ type: "ask.opened", ask: askId(), kind: "loop", body: { message: LOOPING }, ...(turn ? { turn } : {}) }]);
        return;
      case "end":
        session.commit(endRecords(step));
        session.raw.clear();
        context = null;
        return;
      default: {
        const known = await opened(signal);
        if (known) await performWith(step, { context: known, signal });
      }
    }
  }

  /** What needs to know what the model is told. */
  function performWith(step: Extract<Step, { do: "sample" | "compact" | "prepare" | "call" }>, around: { context: TurnContext; signal: AbortSignal }): Promise<void> {
    switch (step.do) {
      case "sample":
        return runSample({ session, host, step, ...around });
      case "compact":
        return runCompact({ session, host, step, ...around });
      case "prepare":
        return prepareSummary({ session, host, ...around });
      case "call":
        return runCallOf(step.call, around);
    }
  }

  /** Calls that the model asked for and that never ran are answered, so that the next request finds every call answered. */
  function endRecords(step: Extract<Step, { do: "end" }>): Draft[] {
    const turn = session.state.talk.turn!.id;
    const drafts: Draft[] = [];
    for (const { call, tool } of step.unstarted) {
      const item = callItem(session.state, call);
      const asked = session.state.talk.asks.find((ask) => ask.call === call && ask.kind === "escalation");
      // It ran inside the sandbox, and nobody said that it may run outside.
      const inside = (asked?.body as { outcome?: ToolOutcome } | undefined)?.outcome;
      const { status, output, exit } = inside ?? { status: "denied", output: "Not run: the turn ended before this call was started." };
      if (item) drafts.push({ type: "call.ended", turn, call, tool, status, output: outputFor(item, output), ...(exit === undefined ? {} : { exit }) });
    }
    drafts.push({ type: "turn.ended", turn, status: step.status, ...(step.failure ? { failure: step.failure } : {}) });
    return drafts;
  }

  function wake(): void {
    if (scheduled || stopped) return;
    scheduled = true;
    queueMicrotask(reconcile);
  }

  return {
    wake,
    retry() {
      halted = false;
      awake = true;
      wake();
    },
    async stop() {
      stopped = true;
      for (const effect of running.values()) effect.abort.abort();
      await Promise.all([...running.values()].map((effect) => effect.done));
    },
  };
}
