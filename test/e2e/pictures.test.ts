/** A picture that is too large for the provider, through the real binary and its thread. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { dataOf } from "../../src/providers/content.ts";
import { sizeOf } from "../../src/providers/image-size.ts";
import { HALVES, png } from "../providers/pictures.ts";
import { scene } from "./scene.ts";
import { log, run } from "./skein.ts";

interface Body {
  input: { content?: { type: string; image_url?: string }[] }[];
}

it("goes smaller, with the same bytes after a resume, and stays as it was in the log", async () => {
  const { server, world } = await scene([{ text: "I see." }, { text: "Still." }]);
  writeFileSync(join(world.project, "large.png"), png(3000, 1500, HALVES(3000)));
  for (const args of [["exec", "look", "-i", "large.png"], ["exec", "resume", "--last", "and now?"]]) {
    const { code, stderr } = await run(world, args);
    expect(code, stderr).toBe(0);
  }
  expect(server.problems).toEqual([]);
  const [first, second] = server.requests.map(({ body }) => (body as Body).input.flatMap(({ content }) => content ?? []).find(({ type }) => type === "input_image")?.image_url ?? "");
  expect(sizeOf(Buffer.from(dataOf(first!)!.data, "base64"))).toEqual({ width: 2048, height: 1024 });
  expect(second).toBe(first);
  expect(JSON.stringify(log(world))).toMatch(/"image_url":"blob:[0-9a-f]{64}"/u);
});
