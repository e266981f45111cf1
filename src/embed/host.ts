/** The host of a runtime in this process: stores, providers, tools and context, each loaded when it is first needed. */
import type { Config } from "../config/config.ts";
import { userHome } from "../config/home.ts";
import type { ModelLimits } from "../core/room.ts";
import { createRedactor } from "../core/redact.ts";
import type { Recorded } from "../providers/recorded.ts";
import type { Context, Host } from "../runtime/host.ts";
import type { Settings } from "../protocol/record.ts";
import type { Item } from "../protocol/item.ts";
import { openIndex } from "../stores/file/index/open.ts";
import { openFileStore } from "../stores/file/store.ts";
import { openMemoryStore } from "../stores/memory.ts";
import type { Configured } from "./configuration.ts";
import { readRecording } from "./recordings.ts";
import type { Toolbox } from "./toolbox.ts";

export interface Here {
  /** Skein's own folder. */
  home: string;
  /** More than one turn may come. */
  lasts: boolean;
  /** Where this process answers others; null when it owns nothing. */
  socket: string | null;
  hostname: string;
}

export function createHost(here: Here, configured: Configured, toolbox: Toolbox): Host {
  const { config } = configured;
  const identity = { host: here.hostname, pid: process.pid, now: () => new Date().toISOString() };
  const store = openFileStore({ home: here.home, socket: here.socket, catalog: openIndex({ home: here.home }), ...identity });
  return {
    store,
    ephemeral: openMemoryStore(identity),
    redactor: createRedactor(config.history.sensitive_patterns),
    pid: process.pid,
    hostname: here.hostname,
    lasts: here.lasts,
    now: Date.now,
    random: Math.random,
    provider: providerFinder(config, (source) => readRecording(source, store)),
    recording: (source) => readRecording(source, store),
    context: ({ settings, input }) => contextOf({ configured, toolbox, settings, input }),
    model: (settings) => modelLimits(config, settings),
    closed: (thread) => toolbox.closed(thread),
    async skills(settings) {
      const { findSkills } = await import("../context/skills.ts");
      const { skills, warnings } = findSkills({ ...placesOf(configured, settings), cwd: settings.cwd });
      return { skills: skills.map(({ name, description, path, origin }) => ({ name, description, path, origin })), warnings };
    },
    async usedSkills({ settings, input }) {
      const { findSkills, usedSkills } = await import("../context/skills.ts");
      return usedSkills({ items: input, skills: findSkills({ ...placesOf(configured, settings), cwd: settings.cwd }).skills });
    },
    async usage(query) {
      const [{ readUsage }, { usageFile }, { join }] = await Promise.all([import("../library/usage.ts"), import("../library/usage-cache.ts"), import("node:path")]);
      return readUsage({ store, cache: usageFile(join(here.home, "usage.json")), models: config.models, query });
    },
  };
}

/** A thread may work in another folder than the one whose trust is known: then it has none. */
function placesOf({ home, project }: Configured, { cwd }: Settings): { home: string; userHome: string; trusted: boolean } {
  const within = cwd === project.root || cwd.startsWith(`${project.root}/`);
  return { home, userHome: userHome(process.env), trusted: project.trusted && within };
}

async function contextOf(given: { configured: Configured; toolbox: Toolbox; settings: Settings; input: readonly Item[] }): Promise<Context> {
  const { configured, toolbox, settings, input } = given;
  const [tools, { gatherContext }, { usedSkills }] = await Promise.all([toolbox.tools(settings), import("../context/gather.ts"), import("../context/skills.ts")]);
  const { instructions, parts, warnings, skills } = await gatherContext({ ...placesOf(configured, settings), settings, env: process.env, platform: process.platform, tools, now: new Date() });
  return { tools, instructions, parts: [...parts, ...usedSkills({ items: input, skills })], warnings: [...warnings, ...toolbox.warnings()] };
}

async function modelLimits({ models, compact: { prepare } }: Config, settings: Settings): Promise<ModelLimits> {
  const { modelInfo } = await import("../core/models.ts");
  const { contextWindow, autoCompactTokenLimit: at, compactStrategy: strategy } = modelInfo(settings.model, models);
  const configured = settings["model_context_window"];
  const window = typeof configured === "number" ? configured : contextWindow;
  const compact = { ...(at === null ? {} : { at }), ...(strategy === null ? {} : { strategy }), ...(prepare ? {} : { prepare }) };
  return { ...(window === null ? {} : { window }), ...(Object.keys(compact).length === 0 ? {} : { compact }) };
}

/** Providers are made once, so that their connections are used again. */
function providerFinder(config: Config, recording: (source: string) => Promise<Recorded | null>): Host["provider"] {
  const registry = async () => {
    const { createProviders } = await import("../providers/registry.ts");
    return createProviders({ env: process.env, tables: config.model_providers, ...(config.openai_base_url === undefined ? {} : { openaiBaseUrl: config.openai_base_url }) });
  };
  let providers: ReturnType<typeof registry> | null = null;
  return async ({ model_provider: name, model }) => {
    if (name === "replay") {
      const [{ createReplay }, recorded] = await Promise.all([import("../providers/replay.ts"), recording(model)]);
      if (!recorded) return { ok: false, code: "no_recording", message: `There is no recording "${model}" to replay: neither a thread nor a readable log.` };
      return { ok: true, provider: createReplay(recorded.samples, recorded) };
    }
    providers ??= registry();
    return (await providers).get(name);
  };
}
