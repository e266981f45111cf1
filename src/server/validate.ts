/** The shape of each method's params, checked before anything acts on them. Null means fine; otherwise what is wrong. */
import type { Method } from "../protocol/rpc.ts";

type Check = (value: unknown) => boolean;
const string: Check = (value) => typeof value === "string" && value.length <= 10_000;
const thread: Check = (value) => typeof value === "string" && /^[0-9A-Za-z-]{1,64}$/u.test(value);
const integer: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const flag: Check = (value) => typeof value === "boolean";
const object: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const list: Check = (value) => Array.isArray(value) && value.every((each) => typeof each === "string");
const items: Check = (value) => Array.isArray(value) && value.every((each) => object(each) && typeof (each as { type?: unknown }).type === "string");
const source: Check = (value) => value === "interactive" || value === "exec" || value === "app-server" || value === "mcp";
const settings: Check = (value) => object(value) && ["model", "model_provider", "cwd"].every((key) => string((value as Record<string, unknown>)[key]));
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

/** A key ending in `?` may be left out. */
type Shape = Record<string, Check>;

const SHAPES: Record<Method, Shape> = {
  "thread/start": { source, settings, "ephemeral?": flag },
  "thread/resume": { thread },
  "thread/fork": { thread, source, "before?": integer, "nthUserMessage?": integer },
  "thread/close": { thread },
  "thread/find": { prefix: thread },
  "thread/last": { "cwd?": string },
  "thread/list": { "limit?": integer, "cursor?": orNull(string), "source?": list, "provider?": list, "cwd?": string, "archived?": flag, "text?": string },
  "thread/search": { text: string, "wait?": flag, "limit?": integer, "cursor?": orNull(string) },
  "thread/status": { thread },
  "thread/previewCompaction": { thread, "settings?": object },
  "thread/op": { thread, op: object },
  "thread/subscribe": { thread, after: orNull(string) },
  "thread/unsubscribe": { subscription: string },
  "blob/put": { thread, base64: (value) => typeof value === "string" && value.length <= 64 * 1024 * 1024 },
  "recording/read": { source: string },
  "usage/read": { "since?": string, "cwd?": string },
  "owner/release": { thread },
};

const OPS: Record<string, Shape> = {
  user_input: { items, "deliver?": (value) => value === "steer" || value === "next", "output_schema?": object, "replaces?": list },
  change_input: { input: string, items },
  withdraw_input: { input: string },
  interrupt: { "turn?": string },
  continue: {},
  answer: { ask: string, answer: (value) => value !== undefined },
  revoke_grant: { grant: string },
  rewind: { before: integer },
  override_settings: { settings: object },
  describe: { "title?": string, "tags?": list },
  run_user_shell_command: { call: string, command: string },
  compact: { "instructions?": string, "review?": flag },
  restore_history: {},
  undo: {},
  list_skills: {},
};

export function checkParams(method: Method, params: unknown): string | null {
  const problem = checkShape(params, SHAPES[method], "params");
  if (problem || method !== "thread/op") return problem;
  const { op } = params as { op: Record<string, unknown> };
  const type = op["type"];
  if (typeof type !== "string" || !Object.hasOwn(OPS, type)) return `params.op.type must be one of: ${Object.keys(OPS).join(", ")}.`;
  return checkShape(op, { id: (value) => string(value) && value !== "", ...OPS[type] }, "params.op");
}

function checkShape(value: unknown, shape: Shape, name: string): string | null {
  if (!object(value)) return `${name} must be an object.`;
  const fields = value as Record<string, unknown>;
  for (const [key, check] of Object.entries(shape)) {
    const optional = key.endsWith("?");
    const field = optional ? key.slice(0, -1) : key;
    const given = fields[field];
    if (given === undefined ? !optional : !check(given)) return given === undefined ? `${name}.${field} is missing.` : `${name}.${field} is not valid.`;
  }
  return null;
}
