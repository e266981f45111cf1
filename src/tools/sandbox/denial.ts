/**
 * Denial: did the sandbox stand in a command's way, and where? Read from what the command said, in the words of many programs, and then
 * checked: a path counts when the sandbox does not let it be written and its user could write it outside; the network, when the
 * sandbox had none. What a program says of its own accord, with exit code 0, counts only from a shell, which goes on after a failed line.
 *
 * Read-only mounts say EROFS. EACCES and EPERM are what Seatbelt says and, under bubblewrap, what masked files say; a shell says them of
 * files that are no programs, so there they do not count.
 */
import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { SandboxMode } from "../../protocol/record.ts";
import { isInside } from "./bwrap.ts";
import { PROTECTED_NAMES } from "./protected.ts";

export interface Ran {
  text: string;
  /** Null: it was ended. */
  exit: number | null;
  sandbox: SandboxMode;
  platform: NodeJS.Platform;
  cwd: string;
  workdir: string;
  home: string;
  writableRoots: readonly string[];
  network: boolean;
}

export interface Denial {
  /** For the model: what bounds it. */
  note: string;
  denied?: { what: string; path?: string };
}

/** Only the end of a long output is read: a command that was stopped says so last. */
const READ_BYTES = 200_000;
const MAX_LINES = 200;

