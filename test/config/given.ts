/** Folders and files for a test, and loading from them. Real paths, so that they can be compared. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";
import { loadConfig, type Given, type Loaded } from "../../src/config/load.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function temporary(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "skein-config-")));
  made.push(folder);
  return folder;
}

export function write(file: string, content: string | Uint8Array): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

export interface World {
  /** The home's config.toml; `{repo}` stands for the repository's path. */
  home?: string | Uint8Array;
  /** The repository's .skein/config.toml. */
  repo?: string | Uint8Array;
  /** [projects] of the home lists the repository as trusted. */
  trust?: boolean;
}
export type Ask = World & Partial<Omit<Given, "home">>;

export interface Place {
  root: string;
  home: string;
  homeFile: string;
  repo: string;
  repoFile: string;
}

export function place({ home, repo, trust }: World): Place {
  const root = temporary();
  const at: Place = { root, home: join(root, "home"), homeFile: join(root, "home/config.toml"), repo: join(root, "repo"), repoFile: join(root, "repo/.skein/config.toml") };
  mkdirSync(join(at.repo, ".git"), { recursive: true });
  const listed = trust ? `\n[projects.${JSON.stringify(at.repo)}]\ntrust_level = "trusted"\n` : "";
  if (typeof home === "string" || listed !== "") write(at.homeFile, `${typeof home === "string" ? home.replaceAll("{repo}", at.repo) : ""}${listed}`);
  else if (home !== undefined) write(at.homeFile, home);
  if (repo !== undefined) write(at.repoFile, repo);
  return at;
}

export async function load(ask: Ask = {}): Promise<{ loaded: Loaded; at: Place }> {
  const { home, repo, trust, ...rest } = ask;
  const at = place({ ...(home === undefined ? {} : { home }), ...(repo === undefined ? {} : { repo }), ...(trust === undefined ? {} : { trust }) });
  const loaded = await loadConfig({ cwd: at.repo, env: { HOME: join(at.root, "user") }, mode: "interactive", flags: {}, overrides: [], ...rest, home: at.home });
  return { loaded, at };
}

type Good = Extract<Loaded, { ok: true }>;

export async function good(ask: Ask = {}): Promise<Good & { at: Place }> {
  const { loaded, at } = await load(ask);
  if (!loaded.ok) throw new Error(loaded.message);
  return { ...loaded, at };
}

/** The problems of a refusal, with the folders of the test cut off: `config.toml:3: …`. */
export async function mistakes(ask: Ask): Promise<string[]> {
  const { loaded, at } = await load(ask);
  if (loaded.ok) throw new Error("it was accepted");
  const lines = loaded.message.split("\n");
  return lines.slice(1, -1).map((line) => short(line.trim(), at));
}

export async function warnings(ask: Ask): Promise<string[]> {
  const { warnings: all, at } = await good(ask);
  return all.map((line) => short(line, at));
}

export function short(text: string, at: Place): string {
  return text.replaceAll(`${at.home}/`, "").replaceAll(`${at.repo}/`, "repo/").replaceAll(at.root, "ROOT");
}

/** How many cases a property tries; RUNS multiplies it. */
export function runs(count: number): { numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env["RUNS"] ?? 1)) };
}
