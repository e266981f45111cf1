// A checkout makes itself ready, once, and says so; an installed package just runs.

import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { node, plant, scratchFolder, write } from "./planted.ts";

const PARTS = ["scripts", "bin", "package.json", "package-lock.json"];
const BUILDING = "skein: building dist/, because the sources changed\n";
const INSTALLING = "skein: installing dependencies (npm ci), because node_modules does not match package-lock.json\n";

const MAIN = (greeting: string): string => `
  declare const __SKEIN_VERSION__: string;
  export async function main(argv: string[]): Promise<number> {
    const { greet } = await import("./cli/greet.ts");
    process.stdout.write(greet([__SKEIN_VERSION__, "${greeting}", ...argv]) + "\\n");
    return argv.length;
  }
`;

function checkout(): string {
  const greet = 'export const greet = (words: string[]): string => words.join(" ");\n';
  return plant({ parts: PARTS, files: { "src/main.ts": MAIN("hello"), "src/cli/greet.ts": greet } });
}

function skein(root: string, ...args: string[]) {
  return node([join(root, "bin", "skein"), ...args]);
}

const version: string = JSON.parse(readFileSync("package.json", "utf8")).version;

describe("a checkout", { timeout: 120_000 }, () => {
  it("builds once, and does nothing the second time", async () => {
    const root = checkout();
    expect(await skein(root, "a", "b")).toEqual({ code: 2, stdout: `${version} hello a b\n`, stderr: BUILDING });
    const built = statSync(join(root, "dist", "main.js")).mtimeMs;
    expect(await skein(root)).toEqual({ code: 0, stdout: `${version} hello\n`, stderr: "" });
    expect(statSync(join(root, "dist", "main.js")).mtimeMs).toBe(built);
  });

  it("builds again when a source changed, came or went, and keeps the chunks that a running process may still load", async () => {
    const root = checkout();
    await skein(root);
    const chunks = readdirSync(join(root, "dist")).filter((name) => name.startsWith("greet-"));

    write(root, { "src/cli/greet.ts": 'export const greet = (words: string[]): string => words.join("-");\n' });
    expect(await skein(root)).toEqual({ code: 0, stdout: `${version}-hello\n`, stderr: BUILDING });
    expect(readdirSync(join(root, "dist"))).toEqual(expect.arrayContaining(chunks));

    write(root, { "src/stores/file/tail.worker.ts": "export {};\n", "src/client/entry.ts": "export const client = 1;\n" });
    expect((await skein(root)).stderr).toBe(BUILDING);
    expect(readdirSync(join(root, "dist"))).toEqual(expect.arrayContaining(["tail.worker.js", "client.js"]));

    rmSync(join(root, "src", "stores"), { recursive: true });
    expect((await skein(root)).stderr).toBe(BUILDING);
    expect((await skein(root)).stderr).toBe("");
  });

  it("is built by one of several processes that start at once, and all of them run", async () => {
    const root = checkout();
    const ended = await Promise.all([1, 2, 3, 4].map(() => skein(root)));
    expect(ended.map(({ code, stdout }) => ({ code, stdout }))).toEqual(Array.from({ length: 4 }, () => ({ code: 0, stdout: `${version} hello\n` })));
    expect(ended.filter(({ stderr }) => stderr.includes(BUILDING))).toHaveLength(1);
    expect(readdirSync(root).filter((name) => name.startsWith(".bootstrap-lock"))).toEqual([]);
  });

  it("takes over the lock of a process that died", async () => {
    const root = checkout();
    write(root, { ".bootstrap-lock/4194304-1": "" });
    expect(await skein(root)).toEqual({ code: 0, stdout: `${version} hello\n`, stderr: BUILDING });
  });

  it("does not run when the build fails, says why, and keeps the older build", async () => {
    const root = checkout();
    await skein(root);
    const older = readFileSync(join(root, "dist", "main.js"), "utf8");
    write(root, { "src/main.ts": "export const main = (;\n" });
    const { code, stdout, stderr } = await skein(root);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("src/main.ts:1:21");
    expect(stderr).toContain("skein: The build failed, as said above; an older build in dist/ is untouched.");
    expect(readFileSync(join(root, "dist", "main.js"), "utf8")).toBe(older);
  });

  it("lists and runs its benches, workers included", async () => {
    const root = checkout();
    write(root, {
      "src/stores/echo.worker.ts": 'import { parentPort } from "node:worker_threads";\nparentPort?.postMessage("from the worker");\n',
      "bench/store.ts": `
        import { Worker } from "node:worker_threads";
        new Worker(new URL("./echo.worker.js", import.meta.url)).on("message", (message) => {
          process.stdout.write(JSON.stringify({ message, gc: typeof gc, args: process.argv.slice(2) }));
        });
      `,
    });
    expect((await node([join(root, "scripts", "bench.mjs")])).stdout).toBe("store\n");
    const { stdout } = await node([join(root, "scripts", "bench.mjs"), "store", "--fast"]);
    expect(JSON.parse(stdout)).toEqual({ message: "from the worker", gc: "function", args: ["--fast"] });
  });
});

