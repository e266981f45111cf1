/** Ground: the files that a patch meets, as they are on disk. It only reads. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readlinkSync, type BigIntStats } from "node:fs";
import { basename, dirname } from "node:path";
import { openAnchored, type Anchored } from "../files/anchored.ts";
import type { Bounds } from "../files/bounds.ts";
import { codeOf, realPath, realPlace, reason } from "../files/real.ts";
import type { View } from "../files/view.ts";

/** What is at a place. `stamp` changes when the file does. */
export type Seen =
  | { kind: "absent" }
  | { kind: "file"; bytes: Buffer; mode: number; uid: number; gid: number; stamp: string }
  | { kind: "symlink"; target: string; stamp: string }
  | { kind: "unusable"; why: string };

export type Located = { ok: true; real: string } | { ok: false; why: string };

export interface Ground {
  /** The real path: of the file that a link leads to, or of the link itself. Found once, so that what is checked is what is used. */
  locate(path: string, what: "target" | "link"): Located;
  /** Whether the model may know what is there. */
  sees(real: string): boolean;
  look(real: string): Seen;
}

/** Larger files are not for patches: they are read, matched and kept as a whole. */
const MOST_BYTES = 10 * 1024 * 1024;

export function createGround({ view, bounds, platform }: { view: View; bounds: Bounds; platform: NodeJS.Platform }): Ground {
  const known = new Map<string, Located>();
  return {
    locate(path, what) {
      const key = `${what} ${path}`;
      const located = known.get(key) ?? find(view.absolute(path), what);
      known.set(key, located);
      return located;
    },
    sees: view.sees,
    look(real) {
      try {
        const folder = openAnchored({ folder: dirname(real), anchor: bounds.anchor(real), platform });
        try {
          return lookAt(folder, basename(real));
        } finally {
          folder.close();
        }
      } catch (error) {
        return codeOf(error) === "ENOENT" ? { kind: "absent" } : { kind: "unusable", why: reason(error) };
      }
    },
  };
}

function find(path: string, what: "target" | "link"): Located {
  const real = what === "target" ? realPath(path) : realPlace(path);
  return real.ok ? { ok: true, real: real.path } : real;
}

function lookAt(folder: Anchored, name: string): Seen {
  const path = folder.at(name);
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stat) return { kind: "absent" };
  if (stat.isSymbolicLink()) return { kind: "symlink", target: readlinkSync(path), stamp: stampOf(stat) };
  if (stat.isDirectory()) return { kind: "unusable", why: "is a folder" };
  if (!stat.isFile()) return { kind: "unusable", why: "is not a file but a device, pipe or socket" };
  if (stat.size > MOST_BYTES) return { kind: "unusable", why: `is ${stat.size} bytes long, more than the ${MOST_BYTES} that a patch handles; use a command` };
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { mode, uid, gid } = fstatSync(descriptor);
    return { kind: "file", bytes: readFileSync(descriptor), mode: mode & 0o7777, uid, gid, stamp: stampOf(stat) };
  } finally {
    closeSync(descriptor);
  }
}

/** Of what is there now; null: nothing. */
export function stampAt(path: string): string | null {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? stampOf(stat) : null;
}

function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}
