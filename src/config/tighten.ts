/**
 * Tighten: what the config of a trusted repository may say. It may make permissions narrower than the home and the defaults have
 * them, never wider, and it may tune the model's work. A key without a line in the table below is not the repository's to set: above all
 * providers, addresses, headers, variables, profiles and trust. A new MCP server is taken as it stands if the user said yes to exactly
 * that one. What is not taken is said, with its place.
 */
import { APPROVAL_POLICIES, INHERIT, SANDBOX_MODES, WEB_SEARCH, type Leaf, type Problem, type Rule, type Value } from "./config.ts";
import { formatPath, quoted } from "./keys.ts";

/** `kept` absent: nothing is left. `lost` says what was not taken and why. */
interface Verdict {
  kept?: Value;
  lost?: string;
}
type Narrow = (wanted: Value, base: Value | undefined) => Verdict;

const free: Narrow = (wanted) => ({ kept: wanted });

/** By rank, 0 the strictest. Of the same rank and not equal means that neither is narrower. */
const ranked =
  (ranks: Readonly<Record<string, number>>): Narrow =>
  (wanted, base) =>
    wanted === base || ranks[wanted as string]! < ranks[base as string]! ? { kept: wanted } : { lost: `it is not narrower than ${JSON.stringify(base)}` };

const ordered = (strictestFirst: readonly string[]): Narrow => ranked(Object.fromEntries(strictestFirst.map((value, index) => [value, index])));

const only =
  (value: Value): Narrow =>
  (wanted, base) =>
    wanted === value || wanted === base ? { kept: wanted } : { lost: `it is not narrower than ${base === undefined ? "the default" : JSON.stringify(base)}` };

/** More may be kept out. */
const more: Narrow = (wanted, base) => ({ kept: [...new Set([...((base as readonly string[] | undefined) ?? []), ...(wanted as readonly string[])])] });

/** Fewer may be let in. `empty` is what an empty list lets in; no list at all always means everything. */
const fewer =
  (empty: "everything" | "nothing"): Narrow =>
  (wanted, base) => {
    const have = base as readonly string[] | undefined;
    const want = wanted as readonly string[];
    if (have === undefined || (empty === "everything" && have.length === 0)) return { kept: want };
    const left = want.filter((each) => have.includes(each));
    const extra = want.filter((each) => !have.includes(each));
    if (empty === "everything" && left.length === 0) return { lost: `nothing of it is in ${JSON.stringify(have)}` };
    return extra.length === 0 ? { kept: left } : { kept: left, lost: `it adds ${extra.map((each) => quoted(each)).join(", ")}` };
  };

const MAY: Readonly<Record<string, Narrow>> = {
  sandbox_mode: ordered(SANDBOX_MODES),
  // Which of the middle two is narrower depends on the command; "never" cannot ask, so it is the widest.
  approval_policy: ranked({ untrusted: 0, "on-failure": 1, "on-request": 1, never: 2 } satisfies Record<(typeof APPROVAL_POLICIES)[number], number>),
  web_search: ordered(WEB_SEARCH),
  "sandbox_workspace_write.network_access": only(false),
  "sandbox_workspace_write.exclude_tmpdir_env_var": only(true),
  "sandbox_workspace_write.exclude_slash_tmp": only(true),
  "sandbox_workspace_write.writable_roots": fewer("nothing"),
  "shell_environment_policy.inherit": ordered(INHERIT),
  "shell_environment_policy.ignore_default_excludes": only(false),
  "shell_environment_policy.exclude": more,
  "shell_environment_policy.include_only": fewer("everything"),
  "history.persistence": only("none"),
  "history.sensitive_patterns": more,
  "mcp_servers.*.enabled": only(false),
  "mcp_servers.*.enabled_tools": fewer("nothing"),
  "mcp_servers.*.disabled_tools": more,
  model_reasoning_effort: free,
  model_reasoning_summary: free,
  model_context_window: free,
  model_auto_compact_token_limit: free,
  tool_output_token_limit: free,
  "compact.strategy": free,
  "compact.keep_turns": free,
  "compact.prepare": free,
};

interface Given {
  /** The home's value, or the default. */
  base(path: readonly string[]): Value | undefined;
  /** The user has an MCP server of this name. */
  hasServer(name: string): boolean;
  /** The user has said yes to the repository's server of this name. */
  mayStart(name: string): boolean;
  /** Whether this model stays with the provider that the user has chosen. */
  mayUseModel(model: string): boolean;
}

export function tighten(leaves: readonly Leaf[], given: Given): { leaves: Leaf[]; problems: Problem[] } {
  const kept: Leaf[] = [];
  const problems: Problem[] = [];
  for (const leaf of leaves) {
    const verdict = judge(leaf, given);
    if (verdict.kept !== undefined) kept.push({ ...leaf, value: verdict.kept });
    if (verdict.lost !== undefined) problems.push({ severity: "warning", at: leaf.origin, text: complaint(leaf, verdict) });
  }
  return { leaves: kept, problems };
}

export const UNASKED = "this MCP server was not said yes to; `skein trust` asks";
const NOT_ITS_OWN = "a repository may not set it";

function judge({ path, value }: Leaf, given: Given): Verdict {
  const [first, name] = path;
  if (first === "rules") return (value as Rule).decision === "allow" ? { lost: 'a repository may not add a rule that says "allow"' } : { kept: value };
  if (first === "model") return given.mayUseModel(value as string) ? { kept: value } : { lost: "it would change the provider, which a repository may not" };
  if (first === "mcp_servers" && name !== undefined && !given.hasServer(name)) return given.mayStart(name) ? { kept: value } : { lost: UNASKED };
  const pattern = first === "mcp_servers" ? ["mcp_servers", "*", ...path.slice(2)] : path;
  const narrow = MAY[pattern.join(".")];
  if (narrow) return narrow(value, given.base(path));
  // An empty table says nothing.
  return typeof value === "object" && !Array.isArray(value) ? {} : { lost: NOT_ITS_OWN };
}

function complaint({ path }: Leaf, { kept, lost }: Verdict): string {
  const what = path[0] === "rules" ? "this rule" : formatPath(path);
  const outcome = kept === undefined ? "is ignored" : "is taken in part";
  return `${what} ${outcome}: ${lost}.${lost === NOT_ITS_OWN || path[0] === "model" || (path[0] === "mcp_servers" && lost !== UNASKED) ? " Put it into the config of your home if you want it." : ""}`;
}
