/** Shell: what a command is given of the world. Commands name no runtime and no store: what they need comes through a client. */
import type { Readable, Writable } from "node:stream";
import type { Client } from "../client/client.ts";
import type { Connected, Wish } from "../client/wish.ts";

export interface Shell {
  env: Record<string, string | undefined>;
  cwd: string;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  /** The recorded conversation that needs no model. */
  tour: { prompt: string; files: Record<string, string> };
  connect(wish: Wish): Promise<Connected>;
  /** What is configured, and why it is so. */
  config(wish: Wish): Promise<{ rows: ConfigRow[]; text: string; warnings: string[] }>;
  /** The skills that a thread in this folder would have. `ignored`: folders with skills that are not used, as this one is not trusted. */
  skills(wish: Wish): Promise<{ skills: SkillRow[]; warnings: string[]; ignored: string[] }>;
  /** Which projects the user trusts in interactive use. */
  trust(): Promise<Trusting>;
  /** The MCP servers that are configured. */
  mcp(wish: Wish): Promise<McpServers>;
  /** Whether what Skein stands on holds. */
  doctor(): Promise<Check[]>;
  /** A client of the process that listens on a socket. */
  connectTo(socket: string): Promise<Client>;
}

export type { Connected, Wish };

export interface Check {
  name: string;
  state: "ok" | "warning" | "broken";
  text: string;
  /** One line that people can act on. */
  remedy?: string;
}

export interface ConfigRow {
  key: string;
  value: unknown;
  origin: string;
  /** Where `skein exec` has something else. */
  exec?: { value: unknown; origin: string };
}

export interface SkillRow {
  name: string;
  description: string;
  path: string;
  origin: string;
}

export interface Trusting {
  /** What trust in the project of this folder would mean. */
  look(folder: string): Promise<{ ok: true; look: ProjectLook } | { ok: false; message: string }>;
  /** `aside`: where a file that could not be read was put. */
  record(project: { root: string; hash: string; servers: readonly string[] }): { aside: string | null };
  /** The root that was forgotten: this folder or the nearest above it; null when nothing was recorded. */
  forget(folder: string): string | null;
  list(): Promise<{ projects: { root: string; current: boolean; servers: number }[]; problem: string | null }>;
}

export interface ProjectLook {
  root: string;
  file: string | null;
  /** What a record is bound to; null where the config of the home decides. */
  hash: string | null;
  trusted: boolean;
  by: "projects" | "record" | null;
  sets: ConfigRow[];
  servers: { name: string; what: string; hash: string }[];
  warnings: string[];
}

export interface McpServers {
  /** What `add` and `remove` change. */
  file: string;
  servers: { name: string; transport: "stdio" | "http"; target: string; enabled: boolean; origin: string }[];
  warnings: string[];
  add(name: string, server: NewMcpServer): Promise<McpEdit>;
  remove(name: string): Promise<McpEdit>;
  /** Starts those servers, lists their tools and ends them. */
  test(names: readonly string[]): Promise<{ name: string; state: "starting" | "ready" | "failed" | "disabled"; tools: readonly string[]; message?: string }[]>;
}
export type NewMcpServer = { command: string; args: string[]; env: Record<string, string> } | { url: string; bearer_token_env_var?: string };
export type McpEdit = { ok: true } | { ok: false; missing?: boolean; message: string };

/** A wrong word on the command line, or something that cannot be done: shown to the user, with the exit code. */
export class UserError extends Error {
  readonly exit: number;
  constructor(message: string, exit: number) {
    super(message);
    this.name = "UserError";
    this.exit = exit;
  }
}

export const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3, busy: 4, timedOut: 5, interrupted: 130 } as const;
