import { expect, it } from "vitest";
import { shownOn } from "../../src/cli/terminal.ts";

it("shows what a terminal would act upon, and leaves files and pipes every byte", () => {
  const text = "a\tb\r\n\u001b[2J\u0007\u009b1mé";
  expect([shownOn({ isTTY: true }, text), shownOn({}, text)]).toEqual(["a\tb\n\u241b[2J\ufffd\ufffd1mé", text]);
});
