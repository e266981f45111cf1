import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatPath, nearest, quoted, scanPath } from "../../src/config/keys.ts";
import { runs } from "./given.ts";

test("a path that is written out is read back", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 4 }), (path) => {
      const text = formatPath(path);
      expect(scanPath(`${text} = 1`, 0)).toEqual({ path, end: text.length + 1 });
    }),
    runs(500),
  );
});

test("blanks, both quotes and escapes", () => {
  expect(scanPath(` a . 'b\\n' . "c\\u0041\\U0001F600\\x41\\n\\"" =`, 0)).toEqual({ path: ["a", "b\\n", 'cA😀A\n"'], end: 41 });
  for (const bad of ["", ".a", "a.", "a..b", '"a', "'a\n'", "ä"]) expect(scanPath(bad, 0)).toBeNull();
});

test("what is shown cannot move the cursor or turn the text round", () => {
  expect(quoted("a\u001b[2J\u202e\u007f\u009b\u{e0041}b\"")).toBe('"a\\u001b[2J\\u202e\\u007f\\u009b\\U000e0041b\\""');
});

test("the nearest name", () => {
  const names = ["model", "model_provider", "sandbox_mode", "history", "tui"];
  expect(["modle", "mdel", "Model", "sandbox-mode", "model_providers", "hist", "xyz", "", "ti"].map((word) => nearest(word, names))).toEqual([
    "model",
    "model",
    "model",
    "sandbox_mode",
    "model_provider",
    null,
    null,
    null,
    "tui",
  ]);
});
