/** The writer by itself, with changes that cannot all be made. */
import { readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createBounds } from "../../../src/tools/files/bounds.ts";
import { createView } from "../../../src/tools/files/view.ts";
import { createGround } from "../../../src/tools/patch/ground.ts";
import type { Change } from "../../../src/tools/patch/plan.ts";
import { writeChanges } from "../../../src/tools/patch/write.ts";
import { tree, world, type World } from "../files/given.ts";

function writer({ cwd, home }: World, platform: NodeJS.Platform = process.platform) {
  const options = { home, env: process.env, platform, sandbox: { writableRoots: [] }, outputTokens: 1000 };
  const within = { cwd, sandbox: "workspace-write" } as const;
  const bounds = createBounds(options, within);
  const ground = createGround({ view: createView(options, within), bounds, platform });
  function change(path: string, after: string | null): Change {
    const before = ground.look(join(cwd, path));
    if (before.kind === "unusable") throw new Error(before.why);
    return { real: join(cwd, path), path, before, after: after === null ? null : { bytes: Buffer.from(after), mode: null, owner: null } };
  }
  return { change, write: (changes: readonly Change[]) => writeChanges(changes, { bounds, platform }) };
}

test.each(["linux", "darwin"] as const)("a rename that fails puts back the ones before it, with the very files (as on %s)", (platform) => {
  const place = world({ "a": "1\n", "b": "2\n" });
  symlinkSync("a", join(place.cwd, "link"));
  const before = tree(place.top);
  const inodes = ["a", "b"].map((name) => statSync(join(place.cwd, name)).ino);
  const { change, write } = writer(place, platform);
  // The same new name twice: the second finds it taken.
  const written = write([change("a", "one\n"), change("b", null), change("link", "no link\n"), change("deep/er/new", "x\n"), change("new", "1"), change("new", "2")]);
  expect(written).toEqual({ ok: false, message: "new is there already, made by something else.", lost: [] });
  expect(tree(place.top)).toEqual(before);
  expect(["a", "b"].map((name) => statSync(join(place.cwd, name)).ino)).toEqual(inodes);
});

test.each(["linux", "darwin"] as const)("changes are made as on %s", (platform) => {
  const place = world({ "a": "1\n", "b": "2\n" });
  const { change, write } = writer(place, platform);
  expect(write([change("a", "one\n"), change("b", null), change("deep/er/new", "x\n")])).toMatchObject({ ok: true });
  expect(Object.keys(tree(place.cwd))).toEqual(["a", "deep/", "deep/er/", "deep/er/new"]);
  expect(readFileSync(join(place.cwd, "a"), "utf8")).toBe("one\n");
});

test("the writer keeps the bounds itself", () => {
  const place = world();
  const before = tree(place.top);
  const { write } = writer(place);
  expect(write([{ real: join(place.outside, "x"), path: "x", before: { kind: "absent" }, after: { bytes: Buffer.from("x"), mode: null, owner: null } }])).toEqual({ ok: false, message: "x lies outside of the folders that may be written.", lost: [] });
  expect(tree(place.top)).toEqual(before);
});
