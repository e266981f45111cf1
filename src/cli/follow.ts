/** `skein follow`: a thread as it happens, whoever writes it. Ctrl-C stops watching; the thread is not touched. */
import { textOf } from "../protocol/item.ts";
import { createLines } from "./exec-lines.ts";
import { createText } from "./exec-text.ts";
import { resolveThread } from "./resolve.ts";
import { EXIT, UserError, type Shell } from "./shell.ts";
import { shownOn } from "./terminal.ts";

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

export async function follow(given: { id: string | null; values: Values }, shell: Shell): Promise<number> {
  const last = given.values["last"] === true;
  if (!last && given.id === null) throw new UserError("Which thread? Give its id, or --last.", EXIT.usage);
  const connected = await shell.connect({ mode: "read", overrides: [] });
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    const thread = await resolveThread(connected.client, { id: given.id, last });
    const after = typeof given.values["after"] === "string" ? given.values["after"] : null;
    const lines = createLines();
    const json = given.values["json"] === true;
    const describe = createText();
    const write = (value: string) => void shell.stdout.write(`${shownOn(shell.stdout, value)}\n`);
    if (json) write(JSON.stringify(lines.started(thread)));
    for await (const event of connected.client.events(thread, after, stop.signal)) {
      if (given.values["events"]) write(JSON.stringify(event));
      else if (json) for (const line of lines.next(event)) write(JSON.stringify(line));
      else {
        const text = event.type === "item/completed" && event.item_kind === "userMessage" ? `> ${textOf(event.item)}` : describe(event);
        if (text !== null) write(text);
      }
      if (given.values["once"] && event.type === "turn/completed") break;
    }
    return EXIT.done;
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
    await connected.close();
  }
}