const READ_ONLY = /read-only file ?system|EROFS|\[Errno 30\]|os error 30/iu;
const REFUSED = /permission denied|EACCES|operation not permitted|EPERM|\[Errno (?:1|13)\]|os error (?:1|13)\b|(?:is not|isn't) writable|error writing to|unable to open database/iu;
const OFFLINE = /network is unreachable|ENETUNREACH|could(?:n't| not) resolve|unable to resolve host|can't resolve|EAI_AGAIN|(?:temporary failure in|for) name resolution|name or service not known|bad hostname|temporary failure resolving|failed to lookup address|dns error|failed to connect to (?!localhost|127\.|::1)/iu;
const SHELL = /^(?:\/\S*\/)?(?:bash|sh|dash|zsh|ksh|ash): /u;

/** Null: nothing of it is about the sandbox. */
export function findDenial(ran: Ran): Denial | null {
  const lines = ran.text.slice(-READ_BYTES).split("\n").map(withoutColour).filter((line) => line.trim() !== "");
  const telling = [...lines.entries()].filter(([, line]) => [READ_ONLY, REFUSED, OFFLINE].some((signs) => signs.test(line))).slice(-MAX_LINES);
  if (ran.exit === 0 && !telling.some(([, line]) => SHELL.test(line))) return null;
  if (telling.length === 0) return null;
  const note = `it ran in the ${ran.sandbox} sandbox: ${bounds(ran)}`;
  const found = telling
    .filter(([, line]) => ran.exit !== 0 || SHELL.test(line))
    .map(([at, line]) => (OFFLINE.test(line) ? offline(line, ran) : pathOf({ line, around: lines.slice(Math.max(0, at - 3), at + 4) }, ran)));
  const denied = found.find((each) => each !== undefined && each.what !== SOME_NETWORK) ?? found.find((each) => each !== undefined);
  return denied ? { note, denied } : { note };
}

function bounds({ sandbox, cwd, writableRoots, network }: Ran): string {
  if (sandbox === "read-only") return "no file can be written but under /tmp, and there is no network.";
  const roots = [cwd, ...writableRoots].join(", ");
  return `only ${roots} and /tmp can be written, not ${PROTECTED_NAMES.join(", ")} in them, and ${network ? "Unix sockets cannot be made" : "there is no network"}.`;
}

/** The host is not always named on the line that says so. */
const SOME_NETWORK = "using the network";

function offline(line: string, { sandbox, network }: Ran): Denial["denied"] {
  if (sandbox === "workspace-write" && network) return undefined;
  const host = /(?:resolve (?:host(?:name| address)?:? ?)?|resolving |hostname |connect to |EAI_AGAIN |ENETUNREACH |host=)[‘'"`]?([\w.-]+\.[\w-]+|[0-9a-f:]+:[0-9a-f:]+)/iu.exec(line)?.[1];
  return { what: host === undefined ? SOME_NETWORK : `reaching ${host} over the network` };
}

function pathOf({ line, around }: { line: string; around: readonly string[] }, ran: Ran): Denial["denied"] {
  const isReadOnly = READ_ONLY.test(line);
  if (!isReadOnly && ran.platform === "linux" && SHELL.test(line)) return undefined;
  const said = withoutProgram(line);
  // Some programs say what they were at on a line of its own.
  const names = [...clearPaths(said).toReversed(), ...words(said).toReversed(), ...(isReadOnly ? around.flatMap((each) => clearPaths(withoutProgram(each))) : [])];
  const path = names.map((name) => absolute(name, ran)).find((each) => each !== null && isKeptFrom(each, ran));
  return path === undefined || path === null ? undefined : { what: `${isReadOnly ? "writing" : "opening"} ${path}`, path };
}

/** `tee: FILE: Read-only file system` begins with who says it, `FILE: Read-only file system` does not. */
function withoutProgram(line: string): string {
  const parts = line.split(": ");
  return parts.length > 2 ? parts.slice(1).join(": ") : line;
}

/** What is quoted, or begins like a path. */
function clearPaths(line: string): string[] {
  const quoted = [...line.matchAll(/['‘"“`]([^'‘’"“”`]{1,4096})['’"”`]/gu)].map(([, path]) => path!);
  const plain = [...line.matchAll(/(?:^|[\s:=(])((?:~|\.{0,2})\/[^\s:'"`’”,;)]+)/gu)].map(([, path]) => path!);
  return [...plain, ...quoted];
}

/** What stands before a colon, and the last word of it. */
function words(line: string): string[] {
  const parts = line.split(":").slice(0, -1).map((part) => part.trim());
  return parts.flatMap((part) => [part.split(" ").at(-1)!, part]).filter((part) => part !== "" && part.length < 4096 && !/["'‘’`]/u.test(part));
}

function absolute(name: string, { workdir }: Ran): string | null {
  const path = resolve(workdir, name.startsWith("~/") ? join(homedir(), name.slice(2)) : name.replace(/[.,;)]+$/u, ""));
  const parent = nearest(path);
  // A word that is not a path resolves to a name in the working folder that nobody has.
  if (!name.includes("/") && !existsSync(path) && !looksLikeFile(name)) return null;
  return parent === null ? null : join(parent.real, path.slice(parent.path.length));
}

function looksLikeFile(name: string): boolean {
  return /^[\w@+.-]*\.[\w-]+$|^[\w@+-]+$/u.test(name) && !/^(?:errno|error|EROFS|EACCES|EPERM|\d+|denied|permitted|system|file|open|mkdir|directory)$/iu.test(name);
}

/** The part of a path that exists, and where that really is. */
function nearest(path: string): { path: string; real: string } | null {
  for (let at = path; ; at = dirname(at)) {
    if (existsSync(at)) return { path: at === "/" ? "" : at, real: realpathSync(at) };
    if (dirname(at) === at) return null;
  }
}

/** Not writable in the sandbox, and writable outside. */
function isKeptFrom(path: string, ran: Ran): boolean {
  return !isWritableInside(path, ran) && isWritableOutside(path);
}

/** Of the sandbox itself. */
const OWN = ["/tmp", "/var/tmp", "/dev", "/proc", "/run"];

function isWritableInside(path: string, { sandbox, cwd, writableRoots, home, platform }: Ran): boolean {
  const within = (folder: string): boolean => path === folder || isInside(path, folder);
  if (within(home)) return false;
  const roots = sandbox === "read-only" ? [] : [cwd, ...writableRoots].filter(existsSync).map((root) => realpathSync(root));
  const root = roots.find(within);
  if (root !== undefined) return !PROTECTED_NAMES.some((name) => within(join(root, name)));
  return platform === "linux" && OWN.some(within) && !within(realCwd(cwd)) && !isBeside(path, realCwd(cwd));
}

/** In a folder that is there only to lead to the working one, where that lies in one of the sandbox's own. */
function isBeside(path: string, cwd: string): boolean {
  const folder = dirname(path);
  return !OWN.includes(folder) && isInside(cwd, folder);
}

function realCwd(cwd: string): string {
  return existsSync(cwd) ? realpathSync(cwd) : cwd;
}

function isWritableOutside(path: string): boolean {
  try {
    accessSync(nearest(path)?.real ?? "/", constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function withoutColour(line: string): string {
  return stripVTControlCharacters(line).replace(/\r$/u, "");
}
