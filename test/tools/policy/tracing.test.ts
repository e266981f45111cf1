/**
 * What the policy says a script consists of, held against what bash really runs. Scripts are made of words in every quoting style and then
 * damaged at random; whichever of them are understood are run by bash, with every program replaced by one that reports its words.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseCommand } from "../../../src/tools/policy/parse.ts";
import { asCommand, scratchFolder } from "./given.ts";

const RUNS = Number(process.env["RUNS"] ?? 1);
const BUILTINS = new Set(execFileSync("bash", ["-c", "compgen -bk"], { encoding: "utf8" }).split("\n"));
const PROGRAMS = ["cat", "ls", "git", "rg", "wc", "head", "sort"];

let folder: ReturnType<typeof scratchFolder>;
beforeAll(() => {
  folder = scratchFolder();
});
afterAll(() => folder.remove());

const text = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[A-Za-z0-9_./,:@%+=-]{1,6}$/u) },
  { weight: 2, arbitrary: fc.string({ unit: fc.constantFrom(..." abc'\"\\$`!*?[]{}()<>;&|~#^=\n\té"), maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom("-la", "HEAD~1", "HEAD^", "a~b", "--x=y", "2", "src/*.ts", "") },
);

const single = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
const double = (word: string) => `"${word.replaceAll(/["\\$`]/gu, "\\$&")}"`;
const escaped = (word: string) => (/[\n\té]/u.test(word) || word === "" ? single(word) : word.replaceAll(/[^A-Za-z0-9_./,:@%+=-]/gu, "\\$&"));
const quoted = fc.tuple(text, fc.constantFrom(single, double, escaped, (word: string) => word)).map(([word, style]) => style(word));
const spliced = fc.array(quoted, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(""));

const blank = fc.constantFrom(" ", "  ", "\t", " \t ");
const redirection = fc.constantFrom("", "", "", " 2>&1", " >/dev/null", " 2> /dev/null", " >>/dev/null 2>&1", " </dev/null", " >&2");
const command = fc.tuple(fc.constantFrom(...PROGRAMS), fc.constantFrom(single, double, escaped, (word: string) => `${word[0]}""${word.slice(1)}`, (word: string) => `\\${word}`), fc.array(fc.tuple(blank, spliced), { maxLength: 4 }), redirection).map(
  ([program, style, words, end]) => `${style(program)}${words.map(([gap, word]) => gap + word).join("")}${end}`,
);
const chain = fc
  .tuple(command, fc.array(fc.tuple(fc.constantFrom(" && ", " || ", "; ", "\n", " | ", "&&", "||", ";", "|", " &&\n", " |\n\n"), command), { maxLength: 3 }), fc.constantFrom("", ";", "\n", " "))
  .map(([first, rest, end]) => first + rest.map(([operator, next]) => operator + next).join("") + end);

const NASTY = ["'", '"', "\\", " ", "\n", "\t", ";", "&", "|", "<", ">", "(", ")", "$", "`", "*", "?", "[", "]", "{", "}", "~", "!", "#", "^", "=", "%", "@", ":", ",", "-", "+", "0", "1", "2", "a", "é", "\u00a0", "\r", "&&", "||", "\\\n", "2>&1", ">/dev/null", "$(", "<<E\n", "if ", "time ", "A=b "];
const damaged = fc.tuple(chain, fc.array(fc.tuple(fc.nat(200), fc.constantFrom(...NASTY), fc.nat(2)), { minLength: 1, maxLength: 3 })).map(([script, cuts]) =>
  cuts.reduce((now, [at, what, removed]) => now.slice(0, at % (now.length + 1)) + what + now.slice((at % (now.length + 1)) + removed), script),
);

/**
 * Every program is one that is not found; the handler says with what words it was looked for. Once all succeed, once all fail. bash
 * writes line by line, so newlines go as another character: each report is one write and those of a pipeline do not mix.
 */
const DRIVER = `
command_not_found_handle() { printf '%s\\0' "$#" "\${@//$'\\n'/$'\\1'}" >&9; return $STATUS; }
while IFS= read -r -d '' script; do
  for STATUS in 0 1; do ( eval -- "$script" ) </dev/null >/dev/null 2>/dev/null; done
  printf '%s\\0' end >&9
done
exit 0
`;

