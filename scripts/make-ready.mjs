// Installs and builds. When two processes find the same work to do, one does it and the other waits and finds it done.
// What it does, it says on stderr.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { isInstalled } from "./install.mjs";
import { withLock } from "./lock.mjs";
import { say } from "./say.mjs";

/** @typedef {import("./bootstrap.mjs").Outcome} Outcome */

/** @param {string} root @returns {Promise<Outcome>} */
export function install(root) {
  return withCheckoutLock(root, () => (isInstalled(root) ? { ok: true } : npmCi(root)));
}

/** The build script takes the lock itself and does nothing if dist/ has become fresh. @param {string} root @returns {Outcome} */
export function build(root) {
  const { status } = spawnSync(process.execPath, [join(root, "scripts", "build.mjs")], { cwd: root, stdio: ["ignore", 2, 2] });
  if (status === 0) return { ok: true };
  return { ok: false, message: `The build failed, as said above; an older build in dist/ is untouched. Correct the sources in ${root}/src and run this again.` };
}

/**
 * Held by whoever changes node_modules/ or dist/.
 * @template T
 * @param {string} root
 * @param {() => T | Promise<T>} action
 */
export function withCheckoutLock(root, action) {
  const onWait = (/** @type {number} */ pid) => say(`waiting for process ${pid}, which is installing or building here`);
  return withLock({ path: join(root, ".bootstrap-lock"), onWait }, action);
}

/** @param {string} root @returns {Outcome} */
function npmCi(root) {
  say("installing dependencies (npm ci), because node_modules does not match package-lock.json");
  const quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--no-progress"];
  const { status, error } = spawnSync("npm", ["ci", "--include=dev", "--ignore-scripts", ...quiet], { cwd: root, stdio: ["ignore", 2, 2] });
  if (status === 0 && isInstalled(root)) return { ok: true };
  const what = error === undefined ? `npm ci ended with code ${status}` : `npm could not be started (${error.message})`;
  return { ok: false, message: `${what}, so the dependencies are not installed. Look at npm's message above, check the network and the registry, then run: cd ${root} && npm ci` };
}
