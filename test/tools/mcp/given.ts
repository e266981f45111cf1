/** MCP servers for tests, on either transport, and a host that remembers. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { afterAll, expect, onTestFinished } from "vitest";
import type { Json } from "../../../src/protocol/json.ts";
import type { Tool, ToolHost } from "../../../src/core/tool.ts";
import type { ServerConfig } from "../../../src/tools/mcp/config.ts";
import { createMcp, type McpOptions, type McpSource } from "../../../src/tools/mcp/source.ts";

export const TRANSPORTS = ["stdio", "http"] as const;
export type Kind = (typeof TRANSPORTS)[number];

const folder = mkdtempSync(join(tmpdir(), "skein-mcp-test-"));
const leftovers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of leftovers) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** When the test ends, or with the file for what a hook started. */
function atTheEnd(close: () => unknown): void {
  try {
    onTestFinished(async () => void (await close()));
  } catch {
    leftovers.push(close);
  }
}

export function newFolder(): string {
  return mkdtempSync(join(folder, "case-"));
}

/** A program of this folder (or a text that imports from here), as Node runs it. */
export async function program(given: { file: string } | { text: string }): Promise<string> {
  const outfile = join(newFolder(), "program.mjs");
  const entry = "file" in given ? { entryPoints: [join(import.meta.dirname, "programs", given.file)] } : { stdin: { contents: given.text, resolveDir: import.meta.dirname, loader: "ts" as const } };
  const banner = { js: 'import { createRequire as makeRequireHere } from "node:module"; const require = makeRequireHere(import.meta.url);' };
  await build({ ...entry, outfile, banner, bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "warning" });
  return outfile;
}

let hostile: Promise<string> | null = null;

export const BASE: ServerConfig = { args: [], env: {}, http_headers: {}, startup_timeout_sec: 10, tool_timeout_sec: 10, enabled: true, disabled_tools: [] };

/** The hostile server, as configured; over HTTP it is started here and ends with the test. */
export async function hostileServer(kind: Kind, start: string, { heard, ...more }: Partial<ServerConfig> & { heard?: string } = {}): Promise<ServerConfig> {
  const file = await (hostile ??= program({ file: "hostile.ts" }));
  const env: Record<string, string> = heard === undefined ? {} : { HEARD: heard };
  if (kind === "stdio") return { ...BASE, command: process.execPath, args: [file, "stdio", start], env, ...more };
  const url = await startHttp([file, "http", start], { env, ready: /^(\d+)\n/u });
  return { ...BASE, url, ...more };
}

/** A server that says on one of its outputs when it listens, with its port in the first group. */
export async function startHttp(args: readonly string[], { env, ready }: { env: Record<string, string>; ready: RegExp }): Promise<string> {
  const child = spawn(process.execPath, args, { env: { PATH: process.env["PATH"], ...env }, stdio: ["ignore", "pipe", "pipe"] });
  atTheEnd(() => child.kill("SIGKILL"));
  let said = "";
  const port = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        const found = ready.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
    }
    child.once("exit", () => reject(new Error(`It ended before it listened: ${said}`)));
  });
  return `http://127.0.0.1:${port}/mcp`;
}

const require = createRequire(import.meta.url);

/** The files that servers from npm are started with. */
export const EVERYTHING = join(dirname(require.resolve("@modelcontextprotocol/server-everything/package.json")), "dist", "index.js");
export const FILESYSTEM = join(dirname(require.resolve("@modelcontextprotocol/server-filesystem/package.json")), "dist", "index.js");

export interface Rig extends McpSource {
  tool(name: string): Promise<Tool>;
}

export function source(servers: Record<string, ServerConfig>, more: Partial<McpOptions> = {}): Rig {
  const made = createMcp({ servers, env: process.env, cwd: folder, ...more });
  atTheEnd(() => made.close());
  return {
    ...made,
    async tool(name) {
      const tools = await made.tools();
      const found = tools.find((tool) => tool.name === name);
      expect(found, `${name} of ${tools.map((tool) => tool.name).join(", ")}; ${JSON.stringify(made.status())}`).toBeDefined();
      return found!;
    },
  };
}

export interface Remembering extends ToolHost {
  shown: string[];
  kept: string[];
  bytes: Buffer[];
  asked: Json[];
}

export function host(more: { signal?: AbortSignal; answer?: Json | (() => Promise<Json>); thread?: string; cwd?: string } = {}): Remembering {
  const memory = { shown: [] as string[], kept: [] as string[], bytes: [] as Buffer[], asked: [] as Json[] };
  const ref = (bytes: Buffer) => ({ sha256: createHash("sha256").update(bytes).digest("hex"), bytes: bytes.length });
  return {
    ...memory,
    thread: more.thread ?? "thread",
    call: "call",
    cwd: more.cwd ?? folder,
    sandbox: "danger-full-access",
    signal: more.signal ?? new AbortController().signal,
    emit: ({ text }) => void memory.shown.push(text),
    keep(text) {
      memory.kept.push(text);
      return Promise.resolve(ref(Buffer.from(text)));
    },
    keepBytes(bytes) {
      memory.bytes.push(Buffer.from(bytes));
      return Promise.resolve(ref(Buffer.from(bytes)));
    },
    readKept: (sha256) => Promise.resolve([...memory.bytes, ...memory.kept.map((text) => Buffer.from(text))].find((bytes) => ref(bytes).sha256 === sha256) ?? null),
    ask(body) {
      memory.asked.push(body);
      return typeof more.answer === "function" ? more.answer() : Promise.resolve(more.answer ?? null);
    },
  };
}

export function lines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}
