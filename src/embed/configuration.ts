/** The configuration of this process: files, flags and trust, and the settings that a new thread starts with. */
import type { Wish } from "../client/wish.ts";
import type { Config } from "../config/config.ts";
import { homeOf, userHome } from "../config/home.ts";
import { loadConfig, type Loaded } from "../config/load.ts";
import type { Project } from "../config/project.ts";
import type { Settings } from "../protocol/record.ts";

export class ConfigurationError extends Error {}

/** Where this process keeps its things. */
export function ownHome(): string {
  const found = homeOf(process.env);
  if (!found.ok) throw new ConfigurationError(found.message);
  return found.home;
}

export type Configuration = Extract<Loaded, { ok: true }> & { home: string };

export async function loadConfiguration(wish: Wish): Promise<Configuration> {
  const home = ownHome();
  const { mode, overrides, profile, strict, approval, ...flags } = wish;
  const recorded = mode === "interactive" ? await recordedTrust(home) : null;
  const loaded = await loadConfig({
    home,
    cwd: process.cwd(),
    env: process.env,
    mode: mode === "interactive" ? "interactive" : "exec",
    flags: { ...flags, ...(approval === undefined ? {} : { askForApproval: approval }) },
    overrides,
    ...(profile === undefined ? {} : { profile }),
    ...(strict === undefined ? {} : { strict }),
    trustedServer: async (root, hash) => (recorded ?? (await recordedTrust(home))).trustedServer(root, hash),
    ...(recorded ? { trusted: recorded.trusted } : {}),
  });
  if (!loaded.ok) throw new ConfigurationError(loaded.message);
  return { ...loaded, home, warnings: [...loaded.warnings, ...(recorded?.warnings ?? [])] };
}

/** What the user has said yes to. For a project as a whole, exec believes the config of the home only. */
async function recordedTrust(home: string) {
  const { isServerTrusted, isTrusted, readTrust } = await import("../config/trust.ts");
  const { trust, problem } = readTrust(home);
  return {
    trusted: (root: string, hash: string) => isTrusted(trust, { root, hash }),
    trustedServer: (root: string, hash: string) => isServerTrusted(trust, { root, hash }),
    warnings: problem === null ? [] : [problem],
  };
}

export interface Configured {
  home: string;
  config: Config;
  project: Project;
  mode: Wish["mode"];
  /** What a new thread starts with; null when there is no model to ask. */
  settings: Settings | null;
  /** What is missing, when something is configured and it is not enough. */
  problem: string | null;
  /** What the command line sets outright, and differs, for a thread that has settings of its own. */
  changes(current: Settings): Partial<Settings>;
  warnings: string[];
}

export async function configure(wish: Wish): Promise<Configured> {
  const { home, config, project, origins, cwd, warnings } = await loadConfiguration(wish);
  const { mode } = wish;
  // Who only reads needs no model, unless something is said that a thread would have instead of its own.
  if (mode === "read" && wish.overrides.length === 0 && wish.model === undefined && wish.profile === undefined) return { home, config, project, mode, settings: null, problem: null, changes: () => ({}), warnings };
  const [{ chooseModel }, { probeModels }, { changedSettings, settingsOf }, { absolutePath }] = await Promise.all([
    import("../config/choose.ts"),
    import("../config/probe.ts"),
    import("../config/settings.ts"),
    import("../config/home.ts"),
  ]);
  const choice = await chooseModel(config, process.env, probeModels);
  const chosen = settingsOf(choice.kind === "model" ? { ...config, model: choice.model, model_provider: choice.model_provider } : config, cwd);
  const addDirs = (wish.addDirs ?? []).map((folder) => absolutePath(folder, { base: cwd, osHomedir: userHome(process.env) }));
  const said = { settings: chosen, origins, profile: wish.profile !== undefined, cd: wish.cd !== undefined, addDirs };
  const problem = choice.kind === "incomplete" ? choice.message : null;
  return { home, config, project, mode, settings: choice.kind === "model" ? chosen : null, problem, changes: (current) => changedSettings(said, current), warnings };
}
