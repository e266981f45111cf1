import { chmodSync, existsSync, linkSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratch } from "../../../src/tools/scratch.ts";
import { assess, patch, put, run, sha256, tree, world } from "../files/given.ts";

const MKFIFO = "mkfifo";

const read = (...path: string[]): string => readFileSync(join(...path), "utf8");

test("adds, updates, deletes and moves in one patch, and tells what changed with what was there before", async () => {
  const place = world({ "a.txt": "one\ntwo\n", "old.txt": "gone\n", "from.sh": "#!/bin/sh\necho\n" });
  chmodSync(join(place.cwd, "from.sh"), 0o755);
  const ran = await run(
    "apply_patch",
    patch("*** Update File: a.txt", " one", "-two", "+2", "*** Add File: deep/er/new.txt", "+new", "*** Delete File: old.txt", "*** Update File: from.sh", "*** Move to: bin/to.sh", "-echo", "+echo hi"),
    place,
  );
  const state = (text: string, mode: number) => ({ kind: "file", hash: sha256(Buffer.from(text)), mode });
  const before = (text: string, mode: number) => ({ ...state(text, mode), content: { sha256: sha256(Buffer.from(text)), bytes: text.length } });
  const mask = 0o666 & ~process.umask();
  expect(ran).toMatchObject({ status: "done", output: "M a.txt\nA deep/er/new.txt\nD old.txt\nD from.sh\nA bin/to.sh" });
  expect(ran.changes).toEqual([
    { path: join(place.cwd, "a.txt"), before: before("one\ntwo\n", mask), after: state("one\n2\n", mask) },
    { path: join(place.cwd, "deep/er/new.txt"), before: { kind: "absent" }, after: state("new\n", mask) },
    { path: join(place.cwd, "old.txt"), before: before("gone\n", mask), after: { kind: "absent" } },
    { path: join(place.cwd, "from.sh"), before: before("#!/bin/sh\necho\n", 0o755), after: { kind: "absent" } },
    { path: join(place.cwd, "bin/to.sh"), before: { kind: "absent" }, after: state("#!/bin/sh\necho hi\n", 0o755) },
  ]);
  expect(ran.kept.map(String).toSorted()).toEqual(["#!/bin/sh\necho\n", "gone\n", "one\ntwo\n"]);
  expect(tree(place.cwd)).toEqual({
    "a.txt": `${mask.toString(8)} one\n2\n`,
    "bin/": "folder",
    "bin/to.sh": "755 #!/bin/sh\necho hi\n",
    "deep/": "folder",
    "deep/er/": "folder",
    "deep/er/new.txt": `${mask.toString(8)} new\n`,
  });
});

test("sections apply one after another: a file is updated twice, and deleted and added", async () => {
  const place = world({ "a": "1\n2\n", "b": "x\n" });
  const ran = await run("apply_patch", patch("*** Update File: a", "-1", "+one", "*** Update File: a", " one", "-2", "+two", "*** Delete File: b", "*** Add File: b", "+y"), place);
  expect(ran).toMatchObject({ status: "done", output: "M a\nM b" });
  expect([read(place.cwd, "a"), read(place.cwd, "b")]).toEqual(["one\ntwo\n", "y\n"]);
});

test("a patch that leaves everything as it is says so", async () => {
  const place = world({ "a": "1\n" });
  expect(await run("apply_patch", patch("*** Update File: a", "-1", "+1"), place)).toMatchObject({ status: "done", output: "Nothing was changed. The files already are as the patch leaves them." });
});

test("keeps mode, owner, line endings, byte order mark and missing last newline", async () => {
  const place = world();
  put(join(place.cwd, "a"), "\uFEFFone\r\ntwo", 0o640);
  expect((await run("apply_patch", patch("*** Update File: a", " one", "-two", "+2"), place)).text).toBe("M a");
  expect(tree(place.cwd)).toEqual({ a: `640 ${Buffer.from("\uFEFFone\r\n2").toString("latin1")}` });
});

