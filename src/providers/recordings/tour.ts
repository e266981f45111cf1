/**
 * The tour: a recorded conversation about a small broken project. The model's part is this recording; everything else is real: the
 * runtime, the log, the shell commands and the files, in a scratch folder.
 */
import { type Item } from "../../protocol/item.ts";

export const TOUR = {
  prompt: "The test fails. Find out why, fix it, and show me what you changed.",
  files: {
    "package.json": '{ "name": "scales", "private": true, "type": "module" }\n',
    "sum.js": "export function sum(numbers) {\n  let total = 0;\n  for (const number of numbers) total -= number;\n  return total;\n}\n",
    "sum.test.js": 'import { sum } from "./sum.js";\n\nconst got = sum([1, 2, 3]);\nif (got !== 6) {\n  console.log(`not ok: sum([1, 2, 3]) is ${got}, should be 6`);\n  process.exit(1);\n}\nconsole.log("ok");\n',
  } as Record<string, string>,
  samples: [
    [say("I'll run the test and read the code it covers."), shell("call_tour_1", "node sum.test.js; cat sum.js")],
    [
      say("The loop subtracts: `total -= number`. It should add. I'll keep a copy, change that one line and run the test again."),
      shell("call_tour_2", "cp sum.js sum.js.before && sed -i.bak 's/total -= number/total += number/' sum.js && rm sum.js.bak && node sum.test.js"),
    ],
    [shell("call_tour_3", "diff -u sum.js.before sum.js; rm sum.js.before")],
    [say("The test passes now. `sum` started at 0 and subtracted every number; it adds them instead. One line of `sum.js` changed, nothing else.")],
  ] satisfies Item[][],
};

function say(text: string): Item {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}
function shell(call_id: string, cmd: string): Item {
  return { type: "function_call", call_id, name: "exec_command", arguments: JSON.stringify({ cmd }) };
}
