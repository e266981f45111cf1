/**
 * Composition: the only place that names implementations. Each command loads only what it needs.
 */
import { LOG_VERSION, type Settings } from "./protocol/record.ts";
import type { Client } from "./client/client.ts";
import type { Connected, Shell, Wish } from "./cli/shell.ts";
import type { Config } from "./config/config.ts";
import type { Project } from "./config/project.ts";
import type { Store } from "./core/store.ts";
import type { Recorded } from "./providers/recorded.ts";
import type { Host } from "./runtime/host.ts";
import type { Threads } from "./runtime/threads.ts";
import type { SocketServer } from "./server/transports/socket.ts";

declare const __SKEIN_VERSION__: string;
const VERSION = typeof __SKEIN_VERSION__ === "string" ? __SKEIN_VERSION__ : "0.0.0-source";

/** Runs one command line; the result is the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === "--version" || argv[0] === "-V") {
    process.stdout.write(`skein ${VERSION} (log v${LOG_VERSION})\n`);
    return 0;
  }
  const { run } = await import("./cli/run.ts");
  quietOnClosedPipe();
  return run(argv, await createShell());
}

async function createShell(): Promise<Shell> {
  const { TOUR } = await import("./providers/recordings/tour.ts");
  return { env: process.env, cwd: process.cwd(), stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, tour: TOUR, connect, connectTo, config: describeConfiguration, skills: describeSkills };
}

async function connectTo(socket: string): Promise<Client> {
  const [{ socketTransport }, { createClient }] = await Promise.all([import("./client/node.ts"), import("./client/client.ts")]);
  return createClient(await socketTransport(socket));
}

/** A client of a server in this process, configured as the command line and the files say. */
async function connect(wish: Wish): Promise<Connected> {
  const [{ createThreads }, { memoryTransport }, { createClient }] = await Promise.all([
    import("./runtime/threads.ts"),
    import("./server/transports/memory.ts"),
    import("./client/client.ts"),
  ]);
  const configured = await configure(wish);
  const home = await openHome(configured.home, wish.mode !== "read");
  const host = await createHost(home, configured);
  const threads = createThreads(host);
  const socket = home.socket ? await listen(threads, home.socket) : null;
  const client = createClient(memoryTransport(threads));
  return {
    client,
    settings: configured.settings,
    problem: configured.problem,
    changes: configured.changes,
    warnings: configured.warnings,
    async close() {
      client.close();
      await threads.closeAll("the process ended");
      await socket?.close();
      await host.store.close();
    },
  };
}

async function describeConfiguration(wish: Wish): ReturnType<Shell["config"]> {
  const { config, origins, warnings } = await loadConfiguration(wish);
  const { configText, describeConfig } = await import("./config/describe.ts");
  const rows = describeConfig(config, origins);
  return { rows, text: configText(rows), warnings };
}

async function describeSkills(wish: Wish): ReturnType<Shell["skills"]> {
  const [{ home, cwd, project }, { findSkills }, { homedir }] = await Promise.all([loadConfiguration(wish), import("./context/skills.ts"), import("node:os")]);
  return findSkills({ home, userHome: homedir(), cwd, trusted: project.trusted });
}

async function loadConfiguration(wish: Wish) {
  const [{ homeOf }, { loadConfig }, { EXIT, UserError }, { homedir }] = await Promise.all([import("./config/home.ts"), import("./config/load.ts"), import("./cli/shell.ts"), import("node:os")]);
  const home = homeOf(process.env, homedir());
  const { mode, overrides, profile, strict, approval, ...flags } = wish;
  const loaded = await loadConfig({
    home,
    cwd: process.cwd(),
    env: process.env,
    mode: mode === "interactive" ? "interactive" : "exec",
    flags: { ...flags, ...(approval === undefined ? {} : { askForApproval: approval }) },
    overrides,
    ...(profile === undefined ? {} : { profile }),
    ...(strict === undefined ? {} : { strict }),
  });
  if (!loaded.ok) throw new UserError(loaded.message, EXIT.usage);
  return { ...loaded, home };
}

/** Others can ask for threads through the socket; where none can be made, they cannot, and everything else works. */
async function listen(threads: Threads, path: string): Promise<SocketServer | null> {
  const { listenOnSocket } = await import("./server/transports/socket.ts");
  return listenOnSocket(threads, path).catch(() => null);
}

interface Configured {
  home: string;
  config: Config;
  project: Project;
  /** What a new thread starts with; null when there is no model to ask. */
  settings: Settings | null;
  /** What is missing, when something is configured and it is not enough. */
  problem: string | null;
  /** What the command line sets outright, and differs, for a thread that has settings of its own. */
  changes(current: Settings): Partial<Settings>;
  warnings: string[];
}

async function configure(wish: Wish): Promise<Configured> {
  const { home, config, project, origins, cwd, warnings } = await loadConfiguration(wish);
  if (wish.mode === "read") return { home, config, project, settings: null, problem: null, changes: () => ({}), warnings };
  const [{ chooseModel }, { probeModels }, { changedSettings, settingsOf }, { absolutePath }, { homedir }] = await Promise.all([
    import("./config/choose.ts"),
    import("./config/probe.ts"),
    import("./config/settings.ts"),
    import("./config/home.ts"),
    import("node:os"),
  ]);
  const choice = await chooseModel(config, process.env, probeModels);
  const chosen = settingsOf(choice.kind === "model" ? { ...config, model: choice.model, model_provider: choice.model_provider } : config, cwd);
  const addDirs = (wish.addDirs ?? []).map((folder) => absolutePath(folder, { base: cwd, osHomedir: homedir() }));
  const said = { settings: chosen, origins, profile: wish.profile !== undefined, cd: wish.cd !== undefined, addDirs };
  const problem = choice.kind === "incomplete" ? choice.message : null;
  return { home, config, project, settings: choice.kind === "model" ? chosen : null, problem, changes: (current) => changedSettings(said, current), warnings };
}

