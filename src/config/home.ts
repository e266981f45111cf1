/** Home: where Skein keeps its things, and what `~` means. It is never found relative to the folder that one happens to be in. */
import { realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

export type Home = { ok: true; home: string } | { ok: false; message: string };

/** `SKEIN_HOME`, or `~/.skein`. */
export function homeOf(env: Env, user = userHome(env)): Home {
  const named = env["SKEIN_HOME"]?.trim() ?? "";
  if (user === "" && !isAbsolute(named)) return { ok: false, message: "There is no home folder: set HOME, or set SKEIN_HOME to the folder where threads are kept." };
  if (named !== "" && named !== "~" && !named.startsWith("~/") && !isAbsolute(named)) return { ok: false, message: `SKEIN_HOME is "${named}": give the whole path, from / or ~/ on.` };
  const home = named === "" ? join(user, ".skein") : absolutePath(named, { base: "/", osHomedir: user });
  if (isOther(home)) return { ok: false, message: `${home}, where threads are kept, is not a folder: move it away, or set SKEIN_HOME to another place.` };
  return { ok: true, home };
}

/** HOME, or what the system has on its user; empty when it has nothing. */
export function userHome(env: Env): string {
  const named = env["HOME"] ?? "";
  if (isAbsolute(named)) return named;
  try {
    return userInfo().homedir;
  } catch {
    return "";
  }
}

function isOther(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
}

export function absolutePath(path: string, { base, osHomedir }: { base: string; osHomedir: string }): string {
  if (path === "~") return osHomedir;
  if (path.startsWith("~/")) return join(osHomedir, path.slice(2));
  return isAbsolute(path) ? resolve(path) : resolve(base, path);
}

/** The real path, or the path itself where there is none. */
export function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
