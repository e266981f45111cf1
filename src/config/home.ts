/** Home: where Skein keeps its things, and what `~` means. */
import { isAbsolute, join, resolve } from "node:path";

/** `SKEIN_HOME`, or `~/.skein`. */
export function homeOf(env: Readonly<Record<string, string | undefined>>, osHomedir: string): string {
  const named = env["SKEIN_HOME"]?.trim() ?? "";
  return named === "" ? join(osHomedir, ".skein") : absolutePath(named, { base: ".", osHomedir });
}

export function absolutePath(path: string, { base, osHomedir }: { base: string; osHomedir: string }): string {
  if (path === "~") return osHomedir;
  if (path.startsWith("~/")) return join(osHomedir, path.slice(2));
  return isAbsolute(path) ? resolve(path) : resolve(base, path);
}
