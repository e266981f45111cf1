/**
 * Escapes: ways out of a sandbox that a command may try. Each is harmless: what it would do is done to a canary. An attempt is a command
 * and a look at the world afterwards.
 */
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { eventually, processesWith, type Ran } from "../given.ts";
import type { Ground } from "./ground.ts";

export interface Escape {
  name: string;
  /** The command, as text or as arguments of the tool. */
  attempt(ground: Ground): unknown;
  /** Whether it got out. Default: the canary outside is no longer what it was. */
  escaped?(ground: Ground, ran: Ran): boolean | Promise<boolean>;
  /** Only root can do it even without a sandbox. */
  asRoot?: true;
  /** In workspace-write it is allowed: only read-only must refuse it. */
  onlyReadOnly?: true;
  /** Variables that Skein itself runs with. */
  env?: Readonly<Record<string, string>>;
}

const canaryChanged = (ground: Ground): boolean => ground.canary() !== "untouched";
const said = (word: string) => (_: Ground, ran: Ran): boolean => ran.text.split("\n").includes(word);
const secretRead = (_: Ground, ran: Ran): boolean => ran.text.includes("SECRET");
const wasHeard = async (ground: Ground): Promise<boolean> => {
  for (let tries = 0; tries < 20 && ground.heard() === 0; tries++) await new Promise((resolve) => setTimeout(resolve, 5));
  return ground.heard() > 0;
};

const PERL = "perl";

/** System call numbers by architecture. */
const CALL = process.arch === "arm64" ? { ptrace: 117, openat: 56, io_uring_setup: 425, keyctl: 219, add_key: 217 } : { ptrace: 101, openat: 257, io_uring_setup: 425, keyctl: 250, add_key: 248 };
const connectUnix = (path: string): string => `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, pack_sockaddr_un($ARGV[0])) and print "CONNECTED\\n"' '${path}'`;

/** Writes back what is there: harmless even where it succeeds. */
const rewrite = (file: string): string => `cat ${file} >/dev/null && value=$(cat ${file}) && echo "$value" > ${file} && echo WROTE`;

