/** The server by hand: reads the command line, starts, and tells of each exchange on a line. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { lastUserText } from "./asked.ts";
import { profiles } from "./profiles.ts";
import type { ProfileName } from "./profiles.ts";
import { replyKeys } from "./script.ts";
import type { RecordedRequest, Reply, Script, Wire } from "./script.ts";
import { startModelServer } from "./server.ts";

const help = `A scripted model server on 127.0.0.1 that speaks OpenAI Responses, Chat Completions and Anthropic Messages.

  node test/model-server/run.mjs [--wire any] [--port 8123] [--script FILE] [--repeat] [--profile NAME] [--key KEY] [--max-tokens N] [--no-validate]

  --wire      responses, chat, messages, or any (the default)
  --port      8123 unless given; 0 takes a free one
  --script    JSON: a list of replies, one for each request; without it, every request is greeted and echoed
  --repeat    start the script again when it has been played
  --profile   chat as another server does it: ${Object.keys(profiles).join(", ")}
  --key       answer 401 to requests without this key
  --max-tokens   refuse longer requests as the server would (a token is four bytes)
  --no-validate   play even for requests that the real API would refuse

A reply, every field optional (see test/model-server/script.ts):
  [ { "reasoning": "Let me look.", "calls": [{ "name": "exec_command", "arguments": { "cmd": "ls" } }] },
    { "text": ["Hel", "lo"], "usage": { "input": 1200, "cached": 1000, "output": 7 } },
    { "status": 429, "headers": { "retry-after": "1" } },
    { "text": "half an ans", "drop": { "afterEvents": 5 } },
    { "when": "weather", "search": { "query": "weather" }, "text": "for every request whose last user text has that word" },
    { "when": { "toolsOff": true }, "text": "a summary" },
    { "deltas": 20000, "slowMs": 1 } ]

Try it:
  curl -N http://127.0.0.1:8123/v1/responses -H 'content-type: application/json' \\
    -d '{"model":"scripted","stream":true,"input":[{"role":"user","content":"hi"}]}'
`;

/** Resolves to an exit code when there is nothing to serve, or to null once the server runs. */
export async function main(args: readonly string[]): Promise<number | null> {
  const read = readArguments(args);
  if ("problem" in read) {
    process.stderr.write(`${read.problem}\n\n${help}`);
    return 2;
  }
  if (read.help) {
    process.stdout.write(help);
    return 0;
  }
  process.stdout.on("error", () => {}); // whoever reads the lines may leave
  const server = await startModelServer({ ...read.options, onEnd: tell });
  process.stdout.write(`Scripted model server on ${server.url} (base URL: ${server.url}/v1). Ctrl+C ends it.\n`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close().then(() => process.exit(0)));
  return null;
}

type Read = { problem: string } | { help: boolean; options: Parameters<typeof startModelServer>[0] & object };

function readArguments(args: readonly string[]): Read {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        wire: { type: "string", default: "any" },
        port: { type: "string", default: "8123" },
        script: { type: "string" },
        repeat: { type: "boolean", default: false },
        profile: { type: "string", default: "openai" },
        key: { type: "string" },
        "max-tokens": { type: "string" },
        "no-validate": { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    const { wire, profile, key } = values;
    const port = Number(values.port);
    if (!["any", "responses", "chat", "messages"].includes(wire)) return { problem: `--wire: unknown wire '${wire}'.` };
    if (!Object.hasOwn(profiles, profile)) return { problem: `--profile: unknown profile '${profile}'.` };
    if (!Number.isInteger(port) || port < 0 || port > 65535) return { problem: `--port: '${values.port}' is not a port.` };
    const maxTokens = values["max-tokens"] === undefined ? undefined : Number(values["max-tokens"]);
    if (maxTokens !== undefined && !(maxTokens > 0)) return { problem: `--max-tokens: '${values["max-tokens"]}' is not a number of tokens.` };
    const script = values.script === undefined ? echo : readScript(values.script, values.repeat);
    return {
      help: values.help,
      options: { wire: wire as Wire | "any", port, script, profile: profile as ProfileName, validate: !values["no-validate"], ...(key === undefined ? {} : { key }), ...(maxTokens === undefined ? {} : { maxTokens }) },
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function readScript(file: string, repeat: boolean): Script {
  const replies: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!Array.isArray(replies) || replies.length === 0) throw new Error(`${file}: expected a JSON list of replies.`);
  for (const [i, reply] of replies.entries()) {
    for (const key of Object.keys(reply ?? {})) if (!Object.hasOwn(replyKeys, key)) throw new Error(`${file}: reply ${i} has an unknown field '${key}'.`);
  }
  const list = replies as Reply[];
  if (!repeat) return list;
  if (list.some(({ when }) => when !== undefined)) throw new Error(`${file}: --repeat and 'when' do not go together.`);
  return (_request, n) => list[n % list.length] ?? {};
}

function echo(request: RecordedRequest): Reply {
  const said = lastUserText(request.body);
  return { text: ["Hello ", "from ", "the ", "scripted ", "server", ".", ...(said === "" ? [] : [" You said: ", said])] };
}

function tell(request: RecordedRequest): void {
  const ms = Math.round(performance.now() - request.atMonotonic);
  process.stdout.write(`#${request.n} ${request.method} ${request.path}  ${request.raw.length} bytes${request.prefix === null ? "" : ` (${request.prefix} as before)`}  ${request.outcome} in ${ms} ms\n`);
  for (const problem of request.problems) process.stdout.write(`   refused: ${problem}\n`);
}
