import { describe, expect, it } from "vitest";
import { explored } from "../../../src/core/explored.ts";
import { assess } from "./given.ts";

const actionsOf = async (command: string) => (await assess(command, { cwd: "/nowhere" })).actions ?? [];

describe("actions of a command", () => {
  it.each([
    ["cat a b", [{ type: "read", path: "a" }, { type: "read", path: "b" }]],
    ["head -n 5 a", [{ type: "read", path: "a" }]],
    ["tail -5 a", [{ type: "read", path: "a" }]],
    ["nl -ba a | sed -n 1,5p", [{ type: "read", path: "a" }]],
    ["sed -n 1,20p src/a.ts", [{ type: "read", path: "src/a.ts" }]],
    ["ls", [{ type: "list", path: "." }]],
    ["ls -la src", [{ type: "list", path: "src" }]],
    ["find src test -name '*.ts' | head", [{ type: "list", path: "src" }, { type: "list", path: "test" }]],
    ["find -name x", [{ type: "list", path: "." }]],
    ["rg --files -g '*.ts' src | wc -l", [{ type: "list", path: "src" }]],
    ["git ls-files src", [{ type: "list", path: "src" }]],
    ["tree -L 2 src", [{ type: "list", path: "src" }]],
    ["fd foo src", [{ type: "list", path: "src" }]],
    ["rg -n foo", [{ type: "search", query: "foo", path: "." }]],
    ["rg -n -C 3 'a b' src test", [{ type: "search", query: "a b", path: "src" }, { type: "search", query: "a b", path: "test" }]],
    ["grep -rn -e foo src | sort | uniq", [{ type: "search", query: "foo", path: "src" }]],
    ["git grep foo", [{ type: "search", query: "foo", path: "." }]],
    ["cd src && cat a && rg x", [{ type: "read", path: "a" }, { type: "search", query: "x", path: "." }]],
    ["bash -lc 'cat a | head'", [{ type: "read", path: "a" }]],
  ])("%j are %j", async (command, actions) => {
    expect(await actionsOf(command)).toEqual(actions);
  });

  it.each(["cat a; rm b", "cat a > b", "git status", "cat a && git log", "cat", "npm test", "cat $x", "wc -l a", "echo hi", "sed -i s/a/b/ x", "cat a | sh"])("%j has none", async (command) => {
    expect(await actionsOf(command)).toEqual([]);
  });
});

describe("explored", () => {
  it("joins consecutive calls that look, and says each thing once", () => {
    const calls = [
      { tool: "read_file", arguments: { path: "a" } },
      { tool: "exec_command", arguments: { cmd: "cat a b" }, actions: [{ type: "read", path: "a" }, { type: "read", path: "b" }] as const },
      { tool: "list_dir", arguments: {} },
      { tool: "exec_command", arguments: { cmd: "make" } },
      { tool: "grep", arguments: { pattern: "x", path: "src" } },
      { tool: "grep", arguments: { pattern: "y" } },
      { tool: "glob", arguments: { pattern: "*.ts", path: "src/" } },
      { tool: "apply_patch", arguments: { input: "" } },
      { tool: "read_file", arguments: { file_path: "a" } },
      { tool: "read_file", arguments: "not an object" },
    ];
    expect(explored(calls)).toEqual([
      { from: 0, to: 3, actions: [{ type: "read", path: "a" }, { type: "read", path: "b" }, { type: "list", path: "." }] },
      { from: 3, to: 4, actions: null },
      { from: 4, to: 7, actions: [{ type: "search", query: "x", path: "src" }, { type: "search", query: "y", path: "." }, { type: "list", path: "src/*.ts" }] },
      { from: 7, to: 8, actions: null },
      { from: 8, to: 9, actions: [{ type: "read", path: "a" }] },
      { from: 9, to: 10, actions: null },
    ]);
    expect(explored([])).toEqual([]);
  });
});
