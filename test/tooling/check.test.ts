// Each step of `npm run check` passes on a clean tree and fails, naming the file, on a planted violation.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Files, REPOSITORY, node, plant } from "./planted.ts";

const CONFIGURATION = ["tsconfig.json", "tsconfig.pure.json", "pure-globals.d.ts", ".oxlintrc.json", "knip.json"];

const CLEAN: Files = {
  "package.json": JSON.stringify({ name: "planted", private: true, type: "module", dependencies: { "smol-toml": "1" } }),
  "src/protocol/item.ts": "export type Item = { text: string };\n",
  "src/core/reduce.ts": 'import type { Item } from "../protocol/item.ts";\n\nexport const reduce = (item: Item): string => item.text;\n',
  "src/runtime/session.ts": 'import { reduce } from "../core/reduce.ts";\n\nexport const session = (): string => reduce({ text: "" });\n',
  "src/config/load.ts": 'import { parse } from "smol-toml";\n\nexport const load = (text: string): unknown => parse(text);\n',
  "src/main.ts":
    'import { load } from "./config/load.ts";\nimport { session } from "./runtime/session.ts";\n\nexport const main = (): unknown => [load(""), session()];\n',
};

type Violation = { what: string; step: string; files: Files; says: string[] };

const VIOLATIONS: Violation[] = [
  {
    what: "a type error",
    step: "types",
    files: { "src/config/load.ts": 'import { parse } from "smol-toml";\n\nexport const load = (text: number): unknown => parse(text);\n' },
    says: ["src/config/load.ts(3,"],
  },
  {
    what: "a Node global in core",
    step: "types",
    files: { "src/core/reduce.ts": "export const reduce = (item: { text: string }): string => item.text + process.cwd();\n" },
    says: ["src/core/reduce.ts(1,", "process"],
  },
  {
    what: "a lint error",
    step: "lint",
    files: { "src/config/load.ts": 'import { parse } from "smol-toml";\n\nexport const load = (text: string): unknown => {\n  debugger;\n  return parse(text);\n};\n' },
    says: ["src/config/load.ts:4:", "no-debugger"],
  },
  {
    what: "a promise that nobody waits for",
    step: "lint",
    files: { "src/config/load.ts": "const later = async (): Promise<void> => {};\n\nexport const load = (): void => {\n  later();\n};\n" },
    says: ["src/config/load.ts:4:", "no-floating-promises"],
  },
  {
    what: "a clock in core",
    step: "lint",
    files: { "src/core/reduce.ts": "export const reduce = (item: { text: string }): string => item.text + Date.now();\n" },
    says: ["src/core/reduce.ts:1:", "no clock"],
  },
  {
    what: "an import against the arrows",
    step: "layers",
    files: { "src/core/decide.ts": 'import { session } from "../runtime/session.ts";\n\nexport const decide = session;\n' },
    says: ["src/core/decide.ts:1 imports runtime/session.ts — core may import: protocol"],
  },
  {
    what: "every other way to write an import against the arrows",
    step: "layers",
    files: {
      "src/core/a.ts": 'import type { Session } from "../runtime/session.ts";\n',
      "src/core/b.ts": 'export type { Session } from "../runtime/session.ts";\n',
      "src/core/c.ts": '\nexport type Session = typeof import("../runtime/session.ts");\n',
      "src/core/d.ts": 'export const session = () => import("../runtime/session.ts");\n',
      "src/core/e.ts": 'export * from "../runtime/session.js";\n',
      "src/core/f.ts": 'import "../runtime/session.ts";\n',
      "src/core/g.ts": '/// <reference path="../runtime/session.ts" />\n',
      "src/core/h.ts": "export const session = (name: string) => import(name);\n",
    },
    says: [
      "src/core/a.ts:1 imports runtime/session.ts — core may import: protocol",
      "src/core/b.ts:1 imports runtime/session.ts — core may import: protocol",
      "src/core/c.ts:2 imports runtime/session.ts — core may import: protocol",
      "src/core/d.ts:1 imports runtime/session.ts — core may import: protocol",
      "src/core/e.ts:1 imports runtime/session.ts — core may import: protocol",
      "src/core/f.ts:1 imports runtime/session.ts — core may import: protocol",
      "src/core/g.ts:1 imports runtime/session.ts — core may import: protocol",
      "src/core/h.ts:1 imports a computed name",
    ],
  },
  {
    what: "a front end that reaches behind the client, and an import of main.ts",
    step: "layers",
    files: {
      "src/cli/run.ts": 'import "../stores/memory.ts";\nimport "../config/load.ts";\nimport "../main.ts";\n',
      "src/stores/memory.ts": 'import "../../package.json";\nimport "skein/protocol";\n',
    },
    says: [
      "src/cli/run.ts:1 imports stores/memory.ts — cli may import: client, core, protocol",
      "src/cli/run.ts:2 imports config/load.ts — cli may import: client, core, protocol",
      "src/cli/run.ts:3 imports main.ts — nothing imports main.ts",
      "src/stores/memory.ts:1 imports package.json — sources import only from src/",
      "src/stores/memory.ts:2 imports skein/protocol — inside src, import by relative path",
    ],
  },
  {
    what: "a folder without a place in the layers",
    step: "layers",
    files: { "src/helpers/strings.ts": "export {};\n" },
    says: ["src/helpers/strings.ts: src/helpers has no place in the layers"],
  },
  {
    what: "Node modules and packages in protocol and core",
    step: "layers",
    files: {
      "src/core/a.ts": 'import "node:fs";\nimport "path";\nimport type { Stats } from "fs";\n',
      "src/core/b.ts": '/// <reference types="node" />\n',
      "src/protocol/item.ts": 'import "node:crypto";\nimport "zod";\n',
    },
    says: [
      "src/core/a.ts:1 imports node:fs — core is pure",
      "src/core/a.ts:2 imports path — core is pure",
      "src/core/a.ts:3 imports fs — core is pure",
      "src/core/b.ts:1 imports the package node — core is pure",
      "src/protocol/item.ts:1 imports node:crypto — protocol runs anywhere",
      "src/protocol/item.ts:2 imports the package zod — protocol runs anywhere",
    ],
  },
  {
    what: "the file system in runtime",
    step: "layers",
    files: { "src/runtime/session.ts": 'import "node:fs";\nimport "fs";\nimport "node:fs/promises";\nimport "node:path";\n' },
    says: ["src/runtime/session.ts:1 imports node:fs — runtime", "src/runtime/session.ts:2 imports fs — runtime", "src/runtime/session.ts:3 imports node:fs/promises — runtime"],
  },
  {
    what: "a cycle, closed by a type import",
    step: "cycles",
    files: {
      "src/core/a.ts": 'import { b } from "./b.ts";\n\nexport type A = string;\nexport const a = b;\n',
      "src/core/b.ts": 'import { c } from "./c.ts";\n\nexport const b = c;\n',
      "src/core/c.ts": 'import type { A } from "./a.ts";\n\nexport const c: A = "";\n',
    },
    says: ["import cycle: src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts\n"],
  },
  {
    what: "an unused export",
    step: "unused",
    files: { "src/protocol/item.ts": "export type Item = { text: string };\nexport const forgotten = 1;\n" },
    says: ["forgotten", "src/protocol/item.ts"],
  },
  {
    what: "an unused file",
    step: "unused",
    files: { "src/protocol/op.ts": "export type Op = string;\n" },
    says: ["src/protocol/op.ts"],
  },
  {
    what: "an unused dependency",
    step: "unused",
    files: { "package.json": JSON.stringify({ name: "planted", private: true, type: "module", dependencies: { "smol-toml": "1", zod: "4" } }) },
    says: ["zod", "package.json"],
  },
];

function check(root: string, ...steps: string[]) {
  return node([join(REPOSITORY, "scripts", "check.mjs"), "--root", root, ...steps]);
}

describe.concurrent("npm run check", { timeout: 120_000 }, () => {
  it("passes on a clean tree, every step", async () => {
    const { code, stdout } = await check(plant({ parts: CONFIGURATION, files: CLEAN }));
    expect({ code, last: stdout.trimEnd().split("\n").at(-1) }, stdout).toEqual({ code: 0, last: "check: 5 passed" });
  });

  for (const { what, step, files, says } of VIOLATIONS) {
    it(`${step} fails on ${what}`, async () => {
      const root = plant({ parts: CONFIGURATION, files: { ...CLEAN, ...files } });
      const { code, stdout } = await check(root, step);
      expect(code, stdout).toBe(1);
      for (const text of [...says, `check: 0 passed, 1 failed (${step})`]) expect(stdout).toContain(text);
    });
  }

  it("refuses a step that does not exist", async () => {
    expect(await check(REPOSITORY, "tpyes")).toEqual({
      code: 2,
      stdout: "",
      stderr: "skein: no check is called tpyes; there are: types, unused, lint, layers, cycles\n",
    });
  });
});