export const FILE_ESCAPES: readonly Escape[] = [
  { name: "writes outside by absolute path", attempt: (g) => `echo x > ${g.outside}/canary` },
  { name: "writes outside by relative path", attempt: () => "echo x > ../outside/canary" },
  { name: "appends outside", attempt: (g) => `echo x >> ${g.outside}/canary` },
  { name: "writes outside through a symbolic link that is there", attempt: () => "echo x > link/canary" },
  { name: "writes outside through a symbolic link that it makes in /tmp", attempt: (g) => `d=$(mktemp -d) && ln -s ${g.outside} $d/l && echo x > $d/l/canary` },
  { name: "writes outside through a hard link that it makes", attempt: (g) => `ln ${g.outside}/canary hard && echo x > hard` },
  { name: "writes outside through a hard link that it makes in /tmp", attempt: (g) => `ln ${g.outside}/canary ${g.outside}/folder/hard && echo x > ${g.outside}/folder/hard` },
  { name: "moves a file out", attempt: (g) => `cp file f2 2>/dev/null; mv f2 ${g.outside}/canary` },
  { name: "moves a file in", attempt: (g) => `mv ${g.outside}/canary stolen` },
  { name: "removes a file outside", attempt: (g) => `rm -f ${g.outside}/canary` },
  { name: "makes a file outside", attempt: (g) => `touch ${g.outside}/new`, escaped: (g) => existsSync(join(g.outside, "new")) },
  { name: "makes a folder outside", attempt: (g) => `mkdir ${g.outside}/new`, escaped: (g) => existsSync(join(g.outside, "new")) },
  { name: "changes the mode of a file outside", attempt: (g) => `chmod 0777 ${g.outside}/canary`, escaped: (g) => g.mode(join(g.outside, "canary")) === 0o777 },
  { name: "changes the times of a file outside", attempt: (g) => `touch -d 2001-01-01 ${g.outside}/canary && echo TOUCHED`, escaped: said("TOUCHED") },
  { name: "gives a file of the workspace to another user", asRoot: true, attempt: () => "chown 12345 file && echo GIVEN", escaped: said("GIVEN") },
  { name: "empties a file outside", attempt: (g) => `: > ${g.outside}/canary` },
  { name: "renames a file outside", attempt: (g) => `mv ${g.outside}/canary ${g.outside}/folder/canary` },
  { name: "exchanges a file outside for a link", attempt: (g) => `ln -sf /dev/null ${g.outside}/canary` },
  { name: "opens again, to write, what it has open to read", attempt: (g) => `exec 3< ${g.outside}/canary; echo x > /proc/self/fd/3` },
  { name: "goes through /proc/self/cwd", attempt: () => "echo x > /proc/self/cwd/../outside/canary" },
  { name: "goes through /proc/self/root", attempt: (g) => `echo x > /proc/self/root${g.outside}/canary` },
  { name: "goes through the folder of a process outside", attempt: (g) => `echo x > /proc/${g.sleeper().pid}/root${g.outside}/canary` },
  { name: "moves the workspace away", attempt: (g) => `mv ${g.workspace} ${g.base}/moved`, escaped: (g) => existsSync(join(g.base, "moved")) },
  { name: "writes in the system's folders", asRoot: true, attempt: () => "touch /usr/local/.skein-escape && rm /usr/local/.skein-escape && echo WROTE", escaped: said("WROTE") },
  { name: "writes a file of the host's /tmp", attempt: (g) => `echo x > ${g.host.tmp}`, escaped: (g) => g.read(g.host.tmp) !== "SECRET of the host" },
  { name: "writes a file of the host's /var/tmp", attempt: (g) => `echo x > ${g.host.varTmp}`, escaped: (g) => g.read(g.host.varTmp) !== "SECRET of the host" },
  { name: "writes a file of the host's /dev/shm", attempt: (g) => `echo x > ${g.host.shm}`, escaped: (g) => g.read(g.host.shm) !== "SECRET of the host" },
  { name: "writes a file of the host's /run", asRoot: true, attempt: (g) => `echo x > ${g.host.run}`, escaped: (g) => g.read(g.host.run) !== "SECRET of the host" },
  { name: "reads the host's /tmp", attempt: (g) => `cat ${g.host.tmp}`, escaped: secretRead },
  { name: "reads the host's /dev/shm", attempt: (g) => `cat ${g.host.shm}`, escaped: secretRead },
  { name: "reads the host's /run", asRoot: true, attempt: (g) => `cat ${g.host.run}`, escaped: secretRead },
  { name: "reads /etc/shadow", asRoot: true, attempt: () => "grep -q '^root:' /etc/shadow && echo READ", escaped: said("READ") },
  { name: "reads /etc/shadow by another way", asRoot: true, attempt: () => "perl -e 'open F, \"<\", \"/proc/self/root/etc/shadow\" and print \"READ\\n\"'", escaped: said("READ") },
  { name: "writes in a read-only workspace", onlyReadOnly: true, attempt: () => "echo x > file", escaped: (g) => g.read(join(g.workspace, "file")) !== "of the workspace" },
];

