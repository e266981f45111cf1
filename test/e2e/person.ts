/**
 * A person at an interactive Skein: a process of its own that has the thread open, as an embedder has it, and a client at its socket that
 * says what the person says and sees what the person sees.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { createClient, type Client } from "../../src/client/client.ts";
import { socketTransport } from "../../src/client/node.ts";
import type { OpenOptions } from "../../src/embed/open.ts";
import type { Event } from "../../src/protocol/event.ts";
import { userText } from "../../src/protocol/item.ts";
import type { Json } from "../../src/protocol/json.ts";
import type { OpBody } from "../../src/protocol/op.ts";
import { until, type World } from "./skein.ts";

const EMBED = resolve(import.meta.dirname, "../../dist/embed.js");
const PROGRAM = `
const { open } = await import(process.argv[1]);
const { resume, ...options } = JSON.parse(process.argv[2]);
const { client, settings, warnings } = await open(options);
const { thread } = resume ? await client.call("thread/resume", { thread: resume }) : await client.call("thread/start", { source: "interactive", settings });
process.stdout.write(JSON.stringify({ thread, warnings }) + "\\n");
setInterval(() => {}, 1000);
`;

export interface Asked {
  id: string;
  kind: string;
  body: Record<string, Json>;
}

export interface Person {
  child: ChildProcess;
  client: Client;
  thread: string;
  warnings: string[];
  socketMode: number;
  events: Event[];
  do(op: OpBody): Promise<unknown>;
  say(text: string): Promise<unknown>;
  /** The question that is open and was not returned before. */
  asked(): Promise<Asked>;
  answer(decision: Json): Promise<Asked>;
  /** Resolves with its status when the nth turn that this person sees has ended. */
  ended(n?: number): Promise<string>;
}

export async function person(world: World, given: OpenOptions & { resume?: string } = {}): Promise<Person> {
  const server = world.env["SKEIN_TEST_SERVER"];
  const options = { mode: "interactive", model: "test-model", ...given, overrides: [`openai_base_url="${server}/v1"`, ...(given.overrides ?? [])] };
  const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, EMBED, JSON.stringify(options)], { cwd: world.project, env: world.env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const { thread, warnings } = await firstLine(child);
  const { socket } = JSON.parse(readFileSync(join(world.home, "sessions", thread, "owner.json"), "utf8")) as { socket: string };
  const client = createClient(await socketTransport(socket));
  const events: Event[] = [];
  const over = new AbortController();
  onTestFinished(() => {
    over.abort();
    client.close();
  });
  void (async () => {
    for await (const event of client.events(thread, null, over.signal)) events.push(event);
  })();
  const seen = new Set<string>();
  let count = 0;
  const submit = (op: OpBody) => client.submit(thread, { id: `${child.pid}-${count++}`, ...op });
  const open = () => events.find((event) => event.type === "approval/requested" && !seen.has(event.approval_id) && !events.some((later) => later.type === "approval/resolved" && later.approval_id === event.approval_id)) as (Event & { type: "approval/requested" }) | undefined;
  async function asked(): Promise<Asked> {
    await until(() => open() !== undefined);
    const { approval_id: id, kind, body } = open()!;
    seen.add(id);
    return { id, kind, body: body as Record<string, Json> };
  }
  return {
    child,
    client,
    thread,
    warnings,
    socketMode: statSync(socket).mode & 0o777,
    events,
    do: submit,
    say: (text) => submit({ type: "user_input", items: [userText(text)] }),
    asked,
    async answer(decision) {
      const question = await asked();
      await submit({ type: "answer", ask: question.id, answer: decision });
      return question;
    },
    async ended(n = 1) {
      const ends = () => events.filter((event) => event.type === "turn/completed");
      await until(() => ends().length >= n);
      return ends()[n - 1]!.status;
    },
  };
}

function firstLine(child: ChildProcess): Promise<{ thread: string; warnings: string[] }> {
  let stdout = "";
  let stderr = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((settle, reject) => {
    child.on("close", () => reject(new Error(`ended: ${stderr}`)));
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (stdout.includes("\n")) settle(JSON.parse(stdout.split("\n")[0]!) as { thread: string; warnings: string[] });
    });
  });
}
