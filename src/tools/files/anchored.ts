/**
 * Anchored: a folder to work in that cannot become another one meanwhile.
 *
 * Between looking at a path and using it, a command may put a link in its way. So on Linux the way is walked part by part from a folder
 * that no command can move, without following any link, and what is then done goes through the descriptor of the last one:
 * `/proc/self/fd/N/name`. Elsewhere the real path is looked up again right before, which leaves a moment open.
 */
import { closeSync, constants, mkdirSync, openSync, realpathSync, rmdirSync } from "node:fs";
import { join, relative } from "node:path";
import { codeOf } from "./real.ts";

export interface Anchored {
  /** The path by which a name in this folder is used. */
  at(name: string): string;
  /** The folders that had to be made, outermost first, as paths that last until it is closed. */
  readonly made: readonly string[];
  close(): void;
}

interface Wanted {
  /** The real path of the folder, at or below `anchor`. */
  folder: string;
  anchor: string;
  platform: NodeJS.Platform;
  /** Make folders that are missing. Those are removed again if the way ends. */
  make?: boolean;
}

/** Opens a place, not what is in it: no permission to read is needed. Node has no name for it. */
const O_PATH = 0o10000000;

/** Throws what the file system says: ENOENT when a folder is missing, ENOTDIR when one is a link or a file. */
export function openAnchored({ folder, anchor, platform, make = false }: Wanted): Anchored {
  const way = platform === "linux" ? byDescriptor(anchor) : byPath(anchor);
  const made: string[] = [];
  try {
    for (const part of relative(anchor, folder).split("/").filter((each) => each !== "")) {
      if (make && makeFolder(way.at(part))) made.push(way.at(part));
      way.enter(part);
    }
  } catch (error) {
    for (const path of made.toReversed()) rmdirSync(path);
    way.close();
    throw error;
  }
  return { at: way.at, made, close: way.close };
}

interface Way {
  at(name: string): string;
  enter(name: string): void;
  close(): void;
}

function byDescriptor(anchor: string): Way {
  const flags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const open = [openSync(anchor, flags)];
  const at = (name: string): string => `/proc/self/fd/${open.at(-1)}/${name}`;
  return {
    at,
    enter: (name) => void open.push(openSync(at(name), flags)),
    close: () => open.splice(0).forEach((descriptor) => closeSync(descriptor)),
  };
}

function byPath(anchor: string): Way {
  let path = anchor;
  return {
    at: (name) => join(path, name),
    enter(name) {
      path = join(path, name);
      if (realpathSync.native(path) !== path) throw Object.assign(new Error(`${path} is a link`), { code: "ENOTDIR" });
    },
    close: () => {},
  };
}

function makeFolder(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}
