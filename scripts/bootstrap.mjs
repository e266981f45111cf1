// Makes a checkout ready to run: dependencies as package-lock.json says, dist/ as the sources say.
//
// Imports nothing that an install brings. When nothing is to be done it costs a few milliseconds, loads nothing more and
// writes nothing; the work itself is in make-ready.mjs.

import { isBuiltFrom, listSources } from "./freshness.mjs";
import { isInstalled } from "./install.mjs";

/** @typedef {{ ok: true } | { ok: false, message: string }} Outcome */

/** @param {string} root the checkout, an absolute path without a slash at the end @returns {Promise<Outcome>} */
export async function bootstrap(root) {
  const installed = await ensureInstalled(root);
  if (!installed.ok || isBuiltFrom(root, listSources(root))) return installed;
  const { build } = await import("./make-ready.mjs");
  return build(root);
}

/** @param {string} root @returns {Promise<Outcome>} */
export async function ensureInstalled(root) {
  if (isInstalled(root)) return { ok: true };
  const { install } = await import("./make-ready.mjs");
  return install(root);
}
