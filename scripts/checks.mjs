// The steps of `npm run check`, each a few commands that must all succeed.
//
// As many commands run at once as there are cores; each step reports when all of its commands have ended.

import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { REPOSITORY } from "./root-argument.mjs";

/** @typedef {{ name: string, ok: boolean, output: string, ms: number }} StepResult */

/** Slowest first, so that the short ones fill the gaps. @type {Record<string, (root: string) => string[][]>} */
const STEPS = {
  types: () => [
    ["tsc", "--project", "tsconfig.json", "--pretty", "false"],
    ["tsc", "--project", "tsconfig.pure.json", "--pretty", "false"],
  ],
  unused: () => [["knip", "--no-progress", "--no-config-hints"]],
  lint: () => [["oxlint", "--type-aware", "--deny-warnings", "--report-unused-disable-directives", "--format=agent", "."]],
  layers: (root) => [[process.execPath, join(REPOSITORY, "scripts", "check-layers.mjs"), root]],
  cycles: (root) => [[process.execPath, join(REPOSITORY, "scripts", "check-cycles.mjs"), root]],
};

export const STEP_NAMES = Object.keys(STEPS);

/**
 * @param {{ root: string, names: string[], onResult: (result: StepResult) => void }} options
 * @returns {Promise<StepResult[]>}
 */
export async function runChecks({ root, names, onResult }) {
  const slots = new Slots(availableParallelism());
  return Promise.all(
    names.map(async (name) => {
      const started = performance.now();
      const commands = (STEPS[name] ?? unknownStep(name))(root);
      const runs = await Promise.all(commands.map((command) => slots.use(() => runCommand(root, command))));
      const result = {
        name,
        ok: runs.every(({ code }) => code === 0),
        output: runs.map(({ code, output }) => (code === 0 ? "" : output)).join(""),
        ms: performance.now() - started,
      };
      onResult(result);
      return result;
    }),
  );
}

/** @param {StepResult} result */
export function describeResult({ name, ok, output, ms }) {
  return `── ${name}: ${ok ? "ok" : "FAILED"} (${(ms / 1000).toFixed(1)} s)\n${output}`;
}

/** @param {string} name @returns {never} */
function unknownStep(name) {
  throw new Error(`There is no check called "${name}"; there are: ${STEP_NAMES.join(", ")}`);
}

/** @param {string} root @param {string[]} command @returns {Promise<{ code: number, output: string }>} */
function runCommand(root, [program = "", ...args]) {
  return new Promise((resolve) => {
    const PATH = `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH}`;
    const child = spawn(program, args, { cwd: root, env: { ...process.env, PATH }, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", (error) => resolve({ code: 1, output: `${program}: ${error.message}\n` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** Lets so many run at once; the others wait in order. */
class Slots {
  #free;
  /** @type {(() => void)[]} */
  #waiting = [];

  /** @param {number} free */
  constructor(free) {
    this.#free = free;
  }

  /** @template T @param {() => Promise<T>} action */
  async use(action) {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
    try {
      return await action();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
