/** What comes out: the last message, the file, quiet runs, runs that leave nothing on disk, and readers that go away. */
import { describe, expect, it } from "vitest";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PNG } from "./pictures.ts";
import { scene } from "./scene.ts";
import { BIN, contentOf, FULL_ACCESS, itemsOf, jsonLines, log, logSoFar, run, runShell, shell, start, until } from "./skein.ts";

describe("for people", () => {
  it("prints the last message of several to stdout, and everything to stderr", async () => {
    const { world } = await scene([{ reasoning: "Hm.", text: "First I look.", calls: [shell("echo seen; exit 3")] }, { text: "It is seen." }]);
    const { stdout, stderr } = await run(world, ["exec", ...FULL_ACCESS, "look"]);
    expect(stdout).toBe("It is seen.\n");
    for (const text of ["thread ", "model test-model (openai)", "· Hm.", "First I look.", "$ echo seen; exit 3", "  seen\n", "  exit code 3", "It is seen.", "tokens in"]) expect(stderr).toContain(text);
    expect(stderr).not.toContain("Wall time");
  });

  it("prints only the last message with -q, and failures all the same", async () => {
    const { world } = await scene([{ calls: [shell("echo noise")] }, { text: "Quiet." }, { status: 401 }]);
    expect(await run(world, ["exec", "-q", "-c", "some_future_key=1", "x"])).toMatchObject({ code: 0, stdout: "Quiet.\n", stderr: "" });
    const failed = await run(world, ["exec", "--quiet", "x"]);
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("OPENAI_API_KEY") });
    expect(failed.stderr.trim().split("\n")).toHaveLength(1);
  });

  it("uses no colour and no control sequences where nobody asked for them", async () => {
    const { world } = await scene([{ text: "Plain." }]);
    const { stdout, stderr } = await run(world, ["exec", "x"]);
    expect(stdout + stderr).not.toContain("\u001b");
  });
});

describe("-o", () => {
  it("writes the last message to a file, as it is, with --json too", async () => {
    const { world } = await scene([{ text: "For the file." }, { text: "Again." }]);
    await run(world, ["exec", "-o", "last.txt", "x"]);
    expect(readFileSync(join(world.project, "last.txt"), "utf8")).toBe("For the file.");
    const result = await run(world, ["exec", "--json", "--output-last-message", join(world.root, "elsewhere.txt"), "x"]);
    expect(result.code).toBe(0);
    expect(readFileSync(join(world.root, "elsewhere.txt"), "utf8")).toBe("Again.");
  });

  it("is refused before anything is sent when its folder is not there, or it is one", async () => {
    const { server, world } = await scene([]);
    for (const file of ["no/such/folder/last.txt", "."]) expect(await run(world, ["exec", "--json", "-o", file, "x"])).toMatchObject({ code: 2, stderr: expect.stringContaining("nothing was sent") });
    expect(server.requests).toEqual([]);
  });

  it("that fails in the end is said, without a second terminal line", async () => {
    const { world } = await scene([{ calls: [shell("mkdir last.txt")] }, { text: "Done." }]);
    const result = await run(world, ["exec", ...FULL_ACCESS, "--json", "-o", "last.txt", "x"]);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("could not be written to") });
    expect(jsonLines(result.stdout).at(-1)).toMatchObject({ type: "turn.completed" });
  });
});

