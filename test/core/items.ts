/** Items of every kind that a log may hold, chosen by numbers. */
import type { CallItem, Item, OutputItem } from "../../src/protocol/item.ts";
import { outputFor, userText } from "../../src/protocol/item.ts";

const TEXTS = [
  "fix the failing test",
  "",
  "   \n\t ",
  "Zürich – ﷽ – 👩‍👩‍👧‍👦 – e\u0301\u0301",
  "\ud83d unpaired",
  "[31mred[0m\u0000\u2028",
  "x".repeat(300),
];
export const textBy = (n: number): string => `${TEXTS[n % TEXTS.length]!}${n % 3 ? "" : ` #${n}`}`;

/** What a user's input may hold. */
export function inputItems(n: number): Item[] {
  const text = textBy(n >>> 3);
  switch (n % 8) {
    case 0:
      return [userText(text), userText("and also this")];
    case 1:
      return [{ type: "message", role: "user", content: [{ type: "input_image", image_url: "blob:abc" }, { type: "input_text", text }] }];
    case 2:
      return [{ type: "message", role: "developer", content: [{ type: "input_text", text }] }, userText(text)];
    case 3:
      return [{ type: "message", role: "system", content: [{ type: "input_text", text }] }];
    default:
      return [userText(text)];
  }
}

/** What a model may send. Calls are the most frequent; half of their ids are reused ones. */
export function modelItem(kind: number, n: number): Item {
  const call_id = n % 2 ? `call_${n % 5}` : `call_u${n}`;
  const text = textBy(n);
  switch (kind % 20) {
    case 0:
    case 1:
    case 2:
    case 3:
      return { type: "function_call", call_id, name: n % 3 ? "exec_command" : "read_file", arguments: `{"n":${n}}`, id: `fc_${n}` };
    case 4:
    case 5:
      return { type: "custom_tool_call", call_id, name: "apply_patch", input: text };
    case 6:
      return { type: "local_shell_call", call_id, action: { type: "exec", command: ["ls", text] }, status: "completed" };
    case 7:
    case 8:
      return { type: "reasoning", summary: [{ type: "summary_text", text }], encrypted_content: `enc${n}` };
    case 9:
      return { type: "web_search_call", id: `ws_${n}`, status: "completed", action: { type: "search", query: text } };
    case 10:
      return { type: "message", role: "developer", content: [{ type: "input_text", text }] };
    case 11:
      return { type: "message", role: "system", content: [{ type: "input_text", text }] };
    case 12:
      return { type: "image_generation_call", id: `ig_${n}`, result: "blob:abc", later: { field: n } };
    case 13:
      return { type: "function_call_output", call_id, output: text };
    case 14:
      return { type: "custom_tool_call_output", call_id, output: [{ type: "input_text", text }] };
    case 15:
      return { type: "message", role: "assistant", content: [] };
    case 16:
      return { type: "message", role: "user", content: [{ type: "input_text", text }] };
    default:
      return { type: "message", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] };
  }
}

/** Items that no model and no runtime of ours would write, and that a log may still hold. */
export function garbageItem(n: number): Item {
  const garbage: unknown[] = [
    null,
    42,
    "message",
    [],
    {},
    { type: 5 },
    { type: "message" },
    { type: "message", role: "user" },
    { type: "message", role: "tool", content: [{ type: "input_text", text: "?" }] },
    { type: "message", role: "assistant", content: "not parts" },
    { type: "message", role: "user", content: [null, 7, { type: 3 }] },
    { type: "function_call", call_id: "call_1" },
    { type: "function_call", name: "f", arguments: "{}" },
    { type: "function_call", call_id: 1, name: "f", arguments: "{}" },
    { type: "custom_tool_call", call_id: "call_1", name: "f", arguments: "{}" },
    { type: "local_shell_call", call_id: null, action: {} },
    { type: "function_call_output", output: "no id" },
    { type: "function_call_output", call_id: "call_1" },
    { type: "custom_tool_call_output", call_id: "call_3", output: 9 },
    { type: "function_call_output", call_id: "call_1", output: [null, 3] },
    { type: "reasoning" },
    { type: "reasoning", summary: "text" },
    { type: "constructor" },
    { type: "__proto__", call_id: "call_1" },
  ];
  return garbage[n % garbage.length] as Item;
}

/** The output of a call; every eighth is of the wrong kind. */
export function outputBy(call: CallItem, n: number): OutputItem {
  const answer = outputFor(call, n % 5 ? textBy(n) : [{ type: "input_text", text: textBy(n) }, { type: "input_image", image_url: "blob:abc" }]);
  if (n % 8 !== 7) return answer;
  return { ...answer, type: answer.type === "function_call_output" ? "custom_tool_call_output" : "function_call_output" };
}
