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
const REFUSED = /permission denied|EACCES|operation not permitted|EPERM|\[Errno (?:1|13)\]|os error (?:1|13)\b/iu;
const OFFLINE = /network is unreachable|ENETUNREACH|could(?:n't| not) resolve|unable to resolve host|can't resolve|EAI_AGAIN|(?:temporary failure in|for) name resolution|name or service not known|failed to lookup address|dns error|failed to connect to (?!localhost|127\.|::1)/iu;
const SHELL = /^(?:\/\S*\/)?(?:bash|sh|dash|zsh|ksh|ash): /u;

/** Null: nothing of it is about the sandbox. */
export function findDenial(ran: Ran): Denial | null {
  const lines = ran.text.slice(-READ_BYTES).split("\n").map(withoutColour).filter((line) => line.trim() !== "");
  const telling = [...lines.entries()].filter(([, line]) => [READ_ONLY, REFUSED, OFFLINE].some((words) => words.test(line))).slice(-MAX_LINES);
  if (ran.exit === 0 && !telling.some(([, line]) => SHELL.test(line))) return null;
  if (telling.length === 0) return null;
  const note = `it ran in the ${ran.sandbox} sandbox: ${bounds(ran)}`;
  for (const [at, line] of telling) {
    if (ran.exit === 0 && !SHELL.test(line)) continue;
    const denied = OFFLINE.test(line) ? offline(line, ran) : pathOf({ line, around: lines.slice(Math.max(0, at - 3), at + 4) }, ran);
    if (denied) return { note, denied };
  }
  return { note };
}

function bounds({ sandbox, cwd, writableRoots, network }: Ran): string {
  if (sandbox === "read-only") return "no file can be written but under /tmp, and there is no network.";
  const roots = [cwd, ...writableRoots].join(", ");
  return `only ${roots} and /tmp can be written, not ${PROTECTED_NAMES.join(", ")} in them, and ${network ? "Unix sockets cannot be made" : "there is no network"}.`;
}

function offline(line: string, { sandbox, network }: Ran): Denial["denied"] {
  if (sandbox === "workspace-write" && network) return undefined;
  const host = /(?:resolve (?:host(?:name| address)?:? ?)?|connect to |EAI_AGAIN |ENETUNREACH |host=)[‘'"`]?([\w.-]+\.[\w-]+|[0-9a-f:]+:[0-9a-f:]+)/iu.exec(line)?.[1];
  return { what: host === undefined ? "using the network" : `reaching ${host} over the network` };
}

function pathOf({ line, around }: { line: string; around: readonly string[] }, ran: Ran): Denial["denied"] {
  const isReadOnly = READ_ONLY.test(line);
  if (!isReadOnly && ran.platform === "linux" && SHELL.test(line)) return undefined;
  const named = candidates(line).toReversed();
  // Some programs say what they were at on a line of its own.
  const near = named.length > 0 ? [] : around.flatMap(candidates);
  const path = [...named, ...near].map((name) => absolute(name, ran)).find((each) => each !== null && isKeptFrom(each, ran));
  return path === undefined || path === null ? undefined : { what: `writing ${path}`, path };
}

/** Whatever in a line may be a path: quoted, absolute, or between colons. */
function candidates(line: string): string[] {
  const quoted = [...line.matchAll(/['‘"“`]([^'‘’"“”`]{1,4096})['’"”`]/gu)].map(([, path]) => path!);
  const plain = [...line.matchAll(/(?:^|[\s:=(])((?:~|\.{0,2})\/[^\s:'"`’”,;)]+)/gu)].map(([, path]) => path!);
  const between = line.split(/: /u).map((part) => part.trim()).flatMap((part) => [part, part.split(" ").at(-1)!]).filter((part) => part !== "" && part.length < 4096 && !/["'‘’`]/u.test(part));
  return [...new Set([...between, ...plain, ...quoted])];
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
  return platform === "linux" && OWN.some(within) && !within(realCwd(cwd));
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
