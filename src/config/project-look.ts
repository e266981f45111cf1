/**
 * What trust in a project would mean: the values that its config would set, the MCP servers that it names, and what of it would be
 * ignored. Its config is read here as if it were trusted; nothing is started and nothing is written.
 */
import { describeConfig, type Row } from "./describe.ts";
import { loadConfig } from "./load.ts";
import { readConfigFile } from "./read.ts";
import type { RepositoryServer } from "./repository-servers.ts";
import { UNASKED } from "./tighten.ts";
import { isServerTrusted, isTrusted, readTrust } from "./trust.ts";

export interface ProjectLook {
  root: string;
  /** Its config, or null when it has none. */
  file: string | null;
  /** Null where no record counts, as `[projects]` decides. */
  hash: string | null;
  trusted: boolean;
  by: "projects" | "record" | null;
  sets: Row[];
  servers: RepositoryServer[];
  warnings: string[];
}

export type Looked = { ok: true; look: ProjectLook } | { ok: false; message: string };

export async function lookAtProject(given: { home: string; folder: string; env: Readonly<Record<string, string | undefined>> }): Promise<Looked> {
  const { home, folder, env } = given;
  const { trust } = readTrust(home);
  const load = (trusted: (root: string, hash: string) => boolean) => loadConfig({ home, cwd: folder, env, mode: "interactive", flags: {}, overrides: [], trusted, trustedServer: (root, hash) => isServerTrusted(trust, { root, hash }) });
  const now = await load((root, hash) => isTrusted(trust, { root, hash }));
  if (!now.ok) return now;
  const then = await load(() => true);
  if (!then.ok) return then;
  const { root, file, trusted, by } = now.project;
  const { hash } = then.project;
  const read = readConfigFile(file);
  if (!read.ok) return read;
  // What is shown is what is said yes to.
  if (hash !== null && hash !== now.project.hash) return { ok: false, message: `${file} has just been changed: nothing was recorded. Look at it again.` };
  const sets = describeConfig(then.config, then.origins).filter(({ key }) => then.origins.get(key)?.layer === "repository");
  const { servers } = then;
  // The servers are said yes to together with the rest.
  const warnings = then.warnings.filter((warning) => warning.startsWith(file) && !warning.includes(UNASKED));
  return { ok: true, look: { root, file: read.bytes === null ? null : file, hash, trusted, by, sets, servers, warnings } };
}
