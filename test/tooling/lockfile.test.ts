// `npm ci` works anywhere: the lock file names no host, and knows the packages of every platform, not only of the one it
// was written on (npm leaves out what its registry did not have; npm ci then refuses the file).

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Locked = { resolved?: string; integrity?: string; optionalDependencies?: Record<string, string> };

const packages: Record<string, Locked> = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;

it("names no host and fixes every package by its hash", () => {
  const installed = Object.entries(packages).filter(([path]) => path !== "");
  expect(installed.filter(([, { resolved, integrity }]) => resolved !== undefined || integrity === undefined)).toEqual([]);
});

it("knows the optional packages of every platform", () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => packages[`node_modules/${name}`] === undefined && packages[`${path}/node_modules/${name}`] === undefined),
  );
  expect(missing).toEqual([]);
});
