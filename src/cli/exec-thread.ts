/** The thread of a run: a new one, or one that is resumed, with what the command line changes in it. */
import { existsSync } from "node:fs";
import { RpcFailure, type Client } from "../client/client.ts";
import { NO_USAGE } from "../core/state.ts";
import type { Settings, Usage } from "../protocol/record.ts";
import type { ResumedThread } from "../protocol/rpc.ts";
import { changesOf } from "./changes.ts";
import { resolveThread } from "./resolve.ts";
import { EXIT, UserError, type Connected, type Shell } from "./shell.ts";

export interface Opening {
  resume: { id: string | null; last: boolean; takeOver: boolean } | null;
  ephemeral: boolean;
  /** Where no thread can be kept, this is called and nothing is kept, instead of failing. */
  unkept?: () => void;
  /** What kind of program started the thread; kept as a tag of it. */
  threadSource: string | null;
}

interface OpenedThread {
  thread: string;
  settings: Settings;
  usage: Usage;
  /** Where this run's events begin. */
  after: string | null;
  parked: boolean;
  queued: ResumedThread["queued"];
  repairs: string[];
}

export async function openThread({ request, connected, shell }: { request: Opening; connected: Connected; shell: Shell }): Promise<OpenedThread> {
  const { client, settings } = connected;
  if (!request.resume) {
    if (connected.problem !== null) throw new UserError(connected.problem, EXIT.usage);
    if (!settings) throw new UserError("No model is configured. Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name a model server in config.toml; `skein` without arguments shows a tour.", EXIT.usage);
    const start = (ephemeral: boolean) => client.call("thread/start", { source: "exec", settings, ephemeral });
    const { thread } = await start(request.ephemeral).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      const { unkept } = request;
      if (!unkept) throw new UserError(`${why}\nThreads are kept in ${shell.env["SKEIN_HOME"] ?? "~/.skein"}: ${/\b(?:full|quota)\b/u.test(why) ? "make room there" : "make it a folder that you can write to"}, or point SKEIN_HOME elsewhere, or keep nothing with --ephemeral.`, EXIT.failed);
      unkept();
      return start(true);
    });
    if (request.threadSource !== null) await client.submit(thread, { id: opId(), type: "describe", tags: [request.threadSource] });
    return { thread, settings, usage: NO_USAGE, after: null, parked: false, queued: [], repairs: [] };
  }
  const thread = await resolveThread(client, request.resume);
  const resumed = await resumeThread({ client, thread, takeOver: request.resume.takeOver, shell });
  const changes = changesOf(connected, resumed.settings);
  const inForce: Settings = { ...resumed.settings, ...changes };
  if (!existsSync(inForce.cwd)) throw new UserError(`The folder of this thread, ${inForce.cwd}, is gone. Name the one to work in with --cd DIR.`, EXIT.usage);
  if (Object.keys(changes).length > 0) await client.submit(thread, { id: opId(), type: "override_settings", settings: changes });
  return { thread, settings: inForce, usage: resumed.usage, after: resumed.cursor, parked: resumed.parked !== null, queued: resumed.queued, repairs: resumed.repairs };
}

/** Opens a thread; if another process has it and the user wants it, that process is asked to give it up. */
async function resumeThread(given: { client: Client; thread: string; takeOver: boolean; shell: Shell }): Promise<ResumedThread> {
  const { client, thread } = given;
  try {
    return await client.call("thread/resume", { thread });
  } catch (error) {
    const owner = error instanceof RpcFailure ? error.error.data?.owner : undefined;
    if (!owner) throw error;
    if (!given.takeOver) throw new UserError(`${(error as Error).message}\nTo ask for it: skein exec resume ${thread} --take-over "…". To watch: skein follow ${thread}. To branch: skein fork ${thread}.`, EXIT.busy);
    if (owner.socket === null) throw new UserError(`${(error as Error).message}\nThat process does not listen for requests; end it (pid ${owner.pid}) and try again.`, EXIT.busy);
    const other = await given.shell.connectTo(owner.socket);
    try {
      await other.call("owner/release", { thread });
    } finally {
      other.close();
    }
    return client.call("thread/resume", { thread });
  }
}

export function opId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Buffer.from(bytes).toString("base64url");
}