test("a program that is changed does not keep its set-user-id mode", async () => {
  const place = world();
  put(join(place.cwd, "a"), "x\n", 0o4755);
  expect((await run("apply_patch", patch("*** Update File: a", "-x", "+y"), place)).changes?.[0]?.after).toMatchObject({ mode: 0o755 });
});

describe("refused clearly, and nothing is changed", () => {
  test.each([
    ["add of what exists", ["*** Add File: a", "+x"], 'a exists already: use "*** Update File", or delete it first in the same patch.'],
    ["update of what is missing", ["*** Update File: nope", "-x", "+y"], 'nope does not exist. A new file needs "*** Add File".'],
    ["delete of what is missing", ["*** Delete File: nope"], "nope does not exist."],
    ["delete of a folder", ["*** Delete File: dir"], "dir is a folder."],
    ["update of a folder", ["*** Update File: dir", "-x", "+y"], "dir is a folder."],
    ["add where a folder is", ["*** Add File: dir", "+x"], "dir is a folder."],
    ["a file as a folder", ["*** Add File: a/b", "+x"], "a/b goes through a file as if it were a folder, or through a link."],
    ["move onto what exists", ["*** Update File: a", "*** Move to: bin", "-1", "+2"], "a cannot be moved to bin, which exists already."],
    ["binary", ["*** Update File: bin", "-x", "+y"], "bin is binary (it has NUL bytes)."],
    ["not UTF-8", ["*** Update File: latin", "-x", "+y"], "latin is not UTF-8."],
    ["UTF-16", ["*** Update File: wide", "-x", "+y"], "wide is UTF-16, and only UTF-8 can be patched."],
    ["huge", ["*** Update File: huge", "-x", "+y"], "huge is 10485761 bytes long, more than the 10485760 that a patch handles; use a command."],
    ["a pipe", ["*** Update File: fifo", "-x", "+y"], "fifo is not a file but a device, pipe or socket."],
    ["a broken link", ["*** Update File: broken", "-x", "+y"], "broken is a symbolic link that leads nowhere."],
    ["add over a broken link", ["*** Add File: broken", "+y"], 'broken exists already: use "*** Update File", or delete it first in the same patch.'],
    ["move of a link", ["*** Update File: link", "*** Move to: b", "-1", "+2"], "link is a symbolic link and cannot be moved: name the file that it leads to."],
    ["a secret in a new file", ["*** Add File: new", "+k=[REDACTED:jwt]"], "new, line 1: a placeholder of a secret cannot be put into a new file, because its text is not known."],
    ["a second section that fails", ["*** Update File: a", "-1", "+2", "*** Delete File: nope"], "nope does not exist."],
    ["a file that another section makes a folder of", ["*** Add File: x", "+1", "*** Add File: x/y", "+2"], "x/y lies in a folder that the same patch makes a file."],
  ])("%s", async (_name, lines, why) => {
    const place = world({ "a": "1\n", "bin": "x\0y\n", "latin": Buffer.from("x\xe9\n", "latin1"), "wide": Buffer.from("\uFEFFx\n", "utf16le"), "huge": Buffer.alloc(10 * 1024 * 1024 + 1, "x"), "dir/": "" });
    execFileSync(MKFIFO, [join(place.cwd, "fifo")]);
    symlinkSync("nowhere", join(place.cwd, "broken"));
    symlinkSync("a", join(place.cwd, "link"));
    const before = tree(place.top);
    const ran = await run("apply_patch", patch(...lines), place);
    expect(ran.status).toBe("failed");
    expect(ran.changes).toBeUndefined();
    expect(ran.text).toBe(`Nothing was changed. ${why}`);
    expect(tree(place.top)).toEqual(before);
  });
});

