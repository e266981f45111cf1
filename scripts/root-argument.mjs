// The tree that a check looks at: the directory named on the command line, else the repository itself.

import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const REPOSITORY = dirname(dirname(fileURLToPath(import.meta.url)));

export function rootArgument() {
  return resolve(process.argv[2] ?? REPOSITORY);
}
