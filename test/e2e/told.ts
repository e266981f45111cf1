/** What the model is told of its calls, as the scripted server received it. */
import type { ModelServer } from "../model-server/server.ts";
import type { Reply } from "../model-server/script.ts";
import { frame } from "../model-server/wire.ts";
import type { Json } from "./lines.ts";

/** The output of a call in the last request: its text, or its parts. */
export function outputOf(server: ModelServer, call: string): unknown {
  const input = server.requests.at(-1)!.body.input as Json[];
  return input.find((item) => String(item["type"]).endsWith("_output") && item["call_id"] === call)?.["output"];
}

/** Each call and its output, as far as they are text. */
export function told(server: ModelServer, ...calls: string[]): string[] {
  return calls.map((call) => {
    const output = outputOf(server, call);
    return typeof output === "string" ? output : JSON.stringify(output);
  });
}

/** A reply that is one item, of a kind that the script has no word for. */
export function itemReply(item: Json): Reply {
  const response = { id: "resp_raw", object: "response", created_at: 0, model: "test-model", status: "completed", output: [item], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
  const frames: [string, Json][] = [
    ["response.created", { response: { ...response, status: "in_progress", output: [] } }],
    ["response.output_item.added", { output_index: 0, item }],
    ["response.output_item.done", { output_index: 0, item }],
    ["response.completed", { response }],
  ];
  return { raw: frames.map(([type, fields], sequence_number) => frame(type, { type, sequence_number, ...fields })) };
}