describe("links", () => {
  test("an update goes to the file behind a link, a delete to the link", async () => {
    const place = world({ "real/a": "1\n", "b": "2\n" });
    symlinkSync("real/a", join(place.cwd, "link"));
    symlinkSync("real", join(place.cwd, "folder"));
    symlinkSync("b", join(place.cwd, "goes"));
    const ran = await run("apply_patch", patch("*** Update File: link", "-1", "+one", "*** Add File: folder/new", "+n", "*** Delete File: goes"), place);
    expect(ran).toMatchObject({ status: "done", output: "M link\nA folder/new\nD goes" });
    expect(ran.changes?.map(({ path }) => path)).toEqual([join(place.cwd, "real/a"), join(place.cwd, "real/new"), join(place.cwd, "goes")]);
    expect(ran.changes?.[2]).toEqual({ path: join(place.cwd, "goes"), before: { kind: "symlink", target: "b" }, after: { kind: "absent" } });
    expect([read(place.cwd, "real/a"), readlinkSync(join(place.cwd, "link")), read(place.cwd, "b")]).toEqual(["one\n", "real/a", "2\n"]);
  });
  test("other names of the same file keep the old content", async () => {
    const place = world({ "a": "1\n" });
    linkSync(join(place.cwd, "a"), join(place.cwd, "b"));
    expect((await run("apply_patch", patch("*** Update File: a", "-1", "+2"), place)).text).toBe("M a");
    expect([read(place.cwd, "a"), read(place.cwd, "b")]).toEqual(["2\n", "1\n"]);
  });
});

