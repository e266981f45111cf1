/**
 * The tour: a recorded conversation about a small broken project. The model's part is this recording; everything else is real: the
 * runtime, the log, the shell commands and the files, in a scratch folder.
 */
import { userText, type Item } from "../../protocol/item.ts";
import type { Recorded } from "../recorded.ts";

const PROMPT = "The test fails. Find out why, fix it, and show me what you changed.";
const BROKEN = "export function sum(numbers) {\n  let total = 0;\n  for (const number of numbers) total -= number;\n  return total;\n}\n";

export const TOUR = {
  prompt: PROMPT,
  files: {
    "package.json": '{ "name": "scales", "private": true, "type": "module" }\n',
    "sum.js": BROKEN,
    "sum.test.js": 'import { sum } from "./sum.js";\n\nconst got = sum([1, 2, 3]);\nif (got !== 6) {\n  console.log(`not ok: sum([1, 2, 3]) is ${got}, should be 6`);\n  process.exit(1);\n}\nconsole.log("ok");\n',
  } as Record<string, string>,
  recorded: {
    inputs: [[userText(PROMPT)]],
    samples: [
      answer(say("I'll run the test and read the code it covers."), shell("call_tour_1", "node sum.test.js; cat sum.js")),
      answer(
        say("The loop subtracts: `total -= number`. It should add. I'll keep a copy, change that one line and run the test again."),
        shell("call_tour_2", "cp sum.js sum.js.before && sed -i.bak 's/total -= number/total += number/' sum.js && rm sum.js.bak && node sum.test.js"),
      ),
      answer(shell("call_tour_3", "diff -u --label before --label after sum.js.before sum.js; rm sum.js.before")),
      answer(say("The test passes now. `sum` started at 0 and subtracted every number; it adds them instead. One line of `sum.js` changed, nothing else.")),
    ],
    outputs: new Map([
      ["call_tour_1", output(`not ok: sum([1, 2, 3]) is -6, should be 6\n${BROKEN}`)],
      ["call_tour_2", output("ok\n")],
      ["call_tour_3", output("--- before\n+++ after\n@@ -1,5 +1,5 @@\n export function sum(numbers) {\n   let total = 0;\n-  for (const number of numbers) total -= number;\n+  for (const number of numbers) total += number;\n   return total;\n }\n")],
    ]),
  } satisfies Recorded,
};

function answer(...items: Item[]): Recorded["samples"][number] {
  return { items, usage: null };
}
function output(text: string): string {
  return `Exit code: 0\nWall time: 0.1 seconds\nOutput:\n${text}`;
}
function say(text: string): Item {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}
function shell(call_id: string, cmd: string): Item {
  return { type: "function_call", call_id, name: "exec_command", arguments: JSON.stringify({ cmd }) };
}
