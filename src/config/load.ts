/**
 * Load: files, profile, command line and trust → one Config, with the origin of each value.
 *
 * Strongest first: flags, `-c`, profile, the trusted repository's `.skein/config.toml` (tighten.ts), `config.toml` of the home, built in.
 * What is wrong is never guessed at: all mistakes are reported together, each with its file and line, and nothing is loaded. Unknown keys
 * are warned about and ignored; in strict mode they are mistakes. No file is ever written.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { check, type Checked } from "./check.ts";
import { inferProvider, providerOfKeys } from "./choose.ts";
import { originText, type Config, type Leaf, type Mode, type Origin, type Problem } from "./config.ts";
import { defaults } from "./defaults.ts";
import { readFlags, type Flags } from "./flags.ts";
import { absolutePath, userHome } from "./home.ts";
import { formatPath, nearest, quoted } from "./keys.ts";
import { build, complete, contradictions, namesIn, overlay, type Merged } from "./merge.ts";
import { findProject, type Project } from "./project.ts";
import { parseConfig, readConfigFile } from "./read.ts";
import { readOverrides } from "./overrides.ts";
import { repositoryServers, type RepositoryServer } from "./repository-servers.ts";
import { checkRoots, ROOTS } from "./roots.ts";
import { tighten } from "./tighten.ts";

export interface Given {
  home: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  mode: Mode;
  flags: Flags;
  /** Each `key=value` of `-c`, in order. */
  overrides: readonly string[];
  profile?: string;
  strict?: boolean;
  /** Interactive use: the user has answered that this root with this config is to be trusted. */
  trusted?: (root: string, hash: string) => boolean;
  /** The user has said yes to this MCP server of this root. */
  trustedServer?: (root: string, hash: string) => boolean | Promise<boolean>;
}

export type Loaded = { ok: true; config: Config; origins: Map<string, Origin>; warnings: string[]; cwd: string; project: Project; /** Of the repository, whether or not they are taken. */ servers: RepositoryServer[] } | { ok: false; message: string };

export async function loadConfig(given: Given): Promise<Loaded> {
  const osHomedir = userHome(given.env);
  const absoluteFrom = (base: string) => (path: string) => absolutePath(path, { base, osHomedir });
  const cwd = absoluteFrom(given.cwd)(given.flags.cd ?? ".");
  const missing = whyNoFolder(cwd, given.flags.cd);
  if (missing !== null) return refuse([missing]);

  const homeFile = join(given.home, "config.toml");
  const read = readConfigFile(homeFile);
  if (!read.ok) return refuse([read.message]);
  const home = await readFile({ file: homeFile, bytes: read.bytes, layer: "home", absolute: absoluteFrom(given.home) });
  if (!home.ok) return refuse([home.message]);
  const overrides = await readOverrides(given.overrides, absoluteFrom(cwd));
  const problems = [...home.problems, ...overrides.problems];

  const profile = chooseProfile({ named: given.profile, home: home.leaves, overrides: overrides.leaves, homeFile });
  if (profile.problem) problems.push(profile.problem);

  const found = await findProject({ cwd, home: given.home, mode: given.mode, listed: listedIn(home.leaves, absoluteFrom(given.home)), recorded: given.trusted ?? (() => false) });
  if (!found.ok) return refuse([...problems.filter(isError).map(problemText), found.message]);
  const { project } = found;
  const repository = await readFile({ file: project.file, bytes: found.bytes, layer: "repository", absolute: absoluteFrom(project.root) });
  if (!repository.ok) return refuse([...problems.filter(isError).map(problemText), repository.message]);
  problems.push(...repository.problems);

  const below = overlay(new Map(defaults({ mode: given.mode, trusted: project.trusted }).map((leaf) => [formatPath(leaf.path), leaf])), settable(home.leaves));
  const above = [profile.leaves, settable(overrides.leaves)];
  const users = above.reduce(overlay, new Map(below));
  const hasServer = (name: string): boolean => namesIn(users, "mcp_servers").has(name);
  const servers = await repositoryServers(repository.leaves, hasServer);
  const taken = new Set<string>();
  for (const { name, hash } of servers) if (await given.trustedServer?.(project.root, hash)) taken.add(name);
  const allowed = tighten(repository.leaves, {
    base: (path) => below.get(formatPath(path))?.value,
    hasServer,
    mayStart: (name) => taken.has(name),
    mayUseModel: (model) => mayUseModel(model, users, given),
  });
  problems.push(...allowed.problems);

  const merged = [allowed.leaves, ...above].reduce(overlay, below);
  const writableRoots = merged.get(ROOTS)!.value as string[];
  const homes = { home: given.home, user: osHomedir };
  problems.push(...checkRoots({ roots: writableRoots, origin: merged.get(ROOTS)!.origin }, homes));
  const flags = readFlags(given.flags, { mode: given.mode, absolute: absoluteFrom(cwd), writableRoots });
  problems.push(...flags.problems);
  overlay(merged, flags.leaves);
  const { value: roots, origin } = merged.get(ROOTS)!;
  problems.push(...checkRoots({ roots: (roots as string[]).filter((root) => !writableRoots.includes(root)), origin }, homes));
  if (profile.name !== undefined) merged.set("profile", { path: ["profile"], value: profile.name.value, origin: profile.name.origin });
  if (!problems.some(isError)) problems.push(...contradictions(merged));

  const refused = problems.filter((problem) => isError(problem) || (given.strict === true && problem.severity === "unknown"));
  if (refused.length > 0) return refuse(refused.map(problemText));
  complete(merged);
  const { config, origins } = build(merged, profile.all.keys());
  const [first] = profile.all.values();
  if (first !== undefined) origins.set("profiles", first);
  return { ok: true, config, origins, warnings: problems.map(warningText), cwd, project, servers };
}

