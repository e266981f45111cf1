/**
 * `skein exec --replay`: a recorded conversation as its own model, offline. Each recorded turn is played as a turn of a new thread, with real
 * tools in the current folder; where a call gives another output than it gave then, that is told. It is one run: it ends with the last turn,
 * or with the first that fails.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { textOf } from "../protocol/item.ts";
import { RpcFailure } from "../client/client.ts";
import { exec, type ExecRequest } from "./exec.ts";
import type { Series } from "./exec-output.ts";
import { resolveThread } from "./resolve.ts";
import { EXIT, UserError, type Shell } from "./shell.ts";

export async function replay(source: string, request: ExecRequest, shell: Shell): Promise<number> {
  if (request.resume) throw new UserError("--replay starts a thread of its own; it does not go with resume.", EXIT.usage);
  const recording = await readRecording(source, shell);
  const prompts = request.prompt === null ? recording.prompts : [request.prompt];
  if (prompts.length === 0) throw new UserError(`${source} holds no turn that was answered: there is nothing to replay.`, EXIT.usage);
  const wish = { ...request.wish, model: recording.source, overrides: [...request.wish.overrides, 'model_provider="replay"'] };
  const series: Series = { lines: null, isLast: false };
  for (const [index, prompt] of prompts.entries()) {
    series.isLast = index === prompts.length - 1;
    const turn = { ...request, wish, prompt, series, resume: index === 0 ? null : { id: null, last: true, takeOver: false } };
    const code = await exec(turn, shell);
    if (code !== EXIT.done) return code;
  }
  return EXIT.done;
}

async function readRecording(named: string, shell: Shell): Promise<{ source: string; prompts: string[] }> {
  const connected = await shell.connect({ mode: "read", overrides: [] });
  try {
    const path = resolve(shell.cwd, named);
    const source = existsSync(path) ? path : await resolveThread(connected.client, { id: named, last: false });
    const { inputs } = await connected.client.call("recording/read", { source });
    return { source, prompts: inputs.map((items) => items.map(textOf).join("\n\n")) };
  } catch (error) {
    throw error instanceof RpcFailure ? new UserError(error.message, EXIT.notFound) : error;
  } finally {
    await connected.close();
  }
}
