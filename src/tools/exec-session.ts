/**
 * A call that waits for a session: exec_command with `yield_time_ms`, and write_stdin. It ends when the command does, when its time is up,
 * or when it is interrupted, and then the command ends with it.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ToolHost, ToolOutcome } from "../core/tool.ts";
import type { ExecArguments } from "./exec-arguments.ts";
import { findProgram, prepare, type ExecOptions } from "./exec-launch.ts";
import { createShower, failed, report } from "./exec-report.ts";
import type { Collected } from "./output.ts";
import { commandText } from "./policy/assess.ts";
import type { Processes, Session } from "./processes.ts";
import { withTerminal } from "./pty.ts";

type Options = ExecOptions & { processes: Processes };

export async function runInSession({ args, host, options }: { args: ExecArguments; host: ToolHost; options: Options }): Promise<ToolOutcome> {
  const plain = prepare({ args, host, options });
  const prepared = args.input === "terminal" ? withTerminal(plain, { platform: options.platform, find: (program) => findProgram(program, plain.env["PATH"] ?? "") }) : plain;
  const input = args.input === "terminal" && prepared.argv === plain.argv ? "pipe" : args.input;
  const started = options.processes.start({ thread: host.thread, command: commandText(args.command), prepared, input, options });
  if (!started.ok) return failed(started.message);
  return waitFor(started.session, { host, options, yieldMs: args.yieldMs ?? 0, maxTokens: args.maxTokens });
}

interface Waiting {
  host: ToolHost;
  options: Options;
  yieldMs: number;
  maxTokens: number | null;
}

/** Waits, and tells what came of it since the last look. */
export async function waitFor(session: Session, { host, options, yieldMs, maxTokens }: Waiting): Promise<ToolOutcome> {
  const from = performance.now();
  const shower = createShower(host);
  const stop = (): void => session.stop();
  session.watch(shower.show);
  if (host.signal.aborted) stop();
  else host.signal.addEventListener("abort", stop, { once: true });
  const over = new AbortController();
  await Promise.race([session.done, delay(yieldMs, undefined, { signal: over.signal }).catch(() => {})]);
  over.abort();
  if (host.signal.aborted) await session.done;
  host.signal.removeEventListener("abort", stop);
  session.watch(null);
  shower.end();
  const { finished: state, prepared } = session;
  if (state) options.processes.forget(host.thread, session);
  const look = { prepared, state: state ?? { session: session.id }, collected: asText(session), ms: performance.now() - from, maxTokens };
  return report(look, { host, options });
}

function asText(session: Session): Collected {
  const collected = session.look();
  return session.input === "terminal" ? { ...collected, text: collected.text.replaceAll("\r\n", "\n") } : collected;
}
