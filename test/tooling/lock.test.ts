// One holder at a time, also when holders are killed.

import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { REPOSITORY, node, scratchFolder, write } from "./planted.ts";

const ADD_ONE_SLOWLY = (folder: string): string => `
  import { readFileSync, writeFileSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { withLock } from ${JSON.stringify(join(REPOSITORY, "scripts", "lock.mjs"))};
  for (let i = 0; i < 5; i += 1) {
    await withLock({ path: ${JSON.stringify(join(folder, "lock"))}, onWait: () => {} }, async () => {
      const count = Number(readFileSync(${JSON.stringify(join(folder, "count"))}, "utf8"));
      await sleep(5);
      writeFileSync(${JSON.stringify(join(folder, "count"))}, String(count + 1));
    });
  }
`;

const HOLD_FOR_EVER = (folder: string): string => `
  import { withLock } from ${JSON.stringify(join(REPOSITORY, "scripts", "lock.mjs"))};
  await withLock({ path: ${JSON.stringify(join(folder, "lock"))}, onWait: () => {} }, () => {
    process.stdout.write("held");
    return new Promise(() => setInterval(() => {}, 1000));
  });
`;

it("lets no increment be lost, after a holder was killed", async () => {
  const folder = scratchFolder();
  write(folder, { count: "0" });
  const holder = spawn(process.execPath, ["--input-type=module", "--eval", HOLD_FOR_EVER(folder)], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => holder.stdout.once("data", resolve));
  const adders = Array.from({ length: 5 }, () => node(["--input-type=module", "--eval", ADD_ONE_SLOWLY(folder)]));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(readFileSync(join(folder, "count"), "utf8")).toBe("0");
  holder.kill("SIGKILL");
  expect(await Promise.all(adders)).toEqual(adders.map(() => ({ code: 0, stdout: "", stderr: "" })));
  expect(readFileSync(join(folder, "count"), "utf8")).toBe("25");
  expect(readdirSync(folder)).toEqual(["count"]);
});
