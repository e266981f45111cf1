/** docs/tools.md says what is so. */
import { transform } from "esbuild";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Tool, ToolHost } from "../../../src/core/tool.ts";
import { builtinTools } from "../../../src/tools/builtin.ts";

const page = readFileSync(new URL("../../../docs/tools.md", import.meta.url), "utf8");

test("every tool that comes with Skein is listed with its arguments", () => {
  const rows = new Map([...page.matchAll(/^\| `(\w+)` \| ([^|]*) \|/gmu)].map(([, name, fields]) => [name, [...fields!.matchAll(/`(\w+)`/gu)].map(([, field]) => String(field)).toSorted()]));
  const tools = builtinTools({ home: "/nonexistent/skein", env: {}, platform: "linux" });
  expect(rows).toEqual(new Map(tools.map(({ name, parameters }) => [name, Object.keys((parameters as unknown as { properties: object }).properties).toSorted()])));
});

test("the tool of one's own runs as it is written there", async () => {
  const source = /```ts\n([^]*?)```/u.exec(page)![1]!;
  const { code } = await transform(source, { loader: "ts" });
  const { weather } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as { weather: Tool };
  const host = {} as ToolHost;
  expect(await weather.run({ city: "Oslo" }, host)).toEqual({ status: "done", output: "It is sunny in Oslo." });
  expect(await weather.run(null, host)).toEqual({ status: "failed", output: "`city` must be a text." });
});
