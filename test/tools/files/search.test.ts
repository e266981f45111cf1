import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { run, world } from "./given.ts";

function repository() {
  const place = world({
    "src/a.ts": "export const one = 1;\n// TODO first\n",
    "src/deep/b.ts": "// todo second\n",
    "README.md": "TODO: everything\n",
    ".github/ci.yml": "TODO: hidden files count\n",
    "dist/out.js": "TODO ignored\n",
    ".gitignore": "dist\n",
  });
  execFileSync("git", ["init", "-q"], { cwd: place.cwd });
  return place;
}

describe.each(["read-only", "workspace-write", "danger-full-access"] as const)("in %s", (sandbox) => {
  const place = repository();
  const told = async (tool: string, input: unknown): Promise<string> => (await run(tool, input, place, { sandbox })).text;

  test("grep gives path, line and text, sorted, without what is ignored", async () => {
    expect(await told("grep", { pattern: "TODO" })).toBe(".github/ci.yml:1:TODO: hidden files count\nREADME.md:1:TODO: everything\nsrc/a.ts:2:// TODO first");
    expect(await told("grep", { pattern: "todo", path: "src", ignore_case: true })).toBe("src/a.ts:2:// TODO first\nsrc/deep/b.ts:1:// todo second");
    expect(await told("grep", { pattern: "TODO", path: "src/a.ts", context: 1 })).toBe("src/a.ts-1-export const one = 1;\nsrc/a.ts:2:// TODO first");
    expect(await told("grep", { pattern: "TODO", include: "*.md" })).toBe("README.md:1:TODO: everything");
    expect(await told("grep", { pattern: "TODO", glob: "!*.md", files_only: true })).toBe(".github/ci.yml\nsrc/a.ts");
    expect(await told("grep", { pattern: "ignored", include_ignored: true })).toBe("dist/out.js:1:TODO ignored");
    expect(await told("grep", { pattern: "nowhere to be found" })).toBe("No line matches.");
    expect(await told("grep", { pattern: "-1|--help", path: "." })).toBe("No line matches.");
  });
  test("glob gives files, sorted, without what is ignored", async () => {
    expect(await told("glob", { pattern: "*.ts" })).toBe("src/a.ts\nsrc/deep/b.ts");
    expect(await told("glob", { pattern: "src/*.ts" })).toBe("src/a.ts");
    expect(await told("glob", { pattern: "*.ts", path: "src/deep" })).toBe("src/deep/b.ts");
    expect(await told("glob", { pattern: "**/out.js" })).toBe("No file matches.");
    expect(await told("glob", { pattern: "**/out.js", include_ignored: true })).toBe("dist/out.js");
    expect(await told("glob", { pattern: "config" })).toBe("No file matches.");
  });
});

test("a pattern that is wrong is explained, and options are no way in", async () => {
  const place = repository();
  const bad = await run("grep", { pattern: "(" }, place);
  expect(bad.status).toBe("failed");
  expect(bad.text).toMatch(/^Not searched: regex parse error:[^]*unclosed group/u);
  expect((await run("glob", { pattern: "a[" }, place)).text).toMatch(/^Not searched: [^]*unclosed character class/u);
  expect((await run("grep", { pattern: "--pre=touch x" }, place)).text).toBe("No line matches.");
  expect((await run("grep", { pattern: "TODO", path: "--files" }, place)).text).toBe("--files does not exist.");
  expect((await run("grep", { pattern: "TODO", path: "nope" }, place)).text).toBe("nope does not exist.");
});

test("the limit and the size of the output are kept, and the full text is in a blob", async () => {
  const place = world({ "a": Array.from({ length: 1000 }, (_, index) => `match ${index}\n`).join("") });
  const few = await run("grep", { pattern: "match", limit: 2 }, place);
  expect(few.text).toBe("a:1:match 0\na:2:match 1\n[… 998 more lines: the limit was 2 …]");
  expect(few.full).toMatchObject({ bytes: few.kept[0]!.length });
  expect(few.kept[0]!.toString().split("\n")).toHaveLength(1000);
  const short = await run("grep", { pattern: "match", limit: 1000 }, place, { options: { outputTokens: 50 } });
  expect(short.text).toMatch(/^a:1:match 0\n[^]*\[… \d+ lines \(\d+ bytes\) left out; read_file "blob:[0-9a-f]{64}" has it all …\]\n[^]*a:1000:match 999$/u);
});

test("a long line is cut", async () => {
  const { text } = await run("grep", { pattern: "needle" }, world({ "a": `needle${"x".repeat(100_000)}\n` }));
  expect(text.length).toBeLessThan(700);
  expect(text).toMatch(/^a:1:needlexxx/u);
});

test("a flood is stopped", async () => {
  const place = world({ "a": "x\n".repeat(3_000_000) });
  const ran = await run("grep", { pattern: "x" }, place);
  expect(ran.status).toBe("done");
  expect(ran.text).toMatch(/\[… stopped: there is too much; search for something rarer …\]$/u);
});

test("an interrupt ends a search", async () => {
  expect(await run("grep", { pattern: "x" }, world({ "a": "x\n" }), { signal: AbortSignal.abort() })).toMatchObject({ status: "failed", output: "Interrupted." });
});
