import { expect, it } from "vitest";
import { ownCommandMessage, writtenOutput } from "../../src/core/command-output.ts";

it.each([
  ["Exit code: 0\nWall time: 0.1 seconds\nOutput:\nhello\n", "hello\n"],
  ["Exit code: 1\nWall time: 0.1 seconds\nOutput:\n", ""],
  ["Exit code: 137 (ended by SIGKILL)\nWall time: 2.0 seconds\nNote: one.\nNote: two.\nOutput:\nOutput:\nExit code: 0\n", "Output:\nExit code: 0\n"],
  ["Interrupted: the command and everything that it started were ended.\nWall time: 0.1 seconds\nOutput:\nhalf", "half"],
  ["Not run: the folder /x does not exist.", "Not run: the folder /x does not exist."],
  ["Exit code: 0\nand so on", "Exit code: 0\nand so on"],
  ["Output:\nmine", "Output:\nmine"],
  ["", ""],
])("%j was written as %j", (told, written) => {
  expect(writtenOutput({ type: "function_call_output", call_id: "c1", output: told })).toBe(written);
  expect(writtenOutput(ownCommandMessage("ls", told))).toBe(written);
});
