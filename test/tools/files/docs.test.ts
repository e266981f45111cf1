/** docs/tools.md says what is so; its programs are run in test/embed. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { builtinTools } from "../../../src/tools/builtin.ts";

const page = readFileSync(new URL("../../../docs/tools.md", import.meta.url), "utf8");

test("every tool that comes with Skein is listed with its arguments", () => {
  const rows = new Map([...page.matchAll(/^\| `(\w+)` \| ([^|]*) \|/gmu)].map(([, name, fields]) => [name, [...fields!.matchAll(/`(\w+)`/gu)].map(([, field]) => String(field)).toSorted()]));
  const tools = builtinTools({ home: "/nonexistent/skein", env: {}, platform: "linux" });
  expect(rows).toEqual(new Map(tools.map(({ name, parameters }) => [name, Object.keys((parameters as unknown as { properties: object }).properties).toSorted()])));
});
