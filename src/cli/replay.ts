/**
 * `skein exec --replay`: a recorded conversation as its own model, offline. Each recorded turn is played as a turn of one new thread, with
 * real tools in the current folder; where a call gives another output than it gave then, that is told. It is one run: it ends with the last
 * turn, or with the first that fails.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { textOf } from "../protocol/item.ts";
import type { Client } from "../client/client.ts";
import { resolveThread } from "./resolve.ts";
import { EXIT, UserError, type Shell, type Wish } from "./shell.ts";

/** The wish that makes the recording the model, and what its user said, turn by turn. */
export async function openRecording(named: string, { wish, resumes, shell }: { wish: Wish; resumes: boolean; shell: Shell }): Promise<{ wish: Wish; prompts: string[] }> {
  if (resumes) throw new UserError("--replay starts a thread of its own; it does not go with resume.", EXIT.usage);
  if (wish.model !== undefined) throw new UserError("With --replay the recording is the model: leave out -m.", EXIT.usage);
  const connected = await shell.connect({ mode: "read", overrides: [] });
  try {
    const source = await sourceOf(named, { client: connected.client, shell });
    const { inputs } = await connected.client.call("recording/read", { source });
    if (inputs.length === 0) throw new UserError(`${named} holds no turn that was answered: there is nothing to replay.`, EXIT.usage);
    const prompts = inputs.map((items) => items.map(textOf).join("\n\n"));
    return { wish: { ...wish, model: source, overrides: [...wish.overrides, 'model_provider="replay"'] }, prompts };
  } finally {
    await connected.close();
  }
}

/** A file where there is one, else a thread. A pipe could be read only once, and a folder not at all. */
async function sourceOf(named: string, { client, shell }: { client: Client; shell: Shell }): Promise<string> {
  const path = resolve(shell.cwd, named);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile()) return path;
  if (found) throw new UserError(`${path} is not a file: --replay takes the log of a thread, or a thread's id.`, EXIT.usage);
  if (/[/.]/u.test(named)) throw new UserError(`There is no such file: ${path}.`, EXIT.notFound);
  return resolveThread(client, { id: named, last: false });
}