export const PROTECTED_ESCAPES: readonly Escape[] = [
  { name: "writes .git/config", attempt: () => "echo x > .git/config", escaped: (g) => g.read(join(g.workspace, ".git/config")) !== "original" },
  { name: "makes a git hook", attempt: () => "echo x > .git/hooks/pre-commit", escaped: (g) => existsSync(join(g.workspace, ".git/hooks/pre-commit")) },
  { name: "removes .git", attempt: () => "rm -rf .git", escaped: (g) => !existsSync(join(g.workspace, ".git/config")) },
  { name: "moves .git away and makes another", attempt: () => "mv .git old; mkdir .git; echo x > .git/config", escaped: (g) => g.read(join(g.workspace, ".git/config")) !== "original" },
  { name: "makes .git where there is none", attempt: (g) => gone(g, ".git") && "mkdir -p .git/hooks && echo x > .git/config", escaped: made(".git/config") },
  { name: "moves a ready .git to where there is none", attempt: (g) => gone(g, ".git") && "mkdir ready && echo x > ready/config && mv -T ready .git", escaped: made(".git/config") },
  { name: "makes .git a file where there is none", attempt: (g) => gone(g, ".git") && "rm -rf .git; echo 'gitdir: elsewhere' > .git", escaped: (g) => isFile(join(g.workspace, ".git")) },
  { name: "makes .git a link where there is none", attempt: (g) => gone(g, ".git") && "rmdir .git; ln -s elsewhere .git; ls -ld .git", escaped: (g) => linkOf(join(g.workspace, ".git")) !== null },
  { name: "makes .skein/config.toml", attempt: () => "mkdir -p .skein && echo x > .skein/config.toml", escaped: made(".skein/config.toml") },
  { name: "makes .agents/skills", attempt: () => "mkdir -p .agents/skills", escaped: made(".agents/skills") },
  { name: "makes .codex/config.toml", attempt: () => "mkdir -p .codex && echo x > .codex/config.toml", escaped: made(".codex/config.toml") },
  {
    name: "leaves a process behind that makes .agents once nobody looks",
    // The call ends once it has tried, and it goes on trying.
    attempt: () => "read -r _ < <(mkdir -p .agents/late 2>/dev/null; echo on; exec >/dev/null 2>&1; while :; do mkdir -p .agents/late; done)",
    escaped: async (g) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return existsSync(join(g.workspace, ".agents/late"));
    },
  },
  {
    name: "replaces a protected link",
    attempt: (g) => (symlinkSync("elsewhere", join(g.workspace, ".codex")), "rm .codex && mkdir .codex && echo x > .codex/config.toml"),
    escaped: made(".codex/config.toml"),
  },
  {
    name: "writes through a protected link",
    attempt: (g) => (symlinkSync("elsewhere", join(g.workspace, ".agents")), "echo x > .agents/skill"),
    escaped: (g) => g.read(join(g.workspace, "elsewhere/skill")) !== "original",
  },
  { name: "reads Skein's home", attempt: (g) => `cat ${g.home}/config.toml`, escaped: secretRead },
  { name: "writes in Skein's home", attempt: (g) => `echo x > ${g.home}/config.toml`, escaped: skeinChanged },
  { name: "moves Skein's home away and makes another", attempt: (g) => `mv ${g.home} old; mkdir -p ${g.home}; echo x > ${g.home}/config.toml`, escaped: skeinChanged },
  { name: "moves the folder around Skein's home away and makes another", attempt: (g) => `mv conf old; mkdir -p ${g.home}; echo x > ${g.home}/config.toml`, escaped: skeinChanged },
  {
    name: "does so where the folder around the workspace is hidden",
    asRoot: true,
    env: { HOME: "/" },
    attempt: (g) => `mv conf old; mkdir -p ${g.home}; echo x > ${g.home}/config.toml`,
    escaped: skeinChanged,
  },
];