describe("bounds", () => {
  function escapes() {
    const place = world({ "in.txt": "in\n", ".git/config": "[core]\n" });
    put(join(place.outside, "secret.txt"), "secret\n");
    put(join(place.home, "config.toml"), "mine\n");
    symlinkSync(place.outside, join(place.cwd, "out"));
    symlinkSync(join(place.outside, "secret.txt"), join(place.cwd, "file"));
    symlinkSync(".git", join(place.cwd, "git"));
    return place;
  }
  test.each([
    ["an absolute path", (top: string) => ["*** Add File: " + join(top, "outside/x"), "+x"]],
    ["a path upwards", () => ["*** Add File: ../outside/x", "+x"]],
    ["through a link to a folder", () => ["*** Add File: out/x", "+x"]],
    ["through a link to a file", () => ["*** Update File: file", "-secret", "+x"]],
    ["delete outside", () => ["*** Delete File: ../outside/secret.txt"]],
    ["move outside", () => ["*** Update File: in.txt", "*** Move to: ../outside/x", "-in", "+x"]],
    [".git", () => ["*** Update File: .git/config", "-[core]", "+x"]],
    [".git in other letters", () => ["*** Add File: .GIT/hooks/x", "+x"]],
    [".git through a link", () => ["*** Update File: git/config", "-[core]", "+x"]],
    [".git itself", () => ["*** Add File: .codex", "+x"]],
    ["a protected name that is not there", () => ["*** Add File: .skein/config.toml", "+x"]],
    ["Skein's home", () => ["*** Update File: ../home/config.toml", "-mine", "+x"]],
    ["a new file in Skein's home", () => ["*** Add File: ../home/skills/x", "+x"]],
    ["the machine's own folders", () => ["*** Add File: /etc/skein-test", "+x"]],
  ])("in workspace-write, %s is outside", async (_name, lines) => {
    const place = escapes();
    const input = patch(...lines(place.top));
    const before = tree(place.top);
    const ran = await run("apply_patch", input, place);
    expect(ran).toMatchObject({ status: "failed", denied: { what: expect.any(String) as string } });
    expect(ran.text).toMatch(/^Nothing was changed\. /u);
    expect(await assess("apply_patch", input, place)).toMatchObject({ safe: false, rule: null, outside: `${ran.denied!.what}.` });
    expect(tree(place.top)).toEqual(before);
  });

  test("in read-only nothing may be written; with full access everything", async () => {
    const place = escapes();
    const before = tree(place.top);
    expect(await run("apply_patch", patch("*** Update File: in.txt", "-in", "+x"), place, { sandbox: "read-only" })).toMatchObject({
      status: "failed",
      output: "Nothing was changed. in.txt cannot be written: the sandbox is read-only.",
      denied: { what: "in.txt cannot be written: the sandbox is read-only", path: "in.txt" },
    });
    expect(tree(place.top)).toEqual(before);
    const free = { sandbox: "danger-full-access" } as const;
    expect((await run("apply_patch", patch("*** Update File: file", "-secret", "+x", "*** Add File: ../outside/new/er", "+1", "*** Update File: .git/config", "-[core]", "+x"), place, free)).text).toBe("M file\nA ../outside/new/er\nM .git/config");
    expect([read(place.outside, "secret.txt"), read(place.outside, "new/er"), read(place.cwd, ".git/config")]).toEqual(["x\n", "1\n", "x\n"]);
  });

  test("the repository that a .git file points to is protected", async () => {
    const place = world({ "real.git/config": "[core]\n", ".git": "gitdir: real.git\n" });
    expect(await run("apply_patch", patch("*** Update File: real.git/config", "-[core]", "+x"), place)).toMatchObject({ status: "failed", denied: { path: "real.git/config" } });
  });

  test.runIf(process.platform === "linux")("beside a workspace in /tmp lies the private /tmp, and that is said", async () => {
    const place = world({});
    const cwd = realpathSync(mkdtempSync("/tmp/skein-patch-test-"));
    const name = `${basename(cwd)}.txt`;
    const ran = await run("apply_patch", patch(`*** Add File: ../${name}`, "+x"), { ...place, cwd });
    rmSync(cwd, { recursive: true });
    expect(ran).toMatchObject({ status: "done", output: `A ../${name}\nNote: ../${name} is in the private /tmp of the sandbox, not in that of the machine.` });
    expect([existsSync(join("/tmp", name)), read(scratch().tmp, name)]).toEqual([false, "x\n"]);
  });
  test("configured roots and the private /tmp may be written", async () => {
    const place = escapes();
    const options = { sandbox: { writableRoots: [place.outside] } };
    const ran = await run("apply_patch", patch("*** Add File: out/x", "+x", "*** Add File: /tmp/skein-patch-test/y", "+y"), place, { options });
    expect(ran).toMatchObject({ status: "done", output: "A out/x\nA /tmp/skein-patch-test/y\nNote: /tmp/skein-patch-test/y is in the private /tmp of the sandbox, not in that of the machine." });
    expect([read(place.outside, "x"), read(scratch().tmp, "skein-patch-test/y")]).toEqual(["x\n", "y\n"]);
    expect(await run("apply_patch", patch("*** Add File: out/.git/x", "+x"), place, { options })).toMatchObject({ status: "failed", denied: { path: "out/.git/x" } });
  });

  test("a failure says nothing of files that the model may not see", async () => {
    const place = escapes();
    const ran = await run("apply_patch", patch("*** Update File: ../home/config.toml", "-something", "+x"), place);
    expect(ran.text).toBe("Nothing was changed. ../home/config.toml belongs to Skein itself.");
    expect(JSON.stringify(await assess("apply_patch", patch("*** Update File: ../home/config.toml", "-something", "+x"), place))).not.toContain("mine");
  });
});

