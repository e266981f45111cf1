/** A command that turns a folder into a link and back, as fast as it can, while patches and reads go through it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { patch, put, run, tree, world } from "../files/given.ts";

const SWAP = "while :; do mv dir real && ln -s ../home dir && rm dir && mv real dir; done";

test("nothing is written or read through a link that appears meanwhile", async () => {
  const place = world({ "dir/a": "inside\n" });
  put(join(place.home, "a"), "secret\n");
  put(join(place.home, "secret-name"), "");
  const before = tree(place.home);
  const swapping = spawn("sh", ["-c", SWAP], { cwd: place.cwd, stdio: "ignore" });
  onTestFinished(async () => {
    const ended = once(swapping, "exit");
    swapping.kill("SIGKILL");
    await ended;
  });
  await once(swapping, "spawn");
  const outcomes = { done: 0, failed: 0 };
  for (let round = 0; round < 300; round++) {
    const ran = await Promise.all([
      run("apply_patch", patch(`*** Add File: dir/new-${round}`, "+x"), place),
      run("apply_patch", patch("*** Update File: dir/a", "-public", "+changed"), place),
      run("read_file", { path: "dir/a" }, place),
      run("list_dir", { path: "dir" }, place),
    ]);
    for (const { status, text } of ran) {
      outcomes[status] += 1;
      expect(text).not.toContain("secret");
    }
  }
  expect(tree(place.home)).toEqual(before);
  expect(outcomes.done).toBeGreaterThan(0);
  expect(outcomes.failed).toBeGreaterThan(300);
});