/** For each script the commands that bash ran, each once, sorted. */
function trace(scripts: readonly string[], locale: string): string[][] {
  const [given, file] = [join(folder.path, "scripts"), join(folder.path, "traced")];
  writeFileSync(given, scripts.map((script) => `${script}\0`).join(""));
  const [input, output] = [openSync(given, "r"), openSync(file, "w")];
  const { status, signal } = spawnSync("/bin/bash", ["--norc", "-c", DRIVER], { env: { PATH: "/nonexistent", LC_ALL: locale }, stdio: [input, "ignore", "inherit", ...Array<"ignore">(6).fill("ignore"), output] });
  closeSync(input);
  closeSync(output);
  expect({ status, signal }).toEqual({ status: 0, signal: null });
  const fields = readFileSync(file, "utf8").replaceAll("\u0001", "\n").split("\0");
  const traced: string[][] = [];
  let commands = new Set<string>();
  for (let at = 0; at < fields.length - 1; ) {
    const count = fields[at]!;
    if (count === "end") {
      traced.push([...commands].toSorted());
      commands = new Set();
      at += 1;
    } else {
      commands.add(JSON.stringify(fields.slice(at + 1, at + 1 + Number(count))));
      at += 1 + Number(count);
    }
  }
  return traced;
}

/** The scripts that are understood and whose programs are not part of bash itself, with the commands that they are said to consist of. */
async function understood(scripts: readonly string[]): Promise<{ script: string; commands: string[] }[]> {
  const parsed = await Promise.all(scripts.map(async (script) => ({ script, found: await parseCommand(asCommand(script)) })));
  return parsed
    .filter(({ found }) => found.unclear === null && found.shells.length === 0 && found.commands.every(({ argv }) => !argv[0]!.includes("/") && !BUILTINS.has(argv[0]!)))
    .map(({ script, found }) => ({ script, commands: [...new Set(found.commands.map(({ argv }) => JSON.stringify(argv)))].toSorted() }));
}

/** Those of which bash runs something else. Asked twice: a machine that is out of processes runs nothing, once. */
function differing<T extends { script: string; commands: string[] }>(cases: readonly T[], locale: string): (T & { traced?: string[] })[] {
  if (cases.length === 0) return [];
  const traced = trace(cases.map(({ script }) => script), locale);
  return cases.map((each, index) => ({ ...each, ...(traced[index] ? { traced: traced[index] } : {}) })).filter(({ commands, traced: real }) => JSON.stringify(commands) !== JSON.stringify(real));
}

describe("a script that is understood", () => {
  it.each([
    ["as written", chain, 8, "C.UTF-8"],
    ["damaged", damaged, 24, "C.UTF-8"],
    ["damaged, in a locale of bytes", damaged, 6, "C"],
  ])("runs exactly the words that it is said to consist of: %s", async (_kind, script, numRuns, locale) => {
    let tried = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(script, { minLength: 200, maxLength: 200 }), async (scripts) => {
        const cases = await understood(scripts);
        tried += cases.length;
        const wrong = differing(differing(cases, locale), locale);
        expect(wrong).toEqual([]);
      }),
      { numRuns: Math.ceil(numRuns * RUNS), endOnFailure: true },
    );
    expect(tried).toBeGreaterThan(numRuns * RUNS * 20);
  });
});

describe("with programs that are really started", () => {
  beforeAll(() => {
    const bin = join(folder.path, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "tracer"), `#!/bin/bash\nprintf '%s\\0' "$(($# + 1))" "\${0##*/}" "$@" >> "$TRACE"\n`);
    chmodSync(join(bin, "tracer"), 0o755);
    for (const program of PROGRAMS) symlinkSync("tracer", join(bin, program));
    symlinkSync("/bin/bash", join(bin, "bash"));
  });

  it.each(["cat 'a b' \"c\\\"d\" e\\ f", "ls | wc -l && git show HEAD~1^", "bash -c 'cat \"a b\"; ls'", "bash -c 'rg \"a|b\" src' | head -n 5", "bash -c \"bash -c 'cat a; ls b'\"", "c''at -- -x '' ';' '&&' '*'", "cat a 2>&1 >/dev/null; ls 2> /dev/null", "git log --format='%h %s' -n 3\nsort -u x"])("%j is what it is said to be", async (script) => {
    const file = join(folder.path, "trace");
    writeFileSync(file, "");
    spawnSync("/bin/bash", ["-c", script], { env: { PATH: join(folder.path, "bin"), TRACE: file, HOME: folder.path }, stdio: "ignore" });
    const fields = readFileSync(file, "utf8").split("\0").slice(0, -1);
    const traced: string[][] = [];
    for (let at = 0; at < fields.length; at += 1 + Number(fields[at])) traced.push(fields.slice(at + 1, at + 1 + Number(fields[at])));
    const parsed = await parseCommand(asCommand(script));
    expect(parsed.unclear).toBe(null);
    const sorted = (commands: readonly (readonly string[])[]) => commands.map((argv) => JSON.stringify(argv)).toSorted();
    expect(sorted(traced)).toEqual(sorted(parsed.commands.map(({ argv }) => argv)));
  });
});