export const KERNEL_ESCAPES: readonly Escape[] = [
  { name: "writes /proc/sys/vm", asRoot: true, attempt: () => rewrite("/proc/sys/vm/swappiness"), escaped: said("WROTE") },
  { name: "writes /proc/sys/kernel/core_pattern", asRoot: true, attempt: () => rewrite("/proc/sys/kernel/core_pattern"), escaped: said("WROTE") },
  { name: "writes in /sys", asRoot: true, attempt: () => "for f in /sys/kernel/mm/ksm/run /sys/block/*/queue/read_ahead_kb /sys/kernel/profiling; do test -w $f && v=$(grep -o '[0-9]*' $f) && echo $v > $f && echo WROTE && break; done", escaped: said("WROTE") },
  { name: "makes a control group", asRoot: true, attempt: () => "for d in /sys/fs/cgroup/pids /sys/fs/cgroup; do mkdir $d/skein-escape && rmdir $d/skein-escape && echo MADE && break; done", escaped: said("MADE") },
  { name: "writes the kernel's log", asRoot: true, attempt: () => "test -c /dev/kmsg && echo 'skein escape suite' > /dev/kmsg && echo WROTE", escaped: said("WROTE") },
  { name: "mounts a file system", asRoot: true, attempt: (g) => `mount -t tmpfs none ${g.outside}/folder && echo MOUNTED && umount ${g.outside}/folder`, escaped: said("MOUNTED") },
  { name: "mounts a folder on itself, writable", asRoot: true, attempt: (g) => `mount --bind ${g.outside} ${g.outside}; mount -o remount,bind,rw ${g.outside} && echo x > ${g.outside}/canary; umount ${g.outside}` },
  { name: "makes a user namespace", attempt: () => "unshare --user --map-root-user echo NESTED", escaped: said("NESTED") },
  { name: "mounts in a user namespace of its own", attempt: (g) => `unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none ${g.workspace} && echo MOUNTED'`, escaped: said("MOUNTED") },
  { name: "makes a namespace without a user namespace", asRoot: true, attempt: () => "unshare --mount --ipc echo NESTED", escaped: said("NESTED") },
  { name: "enters the namespaces of a process outside", asRoot: true, attempt: (g) => `nsenter --target ${g.sleeper().pid} --mount --net echo ENTERED`, escaped: said("ENTERED") },
  { name: "changes its root", asRoot: true, attempt: () => "chroot / echo CHANGED", escaped: said("CHANGED") },
  { name: "names the machine", asRoot: true, attempt: () => 'hostname "$(hostname)" && echo NAMED', escaped: said("NAMED") },
  { name: "makes a device node", asRoot: true, attempt: (g) => `mknod \${TMPDIR:-/tmp}/null-$$ c 1 3 && rm \${TMPDIR:-/tmp}/null-$$ && echo MADE; : ${g.base}`, escaped: said("MADE") },
  {
    name: "uses a device node that lies in the workspace",
    asRoot: true,
    attempt: (g) => (execFileSync("mknod", [join(g.workspace, "zero"), "c", "1", "5"]), "head -c 1 zero | wc -c | grep -qx 1 && echo READ"),
    escaped: said("READ"),
  },
  { name: "makes a set-user-id file", attempt: (g) => `cp /bin/true \${TMPDIR:-/tmp}/suid && chmod 4755 \${TMPDIR:-/tmp}/suid && rm \${TMPDIR:-/tmp}/suid && echo MADE; : ${g.base}`, escaped: said("MADE") },
  { name: "makes a set-group-id file", attempt: () => "cp /bin/true ${TMPDIR:-/tmp}/sgid && chmod g+s ${TMPDIR:-/tmp}/sgid && rm ${TMPDIR:-/tmp}/sgid && echo MADE", escaped: said("MADE") },
  {
    name: "makes a set-user-id file in one step",
    attempt: () => `perl -e 'umask 0; my $p = ($ENV{TMPDIR} || "/tmp") . "/s$$"; my $d = -100; syscall(${CALL.openat}, $d, $p, 0101, 04755) >= 0 or exit; print "MADE\\n" if (stat $p)[2] & 04000; unlink $p'`,
    escaped: said("MADE"),
  },
  { name: "makes io_uring do its calls", attempt: () => `perl -e 'my $b = "\\0" x 120; print "MADE\\n" if syscall(${CALL.io_uring_setup}, 1, $b) >= 0'`, escaped: said("MADE") },
  { name: "puts a key into the kernel's keyring", attempt: () => `perl -e 'my ($t, $d, $p) = ("user", "skein-escape", "x"); my $k = syscall(${CALL.add_key}, $t, $d, $p, 1, -2); if ($k >= 0) { print "PUT\\n"; syscall(${CALL.keyctl}, 3, $k) }'`, escaped: said("PUT") },
  {
    name: "has the sandbox's own start act through the environment",
    attempt: (g) => ({ command: ["true"], env: { LD_DEBUG: "files", LD_DEBUG_OUTPUT: `${g.outside}/folder/debug` } }),
    escaped: (g) => execFileSync("ls", [join(g.outside, "folder")], { encoding: "utf8" }).includes("debug"),
  },
];

export const PROCESS_ESCAPES: readonly Escape[] = [
  {
    name: "signals a process outside",
    attempt: (g) => `kill -KILL ${g.sleeper().pid} && echo KILLED`,
    escaped: said("KILLED"),
  },
  { name: "sees the processes outside", attempt: (g) => `test -d /proc/${g.sleeper().pid}/fd && tr '\\0' '\\n' < /proc/${g.sleeper().pid}/environ`, escaped: secretRead },
  { name: "sees Skein itself", attempt: () => `grep -l . /proc/${process.pid}/cmdline && echo SEEN`, escaped: said("SEEN") },
  {
    name: "traces a process outside",
    attempt: (g) => `perl -e 'my $p = ${g.sleeper().pid}; print "TRACED\\n" if syscall(${CALL.ptrace}, 16, $p, 0, 0) == 0'`,
    escaped: said("TRACED"),
  },
  { name: "reads the memory of a process outside", attempt: (g) => `head -c 0 /proc/${g.sleeper().pid}/mem && echo OPENED`, escaped: said("OPENED") },
  {
    name: "reaches a message queue of the host",
    attempt: () => {
      const key = 0x5e000000 + (process.pid % 65536);
      execFileSync(PERL, ["-e", `msgget(${key}, 01666) // die`]);
      return `perl -e 'my $q = msgget(${key}, 0); print "REACHED\\n" if defined $q; msgctl($q, 0, 0) if defined $q'; ipcrm -Q ${key} 2>/dev/null; true`;
    },
    escaped: said("REACHED"),
  },
];

