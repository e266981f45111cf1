import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findDenial, type Ran } from "../../../src/tools/sandbox/denial.ts";
import { folder, run } from "../given.ts";
import { WROTE } from "./denials.ts";

const base = folder(homedir());
const OUT = join(base, "out");
const CWD = join(base, "cwd");
mkdirSync(join(OUT, "folder"), { recursive: true });
mkdirSync(CWD);
writeFileSync(join(OUT, "file"), "hi\n");
execFileSync("git", ["init", "-q", CWD]);
writeFileSync(join(CWD, "noexec.sh"), "x\n");

const here = (text: string): string => text.replaceAll("OUT", OUT).replaceAll("CWD", CWD);
const usual: Omit<Ran, "text"> = { exit: 1, sandbox: "workspace-write", platform: "linux", cwd: CWD, workdir: CWD, home: "/nonexistent/skein", writableRoots: [], network: false };
const whatOf = (text: string, more: Partial<Ran> = {}): string | null => findDenial({ ...usual, ...more, text: here(text) })?.denied?.what ?? null;

const isRoot = process.getuid?.() === 0;

describe("what programs wrote", () => {
  /** Whether a file of the system could be written outside depends on who asks. */
  const same = WROTE.filter(({ command }) => isRoot || !command.includes("/etc/"));
  test.each(same)("$command", ({ text, exit, denied }) => {
    expect(whatOf(text, { exit })).toBe(denied === null ? null : here(denied));
  });
});

describe("what does not count", () => {
  const touch = "touch: cannot touch 'OUT/new': Read-only file system\n";

  test.each<[string, string, Partial<Ran>]>([
    ["a command that succeeded", touch, { exit: 0 }],
    ["a folder that was made writable", touch, { writableRoots: [OUT] }],
    ["a file of the workspace", "touch: cannot touch 'CWD/new': Read-only file system\n", {}],
    ["a file of the sandbox's own /tmp", "touch: cannot touch '/tmp/x/y': Read-only file system\n", {}],
    ["a place where nobody can write", "touch: cannot touch '/proc/1/x': Read-only file system\n", {}],
    ["words without a path", "It says Read-only file system somewhere\n", {}],
    ["a network that was there", "curl: (6) Could not resolve host: example.com\n", { network: true }],
    ["a server of its own that does not answer", "curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server\n", {}],
    ["a script that may not be run", "bash: line 1: CWD/noexec.sh: Permission denied\n", { exit: 126, sandbox: "read-only" }],
    ["a missing file", "cat: OUT/none: No such file or directory\n", {}],
  ])("%s", (_, text, more) => expect(whatOf(text, more)).toBeNull());

  test("a file that the user could not write outside either", () => {
    if (!isRoot) expect(whatOf("touch: cannot touch '/etc/new': Read-only file system\n")).toBeNull();
    expect(whatOf("touch: cannot touch '/sys/new': Read-only file system\n")).toBe(isRoot ? "writing /sys/new" : null);
  });
});

test("where the workspace lies in the sandbox's own /tmp, what lies beside it counts", () => {
  const beside = folder("/tmp");
  mkdirSync(join(beside, "cwd"));
  const more = { cwd: join(beside, "cwd"), workdir: join(beside, "cwd") };
  expect(whatOf("touch: cannot touch '../new': Read-only file system\n", more)).toBe(`writing ${beside}/new`);
  expect(whatOf("touch: cannot touch '/tmp/new': Read-only file system\n", more)).toBeNull();
});

test("in read-only the workspace counts, and what is protected in it always does", () => {
  expect(whatOf("touch: cannot touch 'new': Read-only file system\n", { sandbox: "read-only" })).toBe(`writing ${CWD}/new`);
  expect(whatOf("touch: cannot touch 'new': Read-only file system\n", { sandbox: "read-only", workdir: OUT })).toBe(`writing ${OUT}/new`);
  expect(whatOf("touch: cannot touch '.git/x': Read-only file system\n")).toBe(`writing ${CWD}/.git/x`);
});

test("on macOS it is the permission that is denied", () => {
  expect(whatOf("touch: OUT/new: Operation not permitted\n", { platform: "darwin" })).toBe(`opening ${OUT}/new`);
  expect(whatOf("bash: OUT/new: Operation not permitted\n", { platform: "darwin" })).toBe(`opening ${OUT}/new`);
});

test("colours and carriage returns are no part of a path", () => {
  expect(whatOf("\u001B[31mtouch: cannot touch 'OUT/new': Read-only file system\u001B[0m\r\n")).toBe(`writing ${OUT}/new`);
});

test("an enormous output takes no time", () => {
  expect(whatOf(`${"x: Permission denied ".repeat(100_000)}\n${"touch: cannot touch 'x': Read-only file system\n".repeat(100_000)}`)).toBeNull();
});

describe("a call that the sandbox stood in the way of", () => {
  const cmd = `echo x > ${OUT}/made && cat ${OUT}/made && pwd && echo "$ASKED"`;
  const input = { cmd, workdir: "sub", timeout_ms: 9000, env: { ASKED: "for" } };
  mkdirSync(join(CWD, "sub"));

  test("says what it was kept from, and runs outside with everything else the same", async () => {
    const inside = await run(input, { cwd: CWD, sandbox: "workspace-write" });
    expect(inside).toMatchObject({ status: "done", exit: 1, denied: { what: `writing ${OUT}/made`, path: `${OUT}/made` } });
    expect(inside.output).toContain("Note: it ran in the workspace-write sandbox: only ");
    const outside = await run(input, { cwd: CWD, sandbox: "danger-full-access" });
    expect(outside).toMatchObject({ status: "done", exit: 0, text: `x\n${CWD}/sub\nfor\n` });
    expect(outside.denied).toBeUndefined();
  });

  test("does so when its shell went on", async () => {
    expect(await run(`echo x > ${OUT}/made; echo went on`, { cwd: CWD, sandbox: "workspace-write" })).toMatchObject({ exit: 0, denied: { path: `${OUT}/made` } });
  });

  test("and says nothing of it outside, or when it was interrupted or timed out for another reason", async () => {
    expect((await run("cat /nowhere", { cwd: CWD })).denied).toBeUndefined();
    expect((await run({ cmd: "sleep 10", timeout_ms: 200 }, { cwd: CWD, sandbox: "read-only" })).denied).toBeUndefined();
  });
});
