/** Roots: `writable_roots` that no sandbox can be given are refused here, with their place, not by every command that is run. */
import type { Origin, Problem } from "./config.ts";
import { realOrSame } from "./home.ts";
import { quoted } from "./keys.ts";

export const ROOTS = "sandbox_workspace_write.writable_roots";
const SYSTEM = ["/proc", "/sys", "/dev"];

interface Homes {
  /** Skein's own. */
  home: string;
  /** The user's. */
  user: string;
}

export function checkRoots({ roots, origin }: { roots: readonly string[]; origin: Origin }, { home, user }: Homes): Problem[] {
  return roots.flatMap((root): Problem[] => {
    const place = realOrSame(root);
    const say = (severity: Problem["severity"], text: string): Problem[] => [{ severity, at: origin, text: `${quoted(root)} of writable_roots ${text}` }];
    if (place === "/") return say("error", "is the whole file system, which no sandbox can be given. Name the folders that are meant.");
    if (SYSTEM.some((system) => isWithin(place, system))) return say("error", "belongs to the system and cannot be made writable in a sandbox.");
    if (isWithin(place, realOrSame(home))) return say("error", "is Skein's own home, which stays protected. Name another folder.");
    if (user !== "" && isWithin(realOrSame(user), place)) return say("warning", "holds your whole home: commands may write your keys and what your shell reads when it starts. Name the folders that are meant.");
    if (isWithin(realOrSame(home), place)) return say("warning", "holds Skein's own home, which stays protected; everything else in it can be written.");
    return [];
  });
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);
}