describe("an installed package", () => {
  it("has no sources and runs what it came with", async () => {
    const built = checkout();
    await skein(built);
    const root = scratchFolder();
    for (const part of ["bin", "dist", "package.json"]) cpSync(join(built, part), join(root, part), { recursive: true });
    expect(await skein(root, "x")).toEqual({ code: 1, stdout: `${version} hello x\n`, stderr: "" });
  });
});

describe("dependencies", () => {
  const LOCK = (...packages: string[]): string => JSON.stringify({ packages: Object.fromEntries(packages.map((name) => [`node_modules/${name}`, { version: "1.0.0" }])) });

  /** A checkout with an npm of its own, which installs by copying the lock file and notes that it was called. */
  function checkoutWithNpm(npm: string) {
    const root = scratchFolder();
    cpSync("scripts", join(root, "scripts"), { recursive: true });
    write(root, { "package-lock.json": LOCK("a"), "tools/npm": `#!/bin/sh\necho "$@" >> npm-calls\n${npm}\n` });
    chmodSync(join(root, "tools", "npm"), 0o755);
    const script = `import { ensureInstalled } from ${JSON.stringify(join(root, "scripts", "bootstrap.mjs"))}; console.log(JSON.stringify(await ensureInstalled(${JSON.stringify(root)})));`;
    return {
      root,
      ensureInstalled: () => node(["--input-type=module", "--eval", script], { PATH: `${join(root, "tools")}${delimiter}${process.env.PATH}` }),
      calls: () => (existsSync(join(root, "npm-calls")) ? readFileSync(join(root, "npm-calls"), "utf8").trimEnd().split("\n") : []),
    };
  }

  const COPY_LOCK = "sleep 0.2; rm -rf node_modules; mkdir node_modules; cp package-lock.json node_modules/.package-lock.json";
  const DONE = { code: 0, stdout: '{"ok":true}\n', stderr: "" };

  it("are installed when they do not match the lock file, once, whoever asks", async () => {
    const { root, ensureInstalled, calls } = checkoutWithNpm(COPY_LOCK);
    const ended = await Promise.all([ensureInstalled(), ensureInstalled(), ensureInstalled()]);
    expect(ended.map(({ stdout }) => stdout)).toEqual(ended.map(() => DONE.stdout));
    expect(calls()).toHaveLength(1);
    expect(calls()[0]).toMatch(/^ci /u);

    expect(await ensureInstalled()).toEqual(DONE);
    expect(calls()).toHaveLength(1);

    write(root, { "package-lock.json": LOCK("a", "b") });
    expect(await ensureInstalled()).toEqual({ ...DONE, stderr: INSTALLING });
    expect(calls()).toHaveLength(2);
  });

  it("that someone installed by hand are left alone, and packages for other platforms are not missed", async () => {
    const { root, ensureInstalled, calls } = checkoutWithNpm("exit 1");
    mkdirSync(join(root, "node_modules"));
    const locked = { packages: { "node_modules/a": { version: "1.0.0" }, "node_modules/for-others": { version: "1.0.0", optional: true } } };
    write(root, { "package-lock.json": JSON.stringify(locked), "node_modules/.package-lock.json": LOCK("a") });
    expect(await ensureInstalled()).toEqual(DONE);
    expect(calls()).toEqual([]);
  });

  it("that cannot be installed end with what to do", async () => {
    const { root, ensureInstalled } = checkoutWithNpm("echo registry unreachable >&2; exit 7");
    expect(await ensureInstalled()).toEqual({
      code: 0,
      stdout: `${JSON.stringify({
        ok: false,
        message: `npm ci ended with code 7, so the dependencies are not installed. Look at npm's message above, check the network and the registry, then run: cd ${root} && npm ci`,
      })}\n`,
      stderr: `${INSTALLING}registry unreachable\n`,
    });
  });
});

describe("a machine that Skein does not run on", () => {
  const pretending = (property: string, value: unknown): string =>
    `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process, ${JSON.stringify(property)}, { value: ${JSON.stringify(value)} });`)}`;

  it("is refused when it is Windows, with the way out", async () => {
    const { code, stdout, stderr } = await node(["--import", pretending("platform", "win32"), "bin/skein", "--version"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^skein: Windows is not supported: .* Run it inside WSL2 \(https:\S+\)\.\n$/u);
  });

  it.each(["18.20.8", "20.18.3"])("is refused when its Node is %s", async (old) => {
    const { code, stdout, stderr } = await node(["--import", pretending("versions", { ...process.versions, node: old }), "bin/skein", "--version"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^skein: Node ${old} is too old: Skein needs 20\\.19 or later\\.`, "u"));
  });
});