describe("what the user is asked about", () => {
  test("a diff with paths, and a grant for the folders", async () => {
    const place = world({ "src/a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "old": "x\n" });
    const asked = await assess("apply_patch", patch("*** Update File: src/a.txt", "-5", "+five", "+V", "@@", "-9", "*** Add File: new", "+n", "*** Delete File: old"), place);
    expect(asked).toEqual({
      safe: false,
      rule: null,
      outside: null,
      shown: {
        kind: "patch",
        paths: ["src/a.txt", "new", "old"],
        diff: ["--- src/a.txt", "+++ src/a.txt", "@@ -2,7 +2,8 @@", " 2", " 3", " 4", "-5", "+five", "+V", " 6", " 7", " 8", "@@ -6,4 +7,3 @@", " 6", " 7", " 8", "-9", "--- /dev/null", "+++ new", "@@ -0,0 +1,1 @@", "+n", "--- old", "+++ /dev/null", "@@ -1,1 +0,0 @@", "-x"].join("\n"),
      },
      grant: { keys: [`write:${join(place.cwd, "src")}`, `write:${place.cwd}`], text: `changes to files in ${join(place.cwd, "src")}, ${place.cwd}` },
    });
    expect(tree(place.cwd)).toHaveProperty("old");
  });
  test("outside of the workspace, and for what is protected in it, a grant is for the very files", async () => {
    const place = world({ "a": "1\n", ".git/config": "x\n" });
    const outside = join(place.top, "beside.txt");
    const asked = await assess("apply_patch", patch("*** Update File: a", "-1", "+2", `*** Add File: ${outside}`, "+n", "*** Update File: .git/config", "-x", "+y"), place);
    const protectedFile = join(place.cwd, ".git/config");
    expect(asked.grant).toEqual({ keys: [`write:${place.cwd}`, `write-file:${outside}`, `write-file:${protectedFile}`], text: `changes to files in ${place.cwd} and to ${outside}, ${protectedFile}` });
  });
  test("what will fail needs no question", async () => {
    const place = world({ "a": "1\n" });
    for (const input of [patch("*** Update File: a", "-2", "+3"), { input: "nonsense" }, {}, null, 7]) expect(await assess("apply_patch", input, place)).toMatchObject({ safe: true, outside: null, grant: null });
  });
  test("what was agreed to is done where it was agreed, or not at all", async () => {
    const place = world({ "a/": "", "b/": "" });
    const link = join(place.cwd, "link");
    const input = patch("*** Add File: link/x", "+x");
    const free = { sandbox: "danger-full-access" } as const;
    symlinkSync("a", link);
    await assess("apply_patch", input, place);
    rmSync(link);
    symlinkSync(place.outside, link);
    const before = tree(place.top);
    expect(await run("apply_patch", input, place, free)).toMatchObject({ status: "failed", output: "Nothing was changed. The files are no longer where they were when the patch was looked at. Send it again." });
    expect(tree(place.top)).toEqual(before);
    await assess("apply_patch", input, place);
    expect(await run("apply_patch", input, place, free)).toMatchObject({ status: "done", output: "A link/x" });
  });
  test("what could not be applied when it was looked at is not applied without a question", async () => {
    const place = world({ "a": "1\n" });
    const input = patch("*** Update File: a", "-2", "+3");
    expect(await assess("apply_patch", input, place)).toMatchObject({ safe: true });
    put(join(place.cwd, "a"), "2\n");
    expect(await run("apply_patch", input, place)).toMatchObject({ status: "failed" });
  });
  test("a long diff is cut", async () => {
    const { shown } = await assess("apply_patch", patch("*** Add File: a", ...Array.from({ length: 20_000 }, (_, index) => `+line ${index}`)), world());
    expect(shown.kind === "patch" && shown.diff.length < 61_000 && /\[… \d+ more characters …\]$/u.test(shown.diff)).toBe(true);
  });
});

describe("all or nothing on disk", () => {
  test("a name that the file system does not take undoes what was done before it", async () => {
    const place = world({ "a": "1\n", "b": "2\n" });
    const before = tree(place.top);
    const ran = await run("apply_patch", patch("*** Update File: a", "-1", "+one", "*** Add File: new/folder/x", "+x", `*** Add File: ${"n".repeat(300)}`, "+x"), place);
    expect(ran).toMatchObject({ status: "failed" });
    expect(tree(place.top)).toEqual(before);
  });
  test("a file that changes while its bytes are kept is not overwritten", async () => {
    const place = world({ "a": "1\n", "b": "2\n" });
    const ran = await run("apply_patch", patch("*** Update File: a", "-1", "+one", "*** Update File: b", "-2", "+two"), place, {
      keepBytes(bytes) {
        writeFileSync(join(place.cwd, "b"), "other\n");
        return Promise.resolve({ sha256: sha256(bytes), bytes: bytes.length });
      },
    });
    expect(ran).toMatchObject({ status: "failed", output: "Nothing was changed. b was changed by somebody else meanwhile." });
    expect([read(place.cwd, "a"), read(place.cwd, "b"), Object.keys(tree(place.cwd))]).toEqual(["1\n", "other\n", ["a", "b"]]);
  });
  test("a folder that becomes a link meanwhile leads nowhere", async () => {
    const place = world({ "dir/a": "1\n" });
    put(join(place.outside, "a"), "1\n");
    const ran = await run("apply_patch", patch("*** Update File: dir/a", "-1", "+one"), place, {
      keepBytes(bytes) {
        execFileSync("sh", ["-c", "mv dir elsewhere && ln -s ../outside dir"], { cwd: place.cwd });
        return Promise.resolve({ sha256: sha256(bytes), bytes: bytes.length });
      },
    });
    expect(ran).toMatchObject({ status: "failed", output: "Nothing was changed. dir/a goes through a file as if it were a folder, or through a link." });
    expect([read(place.outside, "a"), read(place.cwd, "elsewhere/a")]).toEqual(["1\n", "1\n"]);
  });
  test("when bytes cannot be kept, or it is interrupted, nothing is done", async () => {
    const place = world({ "a": "1\n" });
    const input = patch("*** Update File: a", "-1", "+one");
    expect(await run("apply_patch", input, place, { keepBytes: () => Promise.reject(new Error("disk full")) })).toMatchObject({ status: "failed", output: "Nothing was changed. What the files hold could not be kept first: Error: disk full" });
    expect(await run("apply_patch", input, place, { signal: AbortSignal.abort() })).toMatchObject({ status: "failed", output: "Nothing was changed. It was interrupted." });
    expect(read(place.cwd, "a")).toBe("1\n");
  });
  test("no files are left beside the targets", async () => {
    const place = world({ "a": "1\n", "b": "2\n" });
    await run("apply_patch", patch("*** Update File: a", "-1", "+one", "*** Delete File: b", "*** Add File: c", "+3"), place);
    expect(Object.keys(tree(place.cwd))).toEqual(["a", "c"]);
  });
  test("a working folder that is gone is told", async () => {
    const place = world();
    expect(await run("apply_patch", patch("*** Add File: a", "+1"), { ...place, cwd: join(place.top, "gone") })).toMatchObject({ status: "failed" });
  });
});

describe("arguments in the shapes that models send", () => {
  const BARE = "*** Begin Patch\n*** Add File: a\n+1\n*** End Patch";
  test.each([["{ input }", { input: BARE }], ["{ patch }", { patch: BARE }], ["a bare text", BARE], ["with a heredoc", { input: `<<'EOF'\n${BARE}\nEOF\n` }]])("%s", async (_name, input) => {
    const place = world();
    expect(await run("apply_patch", input, place)).toMatchObject({ status: "done", output: "A a" });
    expect(read(place.cwd, "a")).toBe("1\n");
  });
  test.each([[null, "The arguments must be an object with input."], [{}, "`input` must be a text that is not empty."], [{ input: 7 }, "`input` must be a text that is not empty."]])("%j is refused", async (input, why) => {
    expect(await run("apply_patch", input, world())).toMatchObject({ status: "failed", output: `Nothing was changed. ${why}` });
  });
});
