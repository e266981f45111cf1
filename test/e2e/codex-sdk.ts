/**
 * The official Codex SDK, unchanged, as npm has it: fetched once, checked against its hash, and kept under node_modules/.cache. Only its
 * own package is fetched. What it depends on is the native Codex binary (hundreds of megabytes), which it never looks for when
 * it is told which executable to start; that is also why it is no devDependency.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const NAME = "@openai/codex-sdk";
const VERSION = "0.163.0";
const INTEGRITY = "sha512-o10d8dqxFjhzoWp75MUrhaN8C6QrXPQqUJGwVnySj++ztAnrA322UuFRzHZvSa903lFgjjaimuf5rkqVsj0RHg==";
const CACHE = resolve(import.meta.dirname, "../../node_modules/.cache");

export interface SdkItem {
  id: string;
  type: string;
  [field: string]: unknown;
}
export interface SdkEvent {
  type: string;
  thread_id?: string;
  item?: SdkItem;
  usage?: object;
  error?: { message: string };
}
export type SdkInput = string | ({ type: "text"; text: string } | { type: "local_image"; path: string })[];
export interface TurnOptions {
  outputSchema?: unknown;
  signal?: AbortSignal;
  cyberAccessProgram?: string;
}
export interface ThreadOptions {
  model?: string;
  threadSource?: string;
  sandboxMode?: "read-only" | "workspace-write" | "danger-full-access";
  workingDirectory?: string;
  skipGitRepoCheck?: boolean;
  modelReasoningEffort?: string;
  networkAccessEnabled?: boolean;
  webSearchMode?: "disabled" | "cached" | "live";
  webSearchEnabled?: boolean;
  approvalPolicy?: "never" | "on-request" | "on-failure" | "untrusted";
  additionalDirectories?: string[];
}
export interface SdkThread {
  readonly id: string | null;
  run(input: SdkInput, options?: TurnOptions): Promise<{ items: SdkItem[]; finalResponse: string; usage: Record<string, number> | null }>;
  runStreamed(input: SdkInput, options?: TurnOptions): Promise<{ events: AsyncGenerator<SdkEvent> }>;
}
export interface CodexOptions {
  codexPathOverride?: string;
  baseUrl?: string;
  apiKey?: string;
  config?: object;
  configOverrides?: string[];
  env?: Record<string, string>;
}
export interface Sdk {
  Codex: new (options?: CodexOptions) => { startThread(options?: ThreadOptions): SdkThread; resumeThread(id: string, options?: ThreadOptions): SdkThread };
}

export async function loadSdk(): Promise<Sdk> {
  const folder = join(CACHE, `codex-sdk-${VERSION}`);
  if (!existsSync(folder)) fetchInto(folder);
  return (await import(pathToFileURL(join(folder, "package", "dist", "index.js")).href)) as Sdk;
}

function fetchInto(folder: string): void {
  mkdirSync(CACHE, { recursive: true });
  const scratch = mkdtempSync(join(CACHE, "codex-sdk-"));
  try {
    try {
      execFileSync("npm", ["pack", `${NAME}@${VERSION}`, "--prefer-offline", "--ignore-scripts", "--loglevel=error"], { cwd: scratch, stdio: ["ignore", "ignore", "pipe"] });
    } catch (error) {
      throw new Error(`${NAME}@${VERSION} could not be fetched from npm, so nothing of it was tested. Check the network and the registry.\n${String((error as { stderr?: unknown }).stderr ?? error)}`, { cause: error });
    }
    const [archive] = readdirSync(scratch);
    const hash = `sha512-${createHash("sha512").update(readFileSync(join(scratch, archive!))).digest("base64")}`;
    if (hash !== INTEGRITY) throw new Error(`${archive} is not the package that it should be: its hash is ${hash}.`);
    execFileSync("tar", ["-xzf", archive!], { cwd: scratch });
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
