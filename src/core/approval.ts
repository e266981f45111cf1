/**
 * approval: may this call run, and within which bounds? Pure: what the call would do comes from its tool, everything else from state.
 *
 * - A `deny` rule binds always. An `ask` rule asks whatever the policy is. An `allow` rule lets a command run without a question, in the sandbox.
 * - What must leave the sandbox asks, unless a grant allows it.
 * - `untrusted` asks for everything that is not known to be safe; the other policies let the sandbox be the bound.
 * - `never` asks nothing: what would have to be asked is refused, and the model is told so.
 *
 * A grant ("for this session") covers exactly what was shown: each key of the call, at most in the bounds that it was given for. What was
 * allowed to run outside after the sandbox stood in its way runs there at once. Grants end with the process that they were given to.
 */
import type { Json } from "../protocol/json.ts";
import type { ApprovalPolicy, SandboxMode, Settings, ThreadPart } from "../protocol/record.ts";
import type { Assessment, Shown } from "./tool.ts";

export type Verdict =
  | { do: "run"; sandbox: SandboxMode }
  | { do: "ask"; sandbox: SandboxMode; why: string }
  | { do: "refuse"; message: string };

export interface Bounds {
  approval_policy: ApprovalPolicy;
  sandbox_mode: SandboxMode;
}

const FREE: SandboxMode = "danger-full-access";

export function judge(assessed: Assessment, bounds: Bounds, grants: ThreadPart["grants"]): Verdict {
  const { approval_policy: policy, sandbox_mode: mode } = bounds;
  if (assessed.rule === "deny") return { do: "refuse", message: "Not run: a rule of the configuration denies it. Do not try it in another form." };
  if (mode !== FREE && isGranted(assessed, FREE, grants.filter(({ pattern }) => asPattern(pattern)?.outside))) return { do: "run", sandbox: FREE };
  const leaves = assessed.outside !== null && mode !== FREE;
  const sandbox = leaves ? FREE : mode;
  const run: Verdict = { do: "run", sandbox };
  const why = reasonToAsk(assessed, { leaves, policy });
  if (why === null || isGranted(assessed, sandbox, grants)) return run;
  if (policy === "never") return { do: "refuse", message: `Not run: it would need approval (${why}), and nobody is asked here (approval policy "never"). Find a way that needs none, or say what the user has to do.` };
  return { do: "ask", sandbox, why };
}

function reasonToAsk({ rule, ruleWhy, safe, outside }: Assessment, { leaves, policy }: { leaves: boolean; policy: ApprovalPolicy }): string | null {
  if (rule === "ask") return ruleWhy ?? "a rule of the configuration says to ask";
  if (leaves) return `it would run outside the sandbox: ${outside}`;
  if (rule !== "allow" && policy === "untrusted" && !safe) return "it is not known to be safe";
  return null;
}

/** What a grant holds in the log. */
export interface GrantPattern {
  keys: readonly string[];
  sandbox: SandboxMode;
  text: string;
  /** Given when the sandbox had stood in the way. */
  outside?: true;
}

function isGranted({ grant }: Assessment, sandbox: SandboxMode, grants: ThreadPart["grants"]): boolean {
  if (!grant || grant.keys.length === 0) return false;
  const patterns = grants.map(({ pattern }) => asPattern(pattern)).filter((pattern) => pattern !== null && isWithin(sandbox, pattern.sandbox));
  return grant.keys.every((key) => patterns.some((pattern) => pattern!.keys.includes(key)));
}

export function asPattern(pattern: Json): GrantPattern | null {
  if (typeof pattern !== "object" || pattern === null || Array.isArray(pattern)) return null;
  const { keys, sandbox, text, outside } = pattern as Record<string, Json>;
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === "string") || !isMode(sandbox)) return null;
  return { keys: keys as string[], sandbox, text: typeof text === "string" ? text : keys.join(", "), ...(outside === true ? { outside } : {}) };
}

const MODES: readonly SandboxMode[] = ["read-only", "workspace-write", "danger-full-access"];
const POLICIES: readonly ApprovalPolicy[] = ["untrusted", "on-request", "on-failure", "never"];

function isMode(value: Json | undefined): value is SandboxMode {
  return (MODES as readonly unknown[]).includes(value);
}
function isWithin(mode: SandboxMode, bound: SandboxMode): boolean {
  return MODES.indexOf(mode) <= MODES.indexOf(bound);
}

/** The bounds of a call: those of its turn, or what was narrowed since. What was widened counts from the next turn. */
export function boundsOf(turn: Settings, now: Settings): Bounds {
  return {
    sandbox_mode: isWithin(now.sandbox_mode, turn.sandbox_mode) ? now.sandbox_mode : turn.sandbox_mode,
    approval_policy: POLICIES[Math.min(POLICIES.indexOf(now.approval_policy), POLICIES.indexOf(turn.approval_policy))] ?? "untrusted",
  };
}

/** The body of an ask, as clients show it. */
export interface ApprovalBody {
  shown: Shown;
  why: string;
  /** Where it would run. */
  sandbox: SandboxMode;
  /** What "for this session" would allow; null: it can be allowed once only. */
  grant: GrantPattern | null;
  expires: string;
  /** Of an escalation: what the sandbox kept the call from, and how it ended there. */
  denied?: { what: string; path?: string };
  outcome?: Json;
}

const EXPIRES = "when this process closes the thread, or when it is revoked";

export function approvalBody({ assessed, sandbox, why }: { assessed: Assessment; sandbox: SandboxMode; why: string }): ApprovalBody {
  const { shown, grant } = assessed;
  return { shown, why, sandbox, grant: grant && { ...grant, sandbox }, expires: EXPIRES };
}

/** What an ask offers to allow for the session. */
export function grantOffered(body: Json): Json | null {
  const { grant, denied } = (body ?? {}) as { grant?: Json; denied?: Json };
  if (grant === undefined || !asPattern(grant)) return null;
  return denied === undefined ? grant : { ...(grant as object), outside: true };
}

/** `absent`: nobody was there to be asked. */
export type Answer = { decision: "yes" | "session" | "no"; reason: string | null; absent: boolean };

/** Only an outright yes is one. */
export function answerOf(answer: Json): Answer {
  const fields = typeof answer === "object" && answer !== null && !Array.isArray(answer) ? (answer as Record<string, Json>) : { decision: answer };
  const { decision, reason, absent } = fields as { decision?: Json; reason?: Json; absent?: Json };
  return { decision: decision === "yes" || decision === "session" ? decision : "no", reason: typeof reason === "string" && reason.trim() !== "" ? reason : null, absent: absent === true };
}
