import { expect, it } from "vitest";
import type { Json } from "../../src/protocol/json.ts";
import type { ApprovalPolicy, SandboxMode } from "../../src/protocol/record.ts";
import { answerOf, boundsOf, grantOffered, judge, type Verdict } from "../../src/core/approval.ts";
import type { Assessment } from "../../src/core/tool.ts";
import { SETTINGS } from "./given.ts";

const command: Assessment = { safe: false, rule: null, outside: null, shown: { kind: "command", command: "make", cwd: "/" }, grant: { keys: ["make"], text: "make" } };
const what = (verdict: Verdict): string => (verdict.do === "refuse" ? "refuse" : `${verdict.do} ${verdict.sandbox}`);
const bounds = (approval_policy: ApprovalPolicy, sandbox_mode: SandboxMode = "workspace-write") => ({ approval_policy, sandbox_mode });
const grant = (keys: string[], sandbox: SandboxMode) => ({ grant: "g", epoch: 1, pattern: { keys, sandbox, text: "" } as unknown as Json });

it.each<[string, Partial<Assessment>, ApprovalPolicy, SandboxMode, string]>([
  ["anything, inside the sandbox", {}, "on-request", "workspace-write", "run workspace-write"],
  ["anything, inside the sandbox", {}, "on-failure", "read-only", "run read-only"],
  ["anything, inside the sandbox", {}, "never", "workspace-write", "run workspace-write"],
  ["what is not known to be safe", {}, "untrusted", "read-only", "ask read-only"],
  ["what is known to be safe", { safe: true }, "untrusted", "read-only", "run read-only"],
  ["what is not known to be safe, without a sandbox", {}, "untrusted", "danger-full-access", "ask danger-full-access"],
  ["what must leave the sandbox", { outside: "it needs the network" }, "on-request", "read-only", "ask danger-full-access"],
  ["what must leave the sandbox", { outside: "it needs the network", safe: true }, "untrusted", "read-only", "ask danger-full-access"],
  ["what must leave the sandbox, where nobody is asked", { outside: "x" }, "never", "workspace-write", "refuse"],
  ["what would leave a sandbox that is not there", { outside: "x" }, "never", "danger-full-access", "run danger-full-access"],
  ["what a rule allows", { rule: "allow" }, "untrusted", "read-only", "run read-only"],
  ["what a rule allows, outside", { rule: "allow", outside: "x" }, "never", "read-only", "refuse"],
  ["what a rule allows, outside", { rule: "allow", outside: "x" }, "on-request", "read-only", "ask danger-full-access"],
  ["what a rule says to ask about", { rule: "ask", safe: true }, "on-failure", "workspace-write", "ask workspace-write"],
  ["what a rule says to ask about, where nobody is asked", { rule: "ask", safe: true }, "never", "danger-full-access", "refuse"],
  ["what a rule denies", { rule: "deny", safe: true }, "never", "danger-full-access", "refuse"],
  ["what a rule denies", { rule: "deny", safe: true }, "untrusted", "read-only", "refuse"],
])("%s %j under %s in %s: %s", (_what, more, policy, mode, verdict) => {
  expect(what(judge({ ...command, ...more }, bounds(policy, mode), []))).toBe(verdict);
});

it("a grant covers what it was given for: each key, and no wider bounds", () => {
  const asked = (given: { keys: string[]; outside?: string | null; rule?: "deny" | "ask" }, held: ReturnType<typeof grant>[]) =>
    what(judge({ ...command, rule: given.rule ?? null, outside: given.outside ?? null, grant: { keys: given.keys, text: "" } }, bounds("untrusted", "read-only"), held));
  expect([
    asked({ keys: ["a"] }, [grant(["a"], "read-only")]),
    asked({ keys: ["a", "b"] }, [grant(["a"], "read-only")]),
    asked({ keys: ["a", "b"] }, [grant(["a"], "read-only"), grant(["b"], "danger-full-access")]),
    asked({ keys: ["a"], outside: "x" }, [grant(["a"], "read-only")]),
    asked({ keys: ["a"], outside: "x" }, [grant(["a"], "danger-full-access")]),
    asked({ keys: ["a"], rule: "ask" }, [grant(["a"], "read-only")]),
    asked({ keys: ["a"], rule: "deny" }, [grant(["a"], "danger-full-access")]),
    asked({ keys: [] }, [grant([], "danger-full-access")]),
  ]).toEqual(["run read-only", "ask read-only", "run read-only", "ask danger-full-access", "run danger-full-access", "run read-only", "refuse", "ask read-only"]);
});

it("what was allowed outside after a denial runs there at once; what was allowed where there was no sandbox stays in one that came later", () => {
  const given = grantOffered({ grant: { keys: ["make"], sandbox: "danger-full-access", text: "" }, denied: { what: "x" } });
  const escalated = [{ grant: "g", epoch: 1, pattern: given! }];
  const run = (more: Partial<Assessment>, held: ReturnType<typeof grant>[]) => what(judge({ ...command, ...more }, bounds("on-request", "read-only"), held));
  expect([run({}, escalated), run({ grant: { keys: ["make", "x"], text: "" } }, escalated), run({ rule: "deny" }, escalated), run({}, [grant(["make"], "danger-full-access")])]).toEqual(["run danger-full-access", "run read-only", "refuse", "run read-only"]);
});

it("says why it asks: the rule, or what makes a rule count that does not name it", () => {
  const why = (more: Partial<Assessment>) => judge({ ...command, rule: "ask", ...more }, bounds("on-request"), []);
  expect([why({}), why({ ruleWhy: "part of it cannot be read" })]).toEqual([
    { do: "ask", sandbox: "workspace-write", why: "a rule of the configuration says to ask" },
    { do: "ask", sandbox: "workspace-write", why: "part of it cannot be read" },
  ]);
});

it("what cannot be named cannot be granted", () => {
  expect(what(judge({ ...command, grant: null }, bounds("untrusted"), [grant(["make"], "danger-full-access")]))).toBe("ask workspace-write");
});

it("permissions that were narrowed count at once, those that were widened from the next turn", () => {
  const narrow = { ...SETTINGS, sandbox_mode: "read-only" as const, approval_policy: "untrusted" as const };
  const wide = { ...SETTINGS, sandbox_mode: "danger-full-access" as const, approval_policy: "never" as const };
  expect([boundsOf(wide, narrow), boundsOf(narrow, wide)]).toEqual([0, 1].map(() => ({ sandbox_mode: "read-only", approval_policy: "untrusted" })));
});

it("only an outright yes is a yes", () => {
  expect(["yes", { decision: "session" }, { decision: "no", reason: "too risky" }, { decision: "Yes" }, null, 1, [], {}, "approved"].map((answer) => answerOf(answer as Json))).toEqual([
    { decision: "yes", reason: null, absent: false },
    { decision: "session", reason: null, absent: false },
    { decision: "no", reason: "too risky", absent: false },
    ...[3, 4, 5, 6, 7, 8].map(() => ({ decision: "no", reason: null, absent: false })),
  ]);
});
