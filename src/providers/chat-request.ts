/**
 * A request for Chat Completions, in the form that the most servers take.
 *
 * - One system message, first: instructions and what developers said before anyone else. Most chat templates of local models refuse
 *   another system message, and the developer role altogether, so what developers say later is tagged text of the user.
 * - Messages of one role in a row are one message: some templates insist that roles alternate.
 * - Calls are functions whose arguments are a JSON object, since local servers parse them; custom and shell calls are wrapped.
 * - Tool messages hold text only; images of outputs follow in a message of the user. Reasoning is left out.
 */
import { isCall, isMessage, isOutput } from "../protocol/item.ts";
import type { ModelRequest } from "../core/provider.ts";
import { toolName } from "../protocol/item.ts";
import { argumentsText, nameOf, paired } from "./calls.ts";
import { hostedText, partsOf, textOnly, type Images, type Part } from "./content.ts";
import { isStrict, parametersOf } from "./schema.ts";
import { tagged } from "./tagged.ts";
import type { Building } from "./wire.ts";

/** OpenAI once took no more than this, and some gateways still do. */
const LONGEST_ID = 40;

export function toRequest(request: ModelRequest, { images }: Building): object {
  const { model, tools, effort, schema } = request;
  return {
    model,
    messages: messagesOf(request, images),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: "function", function: { name: tool.name, description: tool.description, parameters: parametersOf(tool) } })), ...(request.toolChoice === "none" ? { tool_choice: "none" } : {}) }),
    ...(effort === null ? {} : { reasoning_effort: effort }),
    ...(schema === undefined ? {} : { response_format: { type: "json_schema", json_schema: { name: "answer", strict: isStrict(schema), schema } } }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}
type Message =
  | { role: "system"; content: string }
  | { role: "user"; parts: Part[] }
  | { role: "assistant"; texts: string[]; calls: ToolCall[] }
  | { role: "tool"; id: string; content: string };

function messagesOf(request: ModelRequest, images: Images): object[] {
  const system = request.instructions === "" ? [] : [request.instructions];
  const messages: Message[] = [];
  /** Images of outputs, until the outputs are complete. */
  let shown: Part[] = [];
  const user = (parts: readonly Part[]) => {
    const last = messages.at(-1);
    if (last?.role === "user") last.parts.push(...parts);
    else if (parts.length > 0) messages.push({ role: "user", parts: [...parts] });
  };
  const flush = () => {
    if (shown.length > 0) user(shown);
    shown = [];
  };
  const assistant = () => {
    flush();
    const last = messages.at(-1);
    if (last?.role === "assistant") return last;
    const added = { role: "assistant" as const, texts: [], calls: [] as ToolCall[] };
    messages.push(added);
    return added as Extract<Message, { role: "assistant" }>;
  };
  for (const { item, id } of paired(request.input, LONGEST_ID)) {
    if (isMessage(item)) {
      const parts = partsOf(item.content, images);
      if (item.role === "assistant") assistant().texts.push(textOnly(parts));
      else if (item.role === "user") {
        flush();
        user(parts);
      } else if (messages.length === 0) system.push(textOnly(parts));
      else {
        flush();
        user([{ kind: "text", text: tagged("developer", textOnly(parts)) }]);
      }
    } else if (isCall(item)) {
      assistant().calls.push({ id: id!, type: "function", function: { name: nameOf(toolName(item)), arguments: argumentsText(item) } });
    } else if (isOutput(item)) {
      const parts = partsOf(item.output, images);
      messages.push({ role: "tool", id: id!, content: textOnly(parts) });
      shown.push(...parts.filter((part) => part.kind === "image"));
    } else if (item.type === "web_search_call") assistant().texts.push(hostedText(item));
  }
  flush();
  if (messages.length === 0) user([{ kind: "text", text: "Continue." }]);
  const opening: Message[] = system.length === 0 ? [] : [{ role: "system", content: system.join("\n\n") }];
  return [...opening, ...messages].map(written);
}

function written(message: Message): object {
  switch (message.role) {
    case "system":
      return message;
    case "user":
      return { role: "user", content: userContent(message.parts) };
    case "tool":
      return { role: "tool", tool_call_id: message.id, content: message.content };
    case "assistant": {
      const text = message.texts.filter((each) => each !== "").join("\n\n");
      if (message.calls.length === 0) return { role: "assistant", content: text };
      return { role: "assistant", content: text === "" ? null : text, tool_calls: message.calls };
    }
  }
}

/** Plain text where there is no image: not every server takes parts. */
function userContent(parts: readonly Part[]): string | object[] {
  if (parts.every((part) => part.kind === "text")) return parts.map((part) => part.text).join("\n\n");
  return parts.map((part) => {
    if (part.kind === "text") return { type: "text", text: part.text };
    return { type: "image_url", image_url: { url: part.url, ...(part.detail === null ? {} : { detail: part.detail }) } };
  });
}
