// Programs that a suite needs from the machine, because npm cannot bring them.
//
// As root on Debian they are installed. Elsewhere nothing is changed: the command that would install them is printed, and
// the suites that need them do not run and are named. Where nothing may be skipped, that is a failure.

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** @typedef {{ program: string, debianPackage: string, suites: string[] }} SystemNeed `suites` as in suites.mjs */

/** @type {SystemNeed[]} */
export const SYSTEM_NEEDS = [
  { program: "bwrap", debianPackage: "bubblewrap", suites: ["tools"] },
  { program: "git", debianPackage: "git", suites: ["tools", "e2e"] },
  { program: "python3", debianPackage: "python3", suites: ["tools"] },
  { program: "perl", debianPackage: "perl", suites: ["tools"] },
  { program: "make", debianPackage: "make", suites: ["tools"] },
  { program: "cc", debianPackage: "gcc", suites: ["tools"] },
];

/**
 * @param {SystemNeed[]} needs
 * @param {{ mayInstall: boolean, say: (line: string) => void }} host
 * @returns {SystemNeed[]} the needs that are still not met
 */
export function meetSystemNeeds(needs, { mayInstall, say }) {
  const missing = needs.filter(({ program }) => !isOnPath(program));
  if (missing.length === 0) return [];
  const packages = missing.map(({ debianPackage }) => debianPackage).join(" ");
  if (mayInstall) {
    say(`installing what the tests need from Debian: ${packages}`);
    aptGet("update");
    aptGet("install", "--yes", "--no-install-recommends", ...packages.split(" "));
  }
  const unmet = missing.filter(({ program }) => !isOnPath(program));
  for (const { program, suites } of unmet) say(`NOT RUN: ${suites.join(", ")}, because ${program} is not on this machine`);
  if (unmet.length > 0) say(`to run everything: sudo apt-get install ${packages} (or your system's equivalent), then npm test`);
  return unmet;
}

export function isRootOnDebian() {
  return process.getuid?.() === 0 && existsSync("/etc/debian_version");
}

/** @param {string[]} args */
function aptGet(...args) {
  spawnSync("apt-get", ["-qq", ...args], { stdio: ["ignore", 2, 2], env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
}

/** @param {string} program */
function isOnPath(program) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
