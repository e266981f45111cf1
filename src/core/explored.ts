/**
 * Explored: consecutive calls that only look, as one group for people. A call of a tool that reads, lists or searches is one, and so is
 * a command whose actions were recorded. Pure, for every front end.
 */
import type { Action } from "../protocol/record.ts";

export interface LookedAt {
  tool: string;
  arguments: unknown;
  /** As recorded with the call. */
  actions?: readonly Action[];
}

/** Calls `from` to `to`, exclusive. `actions` null: one call that does more than look. */
export interface Group {
  from: number;
  to: number;
  actions: Action[] | null;
}

export function explored(calls: readonly LookedAt[]): Group[] {
  const groups: Group[] = [];
  for (const [index, call] of calls.entries()) {
    const actions = actionsOfCall(call);
    const last = groups.at(-1);
    if (actions !== null && last?.actions) {
      last.actions.push(...actions.filter((action) => !last.actions!.some((other) => same(other, action))));
      last.to = index + 1;
    } else {
      groups.push({ from: index, to: index + 1, actions: actions && actions.filter((action, at) => actions.findIndex((other) => same(other, action)) === at) });
    }
  }
  return groups;
}

function actionsOfCall({ tool, arguments: given, actions }: LookedAt): Action[] | null {
  if (actions && actions.length > 0) return [...actions];
  const input = (typeof given === "object" && given !== null ? given : {}) as Readonly<Record<string, unknown>>;
  const text = (...names: string[]): string | null => names.map((name) => input[name]).find((value): value is string => typeof value === "string" && value !== "") ?? null;
  const path = text("path", "file_path", "dir_path");
  const query = text("pattern", "query");
  switch (tool) {
    case "read_file":
      return path === null ? null : [{ type: "read", path }];
    case "list_dir":
      return [{ type: "list", path: path ?? "." }];
    case "grep":
      return query === null ? null : [{ type: "search", query, path: path ?? "." }];
    case "glob":
      return query === null ? null : [{ type: "list", path: path === null ? query : `${path.replace(/\/$/u, "")}/${query}` }];
    default:
      return null;
  }
}

function same(one: Action, other: Action): boolean {
  return one.type === other.type && one.path === other.path && (one.type !== "search" || other.type !== "search" || one.query === other.query);
}