describe("--ephemeral", () => {
  it("leaves nothing of the conversation on disk: not the prompt, the answer, commands, outputs or images", async () => {
    const canary = "CANARY7f3a";
    const { server, world } = await scene([
      { reasoning: `thinking of ${canary}`, calls: [shell(`echo ${canary}; for i in $(seq 20000); do echo line $i ${canary}; done`)] },
      { text: `The answer is ${canary}.` },
    ]);
    writeFileSync(join(world.project, "a.png"), PNG);
    const scratch = join(world.root, "tmp");
    mkdirSync(scratch);
    const result = await run(world, ["exec", ...FULL_ACCESS, "--ephemeral", "--json", "-i", "a.png", `remember ${canary}`], { env: { TMPDIR: scratch } });
    expect(result.code, result.stderr).toBe(0);
    expect(jsonLines(result.stdout).at(-2)).toMatchObject({ item: { text: `The answer is ${canary}.` } });
    expect(JSON.stringify(server.requests[1]!.body)).toContain(canary);
    const files = everythingIn(world.root).filter((file) => file !== join(world.project, "a.png"));
    expect(files.filter((file) => holds(file, [Buffer.from(canary), PNG, Buffer.from(PNG.toString("base64"))]))).toEqual([]);
    expect(files.filter((file) => file.includes("sessions/") || file.endsWith("history.jsonl"))).toEqual([]);
    expect((await run(world, ["list", "--json"])).stdout).toBe("");
  });

  it("leaves nothing when it is interrupted either, and is not to be resumed", async () => {
    const canary = "CANARY9e1b";
    const { world } = await scene([{ text: [canary, " and ", canary], hang: { afterEvents: 6 } }]);
    const running = start(world, ["exec", "--ephemeral", "--json", `remember ${canary}`]);
    await running.line((line) => line.includes("turn.started"));
    running.child.kill("SIGINT");
    expect(await running.done).toMatchObject({ code: 130 });
    expect(everythingIn(world.root).filter((file) => holds(file, [Buffer.from(canary)]))).toEqual([]);
    expect(await run(world, ["exec", "--ephemeral", "resume", "--last", "x"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--ephemeral") });
  });

  it("works where nothing can be written", async () => {
    const { world } = await scene([{ text: "Fine." }]);
    const result = await run(world, ["exec", "--ephemeral", "--json", "x"], { env: { SKEIN_HOME: "/dev/null/home" } });
    expect(result.code, result.stderr).toBe(0);
  });
});

describe("a reader that goes away", () => {
  it("ends the run quietly: no error, the turn is recorded as cancelled, its child is gone", async () => {
    const { world } = await scene([{ calls: [shell("echo $$ > pid.txt; sleep 60")] }]);
    const result = await runShell(world, "{ $SKEIN -s danger-full-access --json 'wait'; echo \"code $?\" >&2; } | head -1");
    expect(result.stdout).toMatch(/^\{"type":"thread\.started"/u);
    expect(result.stdout.trim().split("\n")).toHaveLength(1);
    expect(result.stderr).toBe("code 0\n");
    expect(log(world).findLast((record) => record["type"] === "turn.ended")).toMatchObject({ status: "cancelled" });
    expect(log(world).at(-1)).toMatchObject({ type: "writer.closed" });
    const pid = contentOf(join(world.project, "pid.txt"));
    if (pid !== "") expect(() => process.kill(Number(pid), 0)).toThrow();
  });

  it("of stderr changes nothing: the answer still goes to stdout", async () => {
    const { world } = await scene([{ calls: [shell("sleep 0.3; seq 100000")] }, { text: "The answer." }]);
    const result = await runShell(world, "{ $SKEIN -s danger-full-access 'x' 2>&3 3>&-; echo \"code $?\"; } 3> >(head -c 1 > /dev/null)");
    expect(result.stdout).toBe("The answer.\ncode 0\n");
  });

  it("is told from a disk that is full: that is a failure with a reason", async () => {
    const { world } = await scene([{ text: "Too much." }]);
    const result = await runShell(world, "$SKEIN --json 'x' > /dev/full");
    expect(result).toMatchObject({ code: 1, stderr: "skein: Standard output cannot be written (ENOSPC). The turn is ended; what it did is kept.\n" });
    expect(log(world).at(-1)).toMatchObject({ type: "writer.closed" });
  });

  it("is told from it in text, too", async () => {
    const { world } = await scene([{ text: "Too much." }, { text: "Enough." }]);
    const full = await runShell(world, "$SKEIN -q 'x' > /dev/full");
    expect(full).toMatchObject({ code: 1, stderr: "skein: Standard output cannot be written (ENOSPC). The turn is ended; what it did is kept.\n" });
    expect((await runShell(world, "{ $SKEIN -q 'x'; echo \"code $?\" >&2; } | true")).stderr).toBe("code 0\n");
  });

  it("that is only slow gets everything", async () => {
    const { world } = await scene([...Array.from({ length: 30 }, (_, n) => ({ calls: [shell("seq 4000", `call_${n}`)] })), { text: "The end." }]);
    const result = await runShell(world, "$SKEIN -s danger-full-access --json 'x' | (sleep 3; cat)");
    const lines = jsonLines(result.stdout);
    expect(itemsOf(lines).filter((item) => item["status"] === "completed")).toHaveLength(30);
    expect(lines.at(-1)).toMatchObject({ type: "turn.completed" });
  });

  it("that never reads does not keep SIGTERM from ending the run", async () => {
    const { world } = await scene([...Array.from({ length: 40 }, (_, n) => ({ calls: [shell("seq 4000", `call_${n}`)] })), { hang: true as const }]);
    // A pipe of the system, which nobody empties.
    const child = spawn("bash", ["-c", `mkfifo stuck; exec 3<>stuck; exec '${process.execPath}' '${BIN}' exec -s danger-full-access -c 'openai_base_url="${world.env["SKEIN_TEST_SERVER"]}/v1"' -m test-model --json x > stuck`], {
      cwd: world.project,
      env: world.env,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
    await until(() => logSoFar(world).filter((record) => record["type"] === "call.ended").length > 10);
    child.kill("SIGTERM");
    await until(() => logSoFar(world).at(-1)?.["type"] === "writer.closed");
    expect(log(world).findLast((record) => record["type"] === "turn.ended")).toMatchObject({ status: "cancelled" });
    // What it has printed is still waiting to be read; whoever wants it gone says so again.
    const again = setInterval(() => child.kill("SIGTERM"), 100);
    await ended;
    clearInterval(again);
  });
});

function everythingIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function holds(file: string, needles: readonly Buffer[]): boolean {
  const bytes = readFileSync(file);
  return needles.some((needle) => bytes.includes(needle));
}