interface Home {
  path: string;
  /** Where this process answers others; null when it owns nothing. */
  socket: string | null;
  hostname: string;
}

async function openHome(path: string, owns: boolean): Promise<Home> {
  const { hostname } = await import("node:os");
  if (!owns) return { path, socket: null, hostname: hostname() };
  const { socketPath } = await import("./stores/file/socket-path.ts");
  return { path, socket: socketPath(path, process.pid), hostname: hostname() };
}

async function createHost(home: Home, { config, project }: Configured): Promise<Host> {
  const [{ openFileStore }, { openMemoryStore }, { openIndex }, { createRedactor }] = await Promise.all([
    import("./stores/file/store.ts"),
    import("./stores/memory.ts"),
    import("./stores/file/index/open.ts"),
    import("./core/redact.ts"),
  ]);
  const now = () => new Date().toISOString();
  const identity = { host: home.hostname, pid: process.pid, now };
  const store = openFileStore({ home: home.path, socket: home.socket, catalog: openIndex({ home: home.path }), ...identity });
  return {
    store,
    ephemeral: openMemoryStore(identity),
    redactor: createRedactor(config.history.sensitive_patterns),
    pid: process.pid,
    hostname: home.hostname,
    now: Date.now,
    random: Math.random,
    provider: providerFinder(config, (source) => readRecording(source, store)),
    recording: (source) => readRecording(source, store),
    async usage(query) {
      const [{ readUsage }, { usageFile }, { join }] = await Promise.all([import("./library/usage.ts"), import("./library/usage-cache.ts"), import("node:path")]);
      return readUsage({ store, cache: usageFile(join(home.path, "usage.json")), models: config.models, query });
    },
    closed: async () => {},
    async context({ settings }) {
      const [{ builtinTools }, { gatherContext }, { modelInfo }, { homedir }] = await Promise.all([import("./tools/builtin.ts"), import("./context/gather.ts"), import("./core/models.ts"), import("node:os")]);
      // What the thread was started with counts, not what the files say by now.
      const { writable_roots: writableRoots, network_access: network } = { ...config.sandbox_workspace_write, ...(settings["sandbox_workspace_write"] as object | undefined) };
      const tools = builtinTools({
        home: home.path,
        env: process.env,
        platform: process.platform,
        sandbox: { writableRoots, network },
        environment: config.shell_environment_policy,
        outputTokens: config.tool_output_token_limit,
      });
      const { instructions, parts, warnings } = await gatherContext({
        settings,
        home: home.path,
        userHome: homedir(),
        trusted: project.trusted && (settings.cwd === project.root || settings.cwd.startsWith(`${project.root}/`)),
        env: process.env,
        platform: process.platform,
        tools,
        now: new Date(),
      });
      const { contextWindow, autoCompactTokenLimit: at, compactStrategy: strategy } = modelInfo(settings.model, config.models);
      const window = settings["model_context_window"];
      return { tools, instructions, parts, warnings, window: typeof window === "number" ? window : contextWindow, compact: { ...(at === null ? {} : { at }), ...(strategy === null ? {} : { strategy }) } };
    },
  };
}

/** Providers are made once, so that their connections are used again. */
function providerFinder(config: Config, recording: (source: string) => Promise<Recorded | null>): Host["provider"] {
  const registry = async () => {
    const { createProviders } = await import("./providers/registry.ts");
    return createProviders({ env: process.env, tables: config.model_providers, ...(config.openai_base_url === undefined ? {} : { openaiBaseUrl: config.openai_base_url }) });
  };
  let providers: ReturnType<typeof registry> | null = null;
  return async ({ model_provider: name, model }) => {
    if (name === "replay") {
      const [{ createReplay }, recorded] = await Promise.all([import("./providers/replay.ts"), recording(model)]);
      if (!recorded) return { ok: false, code: "no_recording", message: `There is no recording "${model}" to replay: neither a thread nor a readable log.` };
      return { ok: true, provider: createReplay(recorded.samples, recorded.outputs) };
    }
    providers ??= registry();
    return (await providers).get(name);
  };
}

/** The tour, a log file (by its path), or a thread, along its lineage. */
async function readRecording(source: string, store: Store): Promise<Recorded | null> {
  if (source === "tour") return (await import("./providers/recordings/tour.ts")).TOUR.recorded;
  const [{ samplesOf }, { fileRecords }, { liveRecords }] = await Promise.all([import("./providers/recorded.ts"), import("./stores/recording.ts"), import("./runtime/loading.ts")]);
  const records = source.includes("/") ? fileRecords(source) : await liveRecords(store, source);
  return records && samplesOf(records);
}

/** A reader that went away (`| head`) is not an error. A command that listens by itself decides by itself. */
function quietOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (stream.listenerCount("error") > 1) return;
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
}
