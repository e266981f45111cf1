/** The command: gives each command line what it needs of the world. Each command loads only what it needs. */
import { LOG_VERSION } from "./protocol/record.ts";
import type { Client } from "./client/client.ts";
import type { Connected, Shell, Wish } from "./cli/shell.ts";

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
  const { env, stdin, stdout, stderr } = process;
  return { env, get cwd() { return process.cwd(); }, stdin, stdout, stderr, tour: TOUR, connect, connectTo, config, skills, trust, mcp, doctor };
}

/** A client of a server in this process, configured as the command line and the files say. */
async function connect(wish: Wish): Promise<Connected> {
  const { open } = await import("./embed/open.ts");
  return told(open(wish));
}

async function connectTo(socket: string): Promise<Client> {
  const [{ socketTransport }, { createClient }] = await Promise.all([import("./client/node.ts"), import("./client/client.ts")]);
  return createClient(await socketTransport(socket));
}

/** A mistake in the configuration is one of the command line's. */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const [{ ConfigurationError }, { EXIT, UserError }] = await Promise.all([import("./embed/configuration.ts"), import("./cli/shell.ts")]);
    throw error instanceof ConfigurationError ? new UserError(error.message, EXIT.usage) : error;
  }
}

async function configuration(wish: Wish) {
  const { loadConfiguration } = await import("./embed/configuration.ts");
  return told(loadConfiguration(wish));
}

async function config(wish: Wish): ReturnType<Shell["config"]> {
  const [loaded, inExec] = await Promise.all([configuration(wish), configuration({ ...wish, mode: "exec" })]);
  const [{ configText, describeConfig }, { originInForce, rowsInForce }, { chooseModel }, { probeModels }] = await Promise.all([
    import("./config/describe.ts"),
    import("./config/in-force.ts"),
    import("./config/choose.ts"),
    import("./config/probe.ts"),
  ]);
  const choice = await chooseModel(loaded.config, process.env, probeModels);
  const rows = rowsInForce({ rows: describeConfig(loaded.config, loaded.origins), exec: describeConfig(inExec.config, inExec.origins), choice });
  const missing = rows.find(({ key, value }) => key === "model" && value === null);
  return { rows, text: `${missing ? `# model: ${missing.origin}\n` : ""}${configText(rows.map((row) => ({ ...row, origin: originInForce(row) })))}`, warnings: loaded.warnings };
}

async function skills(wish: Wish): ReturnType<Shell["skills"]> {
  const [{ home, cwd, project }, { findSkills }, { userHome }] = await Promise.all([configuration(wish), import("./context/skills.ts"), import("./config/home.ts")]);
  return findSkills({ home, userHome: userHome(process.env), cwd, trusted: project.trusted });
}

async function ownHome(): Promise<string> {
  const configured = await import("./embed/configuration.ts");
  return told(Promise.resolve().then(configured.ownHome));
}

async function trust(): ReturnType<Shell["trust"]> {
  const [{ createTrusting }, home] = await Promise.all([import("./config/trusting.ts"), ownHome()]);
  return createTrusting({ home, env: process.env });
}

async function mcp(wish: Wish): ReturnType<Shell["mcp"]> {
  const loaded = await configuration(wish);
  const { configuredServers } = await import("./config/servers.ts");
  return {
    ...configuredServers(loaded),
    warnings: loaded.warnings,
    async test(names) {
      const { createMcp } = await import("./tools/mcp/source.ts");
      const wanted = Object.entries(loaded.config.mcp_servers).filter(([name]) => names.includes(name));
      const source = createMcp({ servers: Object.fromEntries(wanted), env: process.env, cwd: loaded.cwd, version: VERSION });
      try {
        await source.ready();
        await source.tools();
        return source.status();
      } finally {
        await source.close();
      }
    },
  };
}

async function doctor(): ReturnType<Shell["doctor"]> {
  const [{ examine }, { detectSandbox, machine }, { readTrust }, home] = await Promise.all([import("./library/doctor.ts"), import("./tools/sandbox/detect.ts"), import("./config/trust.ts"), ownHome()]);
  const detected = await detectSandbox(machine(process.platform, process.env["PATH"] ?? ""));
  const { trust: projects, problem } = readTrust(home);
  const loaded = await configuration({ mode: "interactive", overrides: [] }).then(
    ({ config: found, warnings }) => ({
      ok: true as const,
      warnings,
      servers: Object.keys(found.mcp_servers),
      keys: [...new Set(["OPENAI_API_KEY", "CODEX_API_KEY", ...Object.values(found.model_providers).flatMap(({ env_key: key }) => (key === undefined ? [] : [key]))])],
    }),
    async (error: unknown) => ({ ok: false as const, message: (await import("./cli/explain.ts")).expected(error)?.message ?? String(error) }),
  );
  const ripgrep = await import("@vscode/ripgrep").then(({ rgPath }) => rgPath).catch(() => null);
  return examine({ home, env: process.env, node: process.versions.node, ripgrep, sandbox: detected, config: loaded, trust: { projects: projects.size, problem } });
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