/** Tries until it holds, for as long as an escape may take. */
const soon = (holds: (ground: Ground) => boolean) => async (ground: Ground): Promise<boolean> => {
  for (let tries = 0; tries < 150 && !holds(ground); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  return holds(ground);
};
/** Looks until it holds, or until the command that was left running has ended and a moment has passed. */
const later = (holds: (ground: Ground) => boolean) => async (ground: Ground): Promise<boolean> => {
  await eventually(() => holds(ground) || processesWith(markOf(ground)).length === 0);
  return eventually(() => holds(ground), 100);
};
/** In the arguments of no other command. */
const markOf = (ground: Ground): string => `over-${ground.base.split("/").at(-1)!}`;

const inTerminal = (cmd: string) => ({ cmd, tty: true });
/** Goes on when the call has ended. */
const afterwards = (ground: Ground, cmd: string) => ({ cmd: `sleep 0.4; ${cmd}; : ${markOf(ground)}`, yield_time_ms: 100 });

const terminals = new WeakMap<Ground, { path: string; shown(): string }>();
const outerTerminal = async (ground: Ground): Promise<string> => {
  const terminal = await ground.terminal();
  terminals.set(ground, terminal);
  return terminal.path;
};
const shownOutside = soon((ground) => terminals.get(ground)!.shown().includes("ESCAPED"));
const push = (path: string): string => `perl -e 'open T, "+<", "${path}" or exit; ioctl(T, 0x5412, my $c = $_) for split //, "ESCAPED"'`;

export const SESSION_ESCAPES: readonly Escape[] = [
  { name: "writes outside when its call has ended", attempt: (g) => afterwards(g, `echo x > ${g.outside}/canary`), escaped: later(canaryChanged) },
  { name: "writes .git/config when its call has ended", attempt: (g) => afterwards(g, "echo x > .git/config"), escaped: later((g) => g.read(join(g.workspace, ".git/config")) !== "original") },
  { name: "makes .agents when its call has ended", attempt: (g) => afterwards(g, "mkdir -p .agents/late"), escaped: later(made(".agents/late")) },
  { name: "connects to a server when its call has ended", attempt: async (g) => afterwards(g, `exec 3<>/dev/tcp/127.0.0.1/${await g.listen({ host: "127.0.0.1" })}`), escaped: later((g) => g.heard() > 0) },
  { name: "removes a file outside when its call has ended", attempt: (g) => afterwards(g, `rm -f ${g.outside}/canary`), escaped: later(canaryChanged) },
  { name: "signals a process outside when its call has ended", attempt: (g) => afterwards(g, `kill -KILL ${g.sleeper().pid}`), escaped: later((g) => g.sleepersLeft() === 0) },
  { name: "moves .git away from a terminal", attempt: () => inTerminal("mv .git old; mkdir .git"), escaped: (g) => g.read(join(g.workspace, ".git/config")) !== "original" },
  { name: "reads Skein's home from a terminal", attempt: (g) => inTerminal(`cat ${g.home}/config.toml`), escaped: secretRead },
  { name: "writes outside from a terminal", attempt: (g) => inTerminal(`echo x > ${g.outside}/canary`) },
  { name: "reads the host's /tmp from a terminal", attempt: (g) => inTerminal(`cat ${g.host.tmp}`), escaped: secretRead },
  { name: "sees Skein itself from a terminal", attempt: () => inTerminal(`test -d /proc/${process.pid}/fd && grep -q . /proc/${process.pid}/cmdline && echo SEEN`), escaped: said("SEEN") },
  { name: "makes a user namespace from a terminal", attempt: () => inTerminal("unshare --user --map-root-user echo NESTED"), escaped: said("NESTED") },
  { name: "connects to a server from a terminal", attempt: async (g) => inTerminal(`exec 3<>/dev/tcp/127.0.0.1/${await g.listen({ host: "127.0.0.1" })}`), escaped: wasHeard },
  { name: "writes to a terminal outside", attempt: async (g) => `echo ESCAPED > ${await outerTerminal(g)}`, escaped: shownOutside },
  { name: "writes to a terminal outside from one of its own", attempt: async (g) => inTerminal(`echo ESCAPED > ${await outerTerminal(g)}`), escaped: shownOutside },
  { name: "types into a terminal outside", asRoot: true, attempt: async (g) => push(await outerTerminal(g)), escaped: shownOutside },
  { name: "types into a terminal outside from one of its own", asRoot: true, attempt: async (g) => inTerminal(push(await outerTerminal(g))), escaped: shownOutside },
];

export const SOCKET_ESCAPES: readonly Escape[] = [
  { name: "connects to a Unix socket in the host's /tmp", attempt: (g) => unixAt(g, `${g.host.tmp}.sock`), escaped: wasHeard },
  { name: "connects to a Unix socket in /run", asRoot: true, attempt: (g) => unixAt(g, `${g.host.run}.sock`), escaped: wasHeard },
  { name: "connects to a Unix socket in a folder that it can see", attempt: (g) => unixAt(g, join(g.outside, "s")), escaped: wasHeard },
  { name: "connects to a Unix socket in the workspace", attempt: (g) => unixAt(g, join(g.workspace, "s")), escaped: wasHeard },
  { name: "connects to a Unix socket in .git", attempt: (g) => (mkdirSync(join(g.workspace, ".git/a/b"), { recursive: true }), unixAt(g, join(g.workspace, ".git/a/b/s"))), escaped: wasHeard },
  {
    name: "connects to an abstract Unix socket",
    attempt: async (g) => {
      const name = `skein-escape-${process.pid}-${Math.random()}`;
      await g.listen({ path: `\0${name}` });
      return `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, pack("S a108", AF_UNIX, "\\0$ARGV[0]")) and print "CONNECTED\\n"' '${name}'`;
    },
    escaped: wasHeard,
  },
  { name: "connects to a server on this machine", attempt: async (g) => `exec 3<>/dev/tcp/127.0.0.1/${await g.listen({ host: "127.0.0.1" })}`, escaped: wasHeard },
  { name: "connects to a server on this machine by IPv6", attempt: async (g) => `exec 3<>/dev/tcp/::1/${await g.listen({ host: "::1" })}`, escaped: wasHeard },
  { name: "connects to a server on all addresses of this machine", attempt: async (g) => `for a in $(hostname -I 2>/dev/null) 127.0.0.2; do (exec 3<>/dev/tcp/$a/${await g.listen({ host: "0.0.0.0" })}) && break; done`, escaped: wasHeard },
  { name: "sends a packet", attempt: async (g) => `echo x > /dev/udp/127.0.0.1/${await g.listen({ udp: "127.0.0.1" })}`, escaped: wasHeard },
  { name: "opens a packet socket", asRoot: true, attempt: () => `perl -e 'socket(S, 17, 3, 0) and print "OPENED\\n"'`, escaped: said("OPENED") },
];

/** Where the kernel has it: it reaches the host of a virtual machine, whatever the network namespace. */
export const VSOCK_ESCAPE: Escape = { name: "opens a socket to the host of the machine", attempt: () => `perl -e 'socket(S, 40, 1, 0) and print "OPENED\\n"'`, escaped: said("OPENED") };

export const defaultEscaped = canaryChanged;

function gone(ground: Ground, name: string): true {
  rmSync(join(ground.workspace, name), { recursive: true });
  return true;
}

function made(path: string) {
  return (ground: Ground): boolean => existsSync(join(ground.workspace, path));
}

function skeinChanged(ground: Ground): boolean {
  return ground.read(join(ground.home, "config.toml")) !== "SECRET of Skein";
}

function isFile(path: string): boolean {
  try {
    return readFileSync(path).length > 0;
  } catch {
    return false;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

async function unixAt(ground: Ground, path: string): Promise<string> {
  await ground.listen({ path });
  return connectUnix(path);
}