type FileLayer = ({ ok: true } & Checked) | { ok: false; message: string };

async function readFile(given: { file: string; bytes: Uint8Array | null; layer: "home" | "repository"; absolute: (path: string) => string }): Promise<FileLayer> {
  const { file, bytes, layer, absolute } = given;
  if (bytes === null) return { ok: true, leaves: [], problems: [] };
  const parsed = await parseConfig(file, bytes);
  if (!parsed.ok) return parsed;
  return { ok: true, ...check(parsed.table, { origin: (path) => ({ layer, file, line: parsed.line(path) }), absolute }) };
}

interface ChosenProfile {
  name?: Leaf;
  leaves: Leaf[];
  /** The names that there are, and where each is first mentioned. */
  all: Map<string, Origin>;
  problem?: Problem;
}

function chooseProfile(given: { named: string | undefined; home: readonly Leaf[]; overrides: readonly Leaf[]; homeFile: string }): ChosenProfile {
  const { named, home, overrides, homeFile } = given;
  const written = [...home, ...overrides].filter(({ path }) => path[0] === "profiles" && path[1] !== undefined);
  const all = new Map<string, Origin>();
  for (const { path, origin } of written) if (!all.has(path[1]!)) all.set(path[1]!, origin);
  const name: Leaf | undefined =
    named === undefined
      ? (overrides.findLast(({ path }) => path[0] === "profile") ?? home.find(({ path }) => path[0] === "profile"))
      : { path: ["profile"], value: named, origin: { layer: "flag", name: "--profile" } };
  if (name === undefined) return { leaves: [], all };
  const wanted = name.value as string;
  if (!all.has(wanted)) {
    const meant = nearest(wanted, all.keys());
    const there = all.size === 0 ? "it has none" : `it has ${[...all.keys()].map((each) => quoted(each)).join(", ")}`;
    const hint = meant === null ? "" : ` Did you mean ${quoted(meant)}?`;
    return { name, leaves: [], all, problem: { severity: "error", at: name.origin, text: `there is no profile ${quoted(wanted)} in ${homeFile}: ${there}.${hint}` } };
  }
  const leaves = written
    .filter(({ path }) => path[1] === wanted && path.length > 2)
    .map((leaf): Leaf => ({ ...leaf, path: leaf.path.slice(2), origin: { ...(leaf.origin.layer === "home" ? leaf.origin : {}), layer: "profile", name: wanted } }));
  return { name, leaves, all };
}

/** All that is not about choosing or describing profiles. */
function settable(leaves: readonly Leaf[]): Leaf[] {
  return leaves.filter(({ path }) => path[0] !== "profile" && path[0] !== "profiles");
}

function listedIn(leaves: readonly Leaf[], absolute: (path: string) => string): Map<string, "trusted" | "untrusted"> {
  const listed = new Map<string, "trusted" | "untrusted">();
  for (const { path, value } of leaves) {
    if (path[0] === "projects" && path[2] === "trust_level") listed.set(absolute(path[1]!), value as "trusted" | "untrusted");
  }
  return listed;
}

/** A model's name may choose a provider when the user has chosen none; a repository's must not. */
function mayUseModel(model: string, users: Merged, given: Given): boolean {
  if (users.has("model_provider")) return true;
  const own = users.get("model")?.value;
  if (own !== undefined) return inferProvider(model) === inferProvider(own as string);
  return inferProvider(model) === providerOfKeys(given.env, (provider) => users.get(`model_providers.${provider}.env_key`)?.value as string | undefined);
}

function whyNoFolder(cwd: string, cd: string | undefined): string | null {
  const what = cd === undefined ? "the working folder" : "--cd";
  try {
    return statSync(cwd).isDirectory() ? null : `${what}: ${cwd} is not a folder.`;
  } catch (error) {
    return `${what}: ${cwd} ${(error as NodeJS.ErrnoException).code === "ENOENT" ? "does not exist" : "cannot be read"}.`;
  }
}

/** Paths are shown as they are, except for what a terminal would act upon. */
const visible = (text: string) => text.replace(/\p{Cc}/gu, "?");

const isError = ({ severity }: Problem) => severity === "error";

function problemText({ severity, at, text }: Problem): string {
  return visible(`${originText(at)}: ${text}${severity === "unknown" ? " Unknown keys are refused because of --strict-config." : ""}`);
}

function warningText({ severity, at, text }: Problem): string {
  return visible(`${originText(at)}: ${text}${severity === "unknown" ? " It is ignored." : ""}`);
}

function refuse(problems: readonly string[]): { ok: false; message: string } {
  const list = problems.map((problem) => `  ${visible(problem)}`).join("\n");
  return { ok: false, message: `The configuration cannot be used:\n${list}\nNothing was started and no file was changed. Correct ${problems.length === 1 ? "this" : "these"} and run it again.` };
}
