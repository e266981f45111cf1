/** A workspace on disk, the file tools, and a host that remembers what it was given to keep. */
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import type { SandboxMode } from "../../../src/protocol/record.ts";
import type { Assessment, Tool, ToolHost, ToolOutcome } from "../../../src/core/tool.ts";
import { fileTools } from "../../../src/tools/files/file-tools.ts";
import type { FileToolOptions } from "../../../src/tools/files/options.ts";

const made: string[] = [];
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true, maxRetries: 3 });
});

export interface World {
  /** Everything lies in it: `workspace`, `outside`, `home`. */
  readonly top: string;
  readonly cwd: string;
  readonly outside: string;
  readonly home: string;
}

/** Not in /tmp, which sandboxed tools have for themselves. Files of the workspace by path; a name that ends with a slash is a folder. */
export function world(files: Readonly<Record<string, string | Buffer>> = {}): World {
  const top = realpathSync(mkdtempSync(join(homedir(), ".skein-files-test-")));
  made.push(top);
  const [cwd, outside, home] = ["workspace", "outside", "home"].map((name) => join(top, name)) as [string, string, string];
  for (const folder of [cwd, outside, home, join(home, "skills")]) mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) put(join(cwd, name), content);
  return { top, cwd, outside, home };
}

export function put(path: string, content: string | Buffer, mode?: number): void {
  mkdirSync(path.endsWith("/") ? path : dirname(path), { recursive: true });
  if (path.endsWith("/")) return;
  writeFileSync(path, content);
  if (mode !== undefined) chmodSync(path, mode);
}

export interface Given {
  sandbox?: SandboxMode;
  signal?: AbortSignal;
  options?: Partial<FileToolOptions>;
  keepBytes?: ToolHost["keepBytes"];
  /** What was kept for the thread before. */
  earlier?: readonly Uint8Array[];
}

export interface Ran extends ToolOutcome {
  /** The output where it is a text. */
  text: string;
  kept: Buffer[];
}

const tools = new WeakMap<World, readonly Tool[]>();

/** The same tools for the same world, unless it is asked for with other options. */
function toolNamed(name: string, place: World, options?: Partial<FileToolOptions>): Tool {
  const found = options || !tools.has(place) ? allTools(place, options) : tools.get(place)!;
  if (!options) tools.set(place, found);
  return found.find((tool) => tool.name === name)!;
}

export function allTools({ home }: World, options: Partial<FileToolOptions> = {}): readonly Tool[] {
  return fileTools({ home, env: process.env, platform: process.platform, sandbox: { writableRoots: [] }, outputTokens: 10_000, ...options });
}

export async function run(name: string, input: unknown, place: World, given: Given = {}): Promise<Ran> {
  const kept: Buffer[] = [];
  const host: ToolHost = {
    thread: "thread",
    call: "call",
    cwd: place.cwd,
    sandbox: given.sandbox ?? "workspace-write",
    signal: given.signal ?? new AbortController().signal,
    emit: () => {},
    keep: (text) => host.keepBytes(Buffer.from(text)),
    keepBytes:
      given.keepBytes ??
      ((bytes) => {
        kept.push(Buffer.from(bytes));
        return Promise.resolve({ sha256: sha256(bytes), bytes: bytes.length });
      }),
    readKept: (wanted) => Promise.resolve([...(given.earlier ?? []), ...kept].find((bytes) => sha256(bytes) === wanted) ?? null),
    ask: () => Promise.reject(new Error("nobody is asked")),
  };
  const outcome = await toolNamed(name, place, given.options).run(input, host);
  return { ...outcome, kept, text: typeof outcome.output === "string" ? outcome.output : "" };
}

export function assess(name: string, input: unknown, place: World, given: Given = {}): Promise<Assessment> {
  return toolNamed(name, place, given.options).assess!(input, { thread: "thread", cwd: place.cwd, sandbox: given.sandbox ?? "workspace-write", approval: "untrusted" });
}

export function patch(...lines: string[]): { input: string } {
  return { input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") };
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Every path under `folder` with what is there: to be compared with another time. */
export function tree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder).toSorted()) {
    const path = join(folder, name);
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) found[name] = `link ${readlinkSync(path)}`;
    else if (stat.isDirectory()) {
      found[`${name}/`] = "folder";
      for (const [below, what] of Object.entries(tree(path))) found[`${name}/${below}`] = what;
    } else found[name] = `${(stat.mode & 0o7777).toString(8)} ${stat.isFile() ? readFileSync(path).toString("latin1") : "special"}`;
  }
  return found;
}
