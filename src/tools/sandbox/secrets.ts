/**
 * Secrets: what only root may read. A command that Skein runs as root keeps root's eyes in the sandbox (see bwrap.ts), so what others
 * on this machine may not read is masked: everything under /etc (shadow, sudoers, host keys, TLS keys, VPN and Wi-Fi passwords), and the
 * top of /, /boot and of the folders of /var where services keep their state. The user's own home is not masked: as for any
 * other user, a command may read what its user may read.
 */
import { lstatSync, readdirSync, type Dirent } from "node:fs";
import { join } from "node:path";

export interface Secrets {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** How deep each place is looked through. */
const PLACES: readonly (readonly [path: string, depth: number])[] = [
  ["/", 1],
  ["/boot", 1],
  ["/etc", 4],
  ["/var/backups", 1],
  ["/var/cache", 1],
  ["/var/lib", 1],
  ["/var/log", 1],
  ["/var/spool", 2],
  ["/sys/kernel", 1],
];

/** Not masked as a whole: the sandbox has its own, or needs them. */
const EXEMPT: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev", "/tmp", "/run", "/etc", "/usr", "/var", "/home"]);

let found: Secrets | null = null;

export function rootSecrets(): Secrets {
  return (found ??= look());
}

function look(): Secrets {
  const secrets = { folders: [] as string[], files: [] as string[] };
  for (const [place, depth] of PLACES) walk(place, depth, secrets);
  return secrets;
}

function walk(folder: string, depth: number, secrets: { folders: string[]; files: string[] }): void {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (EXEMPT.has(path) || !(entry.isDirectory() || entry.isFile())) continue;
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) continue;
    const isRoots = stat.uid === 0 || stat.gid === 0;
    const open = entry.isDirectory() ? 0o001 : 0o004;
    if (isRoots && (stat.mode & open) === 0) (entry.isDirectory() ? secrets.folders : secrets.files).push(path);
    else if (entry.isDirectory() && depth > 1) walk(path, depth - 1, secrets);
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
