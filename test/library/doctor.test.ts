import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { afterAll, expect, test } from "vitest";
import { examine, type Check, type Patient } from "../../src/library/doctor.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-doctor-test-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

function healthy(more: Partial<Patient> = {}): Patient {
  const home = join(root, `home-${count++}`);
  mkdirSync(home, { mode: 0o700 });
  return {
    home,
    env: { PATH: process.env["PATH"], OPENAI_API_KEY: "sk-very-secret" },
    node: "22.1.0",
    ripgrep: rgPath,
    sandbox: { ok: true, kind: "bubblewrap", path: "/usr/bin/bwrap", notes: [] },
    config: { ok: true, warnings: [], servers: ["files", "tracker"], keys: ["OPENAI_API_KEY", "CODEX_API_KEY"] },
    trust: { projects: 2, problem: null },
    ...more,
  };
}

const check = async (name: string, patient: Patient): Promise<Check | undefined> => (await examine(patient)).find((each) => each.name === name);

test("a healthy machine, in order", async () => {
  const patient = healthy();
  const checks = await examine(patient);
  expect(checks.map(({ name }) => name)).toEqual(["node", "home", "space", "config", "sandbox", "git", "ripgrep", "keys", "mcp", "trust", "index"]);
  expect(checks.filter(({ state }) => state === "broken")).toEqual([]);
  const told = Object.fromEntries(checks.map(({ name, text }) => [name, text]));
  expect(told).toMatchObject({
    node: "22.1.0",
    home: `${patient.home}, 0700, writable`,
    config: "read without complaint",
    sandbox: "bubblewrap (/usr/bin/bwrap) holds what it promises",
    git: expect.stringMatching(/^git version \d/u) as string,
    keys: "OPENAI_API_KEY set",
    mcp: "files, tracker (`skein mcp test` starts them)",
    trust: "2 projects are trusted",
  });
  expect(readdirSync(patient.home)).toEqual([]);
});

test("the value of a key is never told", async () => {
  expect(JSON.stringify(await examine(healthy()))).not.toContain("very-secret");
});

test("an old Node is broken", async () => {
  expect(await check("node", healthy({ node: "20.18.9" }))).toEqual({ name: "node", state: "broken", text: "20.18.9 is too old", remedy: "Install Node 20.19 or later." });
  expect(await check("node", healthy({ node: "20.19.0" }))).toEqual({ name: "node", state: "ok", text: "20.19.0" });
});

test("a home that is not there yet is fine, one that is open to others is not", async () => {
  const missing = healthy({ home: join(root, "none") });
  expect(await check("home", missing)).toEqual({ name: "home", state: "ok", text: `${missing.home} does not exist yet; the first thread makes it` });
  const open = healthy();
  chmodSync(open.home, 0o755);
  expect(await check("home", open)).toEqual({ name: "home", state: "warning", text: `${open.home} is open to others (0755)`, remedy: `chmod 700 ${open.home}` });
});

test("a home that cannot be written is broken", async () => {
  const file = healthy({ home: join(root, "file") });
  writeFileSync(file.home, "");
  expect(await check("home", file)).toMatchObject({ state: "broken", text: expect.stringContaining("cannot be written") as string });
  const link = healthy({ home: join(root, "link") });
  symlinkSync(join(root, "nowhere"), link.home);
  expect(await check("home", link)).toMatchObject({ state: "broken", text: `${link.home} is a link to nowhere` });
});

test("without a sandbox the line that installs one is told", async () => {
  const sandbox = { ok: false as const, why: "bubblewrap (bwrap) is not installed.", remedy: "Install it." };
  expect(await check("sandbox", healthy({ sandbox }))).toEqual({ name: "sandbox", state: "broken", text: sandbox.why, remedy: sandbox.remedy });
});

test("programs that are missing are told with what goes without them", async () => {
  const without = healthy({ env: { PATH: "/nowhere" } });
  expect(await check("git", without)).toEqual({
    name: "git",
    state: "warning",
    text: "not installed. Diffs and what belongs to a repository are missing.",
    remedy: "Install it (Debian, Ubuntu: `sudo apt-get install git`).",
  });
  expect(await check("keys", without)).toMatchObject({ state: "warning", text: "none set of OPENAI_API_KEY, CODEX_API_KEY" });
});

test("ripgrep is the one that comes with Skein, whatever is installed; without that one, the system's", async () => {
  const env = { PATH: "/nowhere" };
  expect(await check("ripgrep", healthy({ env }))).toEqual({ name: "ripgrep", state: "ok", text: expect.stringMatching(/^ripgrep \d/u) as string });
  expect(await check("ripgrep", healthy({ env, ripgrep: null }))).toMatchObject({ state: "warning", text: "not installed. The tools grep and glob cannot search." });
});

test("a config that cannot be read is broken, and the rest is still looked at", async () => {
  const checks = await examine(healthy({ config: { ok: false, message: "config.toml:3: not TOML" } }));
  expect(checks.find(({ name }) => name === "config")).toMatchObject({ state: "broken", text: "config.toml:3: not TOML" });
  expect(checks.find(({ name }) => name === "mcp")).toEqual({ name: "mcp", state: "warning", text: "not known while the configuration cannot be read" });
  expect(checks.map(({ name }) => name)).toContain("index");
});

test("trust and index", async () => {
  expect(await check("trust", healthy({ trust: { projects: 0, problem: "trust.json: not JSON" } }))).toEqual({ name: "trust", state: "broken", text: "trust.json: not JSON" });
  const patient = healthy();
  writeFileSync(join(patient.home, "index.sqlite"), "nonsense that is long enough");
  expect(await check("index", patient)).toMatchObject({ state: "warning", remedy: "Delete it: it is made again from the logs." });
  writeFileSync(join(patient.home, "index.sqlite"), "SQLite format 3\0…");
  expect(await check("index", patient)).toMatchObject({ state: "ok" });
});
