/** `skein fork`: a new thread that shares the past of another up to a message. */
import { whole } from "./numbers.ts";
import { resolveThread } from "./resolve.ts";
import { EXIT, UserError, type Shell } from "./shell.ts";

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

export async function fork(given: { id: string | null; values: Values }, shell: Shell): Promise<number> {
  const last = given.values["last"] === true;
  if (!last && given.id === null) throw new UserError("Which thread? Give its id, or --last.", EXIT.usage);
  const at = whole(given.values["at"], "--at");
  const connected = await shell.connect({ mode: "read", overrides: [] });
  try {
    const { client } = connected;
    const parent = await resolveThread(client, { id: given.id, last });
    const { thread } = await client.call("thread/fork", { thread: parent, source: "exec", ...(at === null ? {} : { nthUserMessage: at - 1 }) });
    await client.call("thread/close", { thread });
    if (given.values["json"]) shell.stdout.write(`${JSON.stringify({ thread, parent })}\n`);
    else shell.stdout.write(`${thread}\n`);
    shell.stderr.write(`Forked from ${parent}. Go on with: skein exec resume ${thread} "…"\n`);
    return EXIT.done;
  } finally {
    await connected.close();
  }
}
