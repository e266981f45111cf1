/**
 * One turn of Skein and of Codex CLI's native binary by turns, each in a world of its own, against a scripted server of its own. Skein runs as
 * it is installed; Codex is installed on demand into node_modules/.cache/bench-peers.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../test/model-server/server.ts";
import type { Reply } from "../../test/model-server/script.ts";

const ROOT = process.cwd();

export type Who = "skein" | "codex";

export interface Work {
  name: string;
  /** Files of the project, by name. */
  files: Readonly<Record<string, string>>;
  /** What the model does first; its second reply ends the turn once `rounds` are over. */
  reply(who: Who, round: number): Reply;
  rounds: number;
  sandbox: string;
  /** Whether the work was done: of the last request that the model got, and of the project. */
  done(given: { request: string; project: string }): boolean;
}

export interface Peers {
  /** The wall time; null when the turn ended and the work was not done. */
  run(work: Work, who: Who): Promise<number | null>;
  has(who: Who): boolean;
  close(): void;
}

export function createPeers({ withCodex }: { withCodex: boolean }): Peers {
  const installed = installSkein();
  const codex = withCodex ? codexBinary() : null;
  return {
    has: (who) => who === "skein" || codex !== null,
    close: () => rmSync(installed, { recursive: true, force: true }),
    async run(work, who) {
      let request = "";
      const server = await startModelServer({
        script(given, round) {
          request = JSON.stringify(given.body);
          return round < work.rounds ? work.reply(who, round) : { text: "done" };
        },
        validate: false,
      });
      const world = createWorld(work.files);
      try {
        const words = who === "skein" ? [join(installed, "bin/skein"), ...skeinWords(server.url, work.sandbox)] : codexWords(server.url, work.sandbox);
        const from = performance.now();
        await runToEnd(who === "skein" ? process.execPath : codex!, words, world);
        const ms = performance.now() - from;
        return work.done({ request, project: world.project }) ? ms : null;
      } finally {
        await server.close();
        world.remove();
      }
    },
  };
}

const skeinWords = (url: string, sandbox: string) => ["exec", "-c", `openai_base_url="${url}/v1"`, "-m", "test-model", "--json", "-s", sandbox, "hello"];
const codexWords = (url: string, sandbox: string) => ["exec", "--json", "--skip-git-repo-check", "-c", `model_providers.mock={name="mock",base_url="${url}/v1",wire_api="responses"}`, "-c", 'model_provider="mock"', "-m", "test-model", "-s", sandbox, "hello"];

/** Without sources, so that nothing is checked or built. */
function installSkein(): string {
  const installed = mkdtempSync(join(tmpdir(), "skein-installed-"));
  spawnSync(process.execPath, [join(ROOT, "bin/skein"), "--version"]);
  for (const part of ["bin", "dist", "package.json"]) cpSync(join(ROOT, part), join(installed, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(installed, "node_modules"));
  return installed;
}

function codexBinary(): string | null {
  const folder = join(ROOT, "node_modules/.cache/bench-peers/codex");
  if (!existsSync(join(folder, "node_modules/.bin/codex"))) {
    process.stderr.write("installing @openai/codex into node_modules/.cache/bench-peers …\n");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}');
    if (spawnSync("npm", ["install", "--no-save", "--ignore-scripts", "@openai/codex"], { cwd: folder, stdio: ["ignore", 2, 2] }).status !== 0) return null;
  }
  const native = execFileSync("find", [folder, "-path", "*vendor*", "-type", "f", "-name", "codex", "-perm", "-u+x"], { encoding: "utf8" }).trim().split("\n")[0];
  return native === undefined || native === "" ? null : native;
}

interface World {
  project: string;
  env: Record<string, string>;
  remove(): void;
}

/** Not in the folder for temporary files: there Codex does not install what its sandbox needs. */
function createWorld(files: Work["files"]): World {
  const worlds = join(ROOT, "node_modules/.cache/bench-worlds");
  mkdirSync(worlds, { recursive: true });
  const root = mkdtempSync(join(worlds, "world-"));
  const project = join(root, "project");
  for (const folder of [join(root, "codex"), project]) mkdirSync(folder);
  execFileSync("git", ["init", "-q", project]);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  const { PATH = "", LANG = "C.UTF-8" } = process.env;
  return { project, env: { PATH, LANG, HOME: root, SKEIN_HOME: join(root, "skein"), CODEX_HOME: join(root, "codex"), OPENAI_API_KEY: "x" }, remove: () => rmSync(root, { recursive: true, force: true }) };
}

async function runToEnd(command: string, words: readonly string[], { project, env }: World): Promise<void> {
  const child = spawn(command, words, { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  let stderr = "";
  child.stdout.resume();
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((settle) => child.on("close", settle));
  if (code !== 0) throw new Error(`${command} ${words.join(" ")} exited with ${code}: ${stderr.slice(-2000)}`);
}
