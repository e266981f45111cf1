/** Trouble with the disk: the run says so and ends once; what was acknowledged is there when the trouble is over. */
import { describe, expect, it, onTestFinished } from "vitest";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scene } from "./scene.ts";
import { FULL_ACCESS, itemsOf, jsonLines, log, run, shell, types, type World } from "./skein.ts";

const isRoot = process.getuid?.() === 0;
/** Mounting needs root, and rights that containers may lack. */
const canMount = isRoot && process.platform === "linux" && tryMount();
if (!canMount) console.warn("No file systems can be mounted here: a full disk is not tested. Run this as root on Linux.");

/** A file system of its own for the home. */
function mountHome(world: World, size: string): void {
  mkdirSync(world.home, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=0700`, "skein-e2e", world.home]);
  onTestFinished(() => void spawnSync("umount", ["-l", world.home]));
}

/** Root may write to whatever the file system lets it write to. */
function makeReadOnly(world: World): void {
  if (canMount) {
    execFileSync("mount", ["-o", "remount,ro", world.home]);
    return;
  }
  execFileSync("chmod", ["-R", "a-w", world.home]);
  onTestFinished(() => void execFileSync("chmod", ["-R", "u+w", world.home]));
}

function tryMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "skein-mount-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "skein-e2e", folder]).status === 0;
  if (mounted) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true });
  return mounted;
}

describe("a home that cannot be", () => {
  it.each(["--json", "--quiet"])("made is said, with what to do, and nothing is asked of the model (%s)", async (flag) => {
    const { server, world } = await scene([]);
    writeFileSync(join(world.root, "file"), "");
    const result = await run(world, ["exec", flag, "x"], { env: { SKEIN_HOME: join(world.root, "file", "home") } });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("--ephemeral") });
    if (flag === "--json") expect(jsonLines(result.stdout)).toMatchObject([{ type: "error" }]);
    expect(result.stderr).not.toMatch(/^\s+at /mu);
    expect(server.requests).toEqual([]);
  });

  it.runIf(canMount || !isRoot)("written to is said: new threads are refused, old ones are read and listed, resuming says why it cannot be", async () => {
    const { server, world } = await scene([{ text: "Written." }]);
    if (canMount) mountHome(world, "16m");
    expect(await run(world, ["exec", "first"])).toMatchObject({ code: 0 });
    makeReadOnly(world);
    for (const args of [["x"], ["resume", "--last", "x"]]) {
      const result = await run(world, ["exec", "--json", ...args]);
      expect(result.code, result.stderr).toBe(1);
      expect(jsonLines(result.stdout)).toMatchObject([{ type: "error", message: expect.any(String) }]);
      expect(result.stderr).not.toMatch(/^\s+at /mu);
    }
    expect(jsonLines((await run(world, ["list", "--json"])).stdout)).toMatchObject([{ preview: "first" }]);
    expect(server.requests).toHaveLength(1);
  });
});

describe.runIf(canMount)("a home on a file system of its own", () => {
  it("that is full before anything is written: no thread, no request", async () => {
    const { server, world } = await scene([]);
    mountHome(world, "64k");
    fill(world.home);
    const result = await run(world, ["exec", "--json", "x"]);
    expect(result.code, result.stderr).toBe(1);
    expect(jsonLines(result.stdout)).toHaveLength(1);
    expect(server.requests).toEqual([]);
  });

  it("that fills up in the middle of a turn: the run fails once, and with room again the thread goes on with all that was shown", async () => {
    const { server, world } = await scene([{ text: "I fill it.", calls: [shell(`head -c 100m /dev/zero > "$SKEIN_FULL" 2>/dev/null; echo full`)] }, { text: "x".repeat(200_000) }, { text: "More room." }]);
    mountHome(world, "2m");
    const full = join(world.home, "filler");
    const result = await run(world, ["exec", ...FULL_ACCESS, "--json", "x"], { env: { SKEIN_FULL: full } });
    expect(result.code, result.stderr).toBe(1);
    expect(existsSync(full)).toBe(true);
    expect(result.stderr).not.toMatch(/^\s+at /mu);
    const shown = itemsOf(jsonLines(result.stdout).filter((line) => line["type"] === "item.completed"));
    rmSync(full);
    const resumed = await run(world, ["exec", "resume", "--last", "--json", "go on"]);
    expect(resumed.code, resumed.stderr).toBe(0);
    const sent = JSON.stringify(server.requests.at(-1)!.body);
    for (const item of shown) if (item["type"] === "agent_message") expect(sent).toContain(item["text"]);
    expect(server.problems).toEqual([]);
    expect(types(log(world)).filter((type) => type === "call.started")).toHaveLength(1);
  });
});

function fill(folder: string): void {
  spawnSync("bash", ["-c", `head -c 100m /dev/zero > '${join(folder, "filler")}'`]);
  for (let n = 0; n < 100; n++) {
    try {
      writeFileSync(join(folder, `small-${n}`), "x".repeat(4096));
    } catch {
      return;
    }
  }
}
