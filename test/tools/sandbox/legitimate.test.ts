/** What developers do all day works in the sandbox. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { detectSandbox, machine } from "../../../src/tools/sandbox/detect.ts";
import type { SandboxMode } from "../../../src/protocol/record.ts";
import { eventually, folder, run, workspace, type Ran } from "../given.ts";

const PROJECT: Readonly<Record<string, string>> = {
  "README.md": "# Project\n",
  "main.c": '#include <stdio.h>\nint main(void) { printf("compiled\\n"); return 0; }\n',
  Makefile: "all: main\n\t@./main\nmain: main.c\n\t@cc -o main main.c\n",
  "package.json": '{ "name": "project", "version": "1.0.0", "scripts": { "test": "node --test" } }\n',
  "sum.test.js": 'const { test } = require("node:test");\ntest("adds", () => { if (1 + 1 !== 2) throw new Error(); });\n',
  "app.py": "import sys, json\nprint(json.dumps({'python': sys.version_info[0]}))\n",
  "server.js": 'const http = require("http");\nconst s = http.createServer((q, r) => r.end("served\\n"));\ns.listen(process.argv[2] || 0, "127.0.0.1", async () => { const p = s.address().port ?? 0; console.log(await (await fetch(`http://127.0.0.1:${p}/`)).text()); s.close(); });\n',
};

function project(): string {
  const cwd = workspace(homedir());
  for (const [name, text] of Object.entries(PROJECT)) writeFileSync(join(cwd, name), text);
  const git = (...args: string[]) => execFileSync("git", ["-C", cwd, "-c", "user.name=u", "-c", "user.email=u@x", ...args]);
  git("init", "-q");
  git("add", ".");
  git("commit", "-q", "-m", "first");
  writeFileSync(join(cwd, "README.md"), "# Changed\n");
  return cwd;
}

beforeAll(async () => {
  const detected = await detectSandbox(machine(process.platform, ""));
  if (!detected.ok) throw new Error(`These tests need a working sandbox. ${detected.why} ${detected.remedy}`);
});

/** Command and what it must print, or its whole output when that is a text. */
const IN_ANY_MODE: [name: string, command: unknown, expected: RegExp | string][] = [
  ["git status", "git status --porcelain", " M README.md\n"],
  ["git diff", "git diff --stat", /README\.md \| 2 \+-/u],
  ["git log", "git log --oneline", /^[0-9a-f]+ first\n$/u],
  ["git grep and blame", "git grep -n printf && git blame -s main.c | head -1", /main\.c:2:/u],
  ["ls, find, grep in pipes", "find . -name '*.c' -not -path './.git/*' | xargs grep -c printf | sort", "1\n"],
  ["ripgrep-like reading of the system", "head -1 /etc/os-release && ls /usr/bin | wc -l", /\d+\n$/u],
  ["a here-document", "cat <<'EOF' | tr a-z A-Z\nhello $HOME\nEOF", "HELLO $HOME\n"],
  ["process substitution and arrays", "a=(1 2 3); diff <(printf '%s\\n' \"${a[@]}\") <(seq 3) && echo same", "same\n"],
  ["jobs of its own", "sleep 0.05 & p=$!; (sleep 5 & wait) & kill $!; wait $p && echo waited", "waited\n"],
  ["timeout", "timeout 0.1 sleep 5; echo $?", "124\n"],
  ["ps sees the command's own processes", "ps -eo comm= | grep -c -x ps", "1\n"],
  ["node", "node -e 'console.log(6 * 7)'", "42\n"],
  ["python", "python3 app.py", '{"python": 3}\n'],
  ["perl", "perl -ne 'print if /main/' main.c | wc -l", "1\n"],
  ["temporary files", "f=$(mktemp) && echo x > $f && cat $f && rm $f", "x\n"],
  ["a server on loopback", "node server.js", "served\n\n"],
  ["a Unix socket of its own", `node -e 'const n = require("net"); const p = require("os").tmpdir() + "/s"; const s = n.createServer(c => { c.end("heard"); s.close(); }).listen(p, () => n.connect(p).on("data", d => console.log(String(d))))'`, "heard\n"],
  ["a pseudo-terminal", "python3 -c 'import pty; pty.spawn([\"test\", \"-t\", \"0\"]); print(\"terminal\")'", "terminal\n"],
  ["shared memory and semaphores", "python3 -c 'from multiprocessing import Pool; print(sum(Pool(2).map(abs, [-1, -2])))'", "3\n"],
  ["who and where", "test \"$PWD\" = \"$(pwd -P)\" && id -un >/dev/null && getent passwd root | cut -d: -f1", "root\n"],
  ["a program given as a list", "printf '%s\\n' 'a  b'", "a  b\n"],
  ["git branches, tags and objects", "git branch --format='%(refname)' | wc -l && git tag | wc -l && git cat-file -t HEAD", "1\n0\ncommit\n"],
  ["background work that is waited for", "(sleep 0.1; echo late) & echo early; wait; echo over", "early\nlate\nover\n"],
  ["a check by the compiler", "cc -fsyntax-only main.c && echo fine", "fine\n"],
  ["text tools in a long pipe", "seq 20 | awk '{ print $1 % 3 }' | sort | uniq -c | sort -rn | head -1 | tr -s ' '", " 7 2\n"],
  ["signals and traps", "trap 'echo caught' USR1; kill -USR1 $$; echo on", "caught\non\n"],
  ["a database in memory", "python3 -c 'import sqlite3; print(sqlite3.connect(\":memory:\").execute(\"select 6 * 7\").fetchone()[0])'", "42\n"],
  ["threads", "node -e 'new (require(\"worker_threads\").Worker)(\"console.log(7)\", { eval: true })'", "7\n"],
  ["a child with pipes", "node -e 'console.log(require(\"child_process\").execFileSync(\"tr\", [\"a\", \"b\"], { input: \"aa\" }).toString())'", "bb\n"],
  ["a terminal", { cmd: "tty && stty size", tty: true }, /^\/dev\/pts\/\d+\n40 120\n$/u],
  ["a command that could go on and does not", { cmd: "sleep 0.1; echo done", yield_time_ms: 10_000 }, "done\n"],
  ["/dev/null, /dev/zero, /dev/urandom, /dev/stderr", "head -c 4 /dev/zero | wc -c && head -c 4 /dev/urandom | wc -c && echo e >/dev/stderr >/dev/null", "4\n4\n"],
];

const WRITING: [name: string, command: unknown, expected: RegExp | string][] = [
  ["make, compile and run", "make", "compiled\n"],
  ["npm test", "npm test --silent 2>&1 | grep -E '^(# pass|ℹ pass)'", /pass 1\n/u],
  ["node --test", "node --test 2>&1 | grep -c 'pass 1'", "1\n"],
  ["sed in place", "sed -i s/Changed/Edited/ README.md && cat README.md", "# Edited\n"],
  ["a here-document into a file", "cat > new.txt <<EOF\n$((1 + 1))\nEOF\ncat new.txt", "2\n"],
  ["folders, copies, moves and links", "mkdir -p a/b && cp -a main.c a/b/ && mv a/b a/c && ln -s c a/l && ln main.c hard && ls a/l && rm -r a hard", "main.c\n"],
  ["modes", "printf '#!/bin/sh\\necho ran\\n' > s.sh && chmod +x s.sh && ./s.sh", "ran\n"],
  ["archives", "tar czf /tmp/p.tgz main.c app.py && mkdir x && tar xzf /tmp/p.tgz -C x && ls x", "app.py\nmain.c\n"],
  ["git apply and checkout of files to stdout", "git diff > p.patch && git apply -R p.patch && cat README.md && git show HEAD:README.md", "# Project\n# Project\n"],
  ["a repository in a folder", "git init -q sub && cd sub && touch f && git add f && git -c user.name=u -c user.email=u@x commit -q -m one && git log --oneline | wc -l", "1\n"],
  ["python writes and compiles", "python3 -m py_compile app.py && python3 -c 'open(\"o.txt\", \"w\").write(\"x\")' && cat o.txt", "x"],
  ["npm init", "mkdir pkg && cd pkg && npm init -y >/dev/null 2>&1 && node -p 'require(\"./package.json\").version'", "1.0.0\n"],
  ["objects and a library", "cc -c main.c && ar rcs libmain.a main.o && ar t libmain.a && cc -o linked libmain.a && ./linked", "main.o\ncompiled\n"],
  ["a database in a file", "python3 -c 'import sqlite3; d = sqlite3.connect(\"d.db\"); d.execute(\"create table t(a)\"); d.execute(\"insert into t values(1)\"); d.commit()' && ls d.db*", "d.db\n"],
  ["a build in a terminal", { cmd: "make", tty: true, yield_time_ms: 60_000 }, "compiled\n"],
  ["locks and named pipes", "flock l.lock echo locked && mkfifo p && (echo through > p &) && cat p", "locked\nthrough\n"],
];

const matches = (ran: Ran, expected: RegExp | string): void => {
  if (typeof expected === "string") expect(ran.text, ran.output).toBe(expected);
  else expect(ran.text, ran.output).toMatch(expected);
};

describe.each<SandboxMode>(["danger-full-access", "read-only", "workspace-write"])("%s", (sandbox) => {
  let cwd = "";
  beforeAll(() => void (cwd = project()));

  test.each(IN_ANY_MODE)("%s", async (_, cmd, expected) => {
    const ran = await run(cmd, { cwd, sandbox });
    matches(ran, expected);
    expect(ran.exit).toBe(0);
  });
});

describe("workspace-write", () => {
  test.each(WRITING)("%s", async (_, cmd, expected) => {
    const ran = await run(cmd, { cwd: project(), sandbox: "workspace-write" });
    matches(ran, expected);
    expect(ran.exit).toBe(0);
  });

  test("a commit is refused, because .git is read-only, and the model is told why", async () => {
    const ran = await run("git commit -am second", { cwd: project(), sandbox: "workspace-write" });
    expect(ran).toMatchObject({ status: "done", exit: 128 });
    expect(ran.text).toContain("Read-only file system");
    expect(ran.output).toContain("Note: it ran in the workspace-write sandbox: only ");
  });

  test("what one call leaves in /tmp the next one finds, and the host does not", async () => {
    const cwd = project();
    const name = `left-${process.pid}`;
    await run(`echo here > /tmp/${name}`, { cwd, sandbox: "workspace-write" });
    expect((await run(`cat $TMPDIR/${name}`, { cwd, sandbox: "workspace-write" })).text).toBe("here\n");
    expect((await run({ cmd: "pwd", workdir: "/tmp" }, { cwd, sandbox: "workspace-write" })).text).toBe("/tmp\n");
    expect(existsSync(`/tmp/${name}`)).toBe(false);
  });

  test("a workspace in /tmp works as well", async () => {
    const cwd = workspace("/tmp");
    for (const sandbox of ["read-only", "workspace-write"] as const) expect((await run("pwd && ls -A | wc -l", { cwd, sandbox })).text).toMatch(new RegExp(`^${cwd}\n[0-9]+\n$`, "u"));
    expect(await run("echo x > made && cat made", { cwd, sandbox: "workspace-write" })).toMatchObject({ exit: 0, text: "x\n" });
    expect(readFileSync(join(cwd, "made"), "utf8")).toBe("x\n");
  });

  test("other folders can be made writable, and what is protected in them stays so", async () => {
    const other = workspace(homedir());
    mkdirSync(join(other, ".git"));
    writeFileSync(join(other, ".git/config"), "original");
    const ran = await run(`echo x > ${other}/made; echo x > ${other}/.git/config; mkdir ${other}/.codex/x`, { cwd: project(), sandbox: "workspace-write", tool: { sandbox: { writableRoots: [other, "/not/there"] } } });
    expect(ran.exit).toBe(1);
    expect(readFileSync(join(other, "made"), "utf8")).toBe("x\n");
    expect(readFileSync(join(other, ".git/config"), "utf8")).toBe("original");
    expect(await eventually(() => readdirSync(other).toSorted().join() === ".git,made")).toBe(true);
  });

  test("nothing is left in the workspace", async () => {
    const cwd = workspace(homedir());
    await run("ls -la", { cwd, sandbox: "workspace-write" });
    expect(await eventually(() => readdirSync(cwd).length === 0)).toBe(true);
  });

  test("the environment says that there is a sandbox and has no sockets of the host", async () => {
    const env = { PATH: process.env["PATH"], HOME: homedir(), SSH_AUTH_SOCK: "/x", GITHUB_TOKEN: "x", LD_PRELOAD: "" };
    const ran = await run({ command: ["env"], env: { ASKED: "for" } }, { cwd: project(), sandbox: "workspace-write", tool: { env } });
    expect(ran.text.trim().split("\n").map((line) => line.slice(0, line.indexOf("="))).toSorted()).toEqual(["ASKED", "HOME", "LD_PRELOAD", "PATH", "PWD", "SKEIN_SANDBOX", "TMPDIR"]);
  });

  test("with the network on, servers are reached and Unix sockets are not made", async () => {
    const server = createServer((socket) => socket.end("hello from outside\n")).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const given = { cwd: project(), sandbox: "workspace-write" as const, tool: { sandbox: { network: true } } };
    expect((await run(`cat < /dev/tcp/127.0.0.1/${port}`, given)).text).toBe("hello from outside\n");
    expect((await run("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", given)).text).toContain("PermissionError");
    expect((await run("node -e 'require(\"child_process\").exec(\"echo piped\", (e, out) => console.log(out))'", given)).text).toBe("piped\n\n");
    server.close();
  });

  test("the network is for workspace-write only", async () => {
    const ran = await run("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", { cwd: project(), sandbox: "read-only", tool: { sandbox: { network: true } } });
    expect(ran.text).toBe("lo\n");
  });
});

describe("read-only", () => {
  test("/tmp is there for one call", async () => {
    const cwd = project();
    expect((await run("echo x > /tmp/y && cat /tmp/y", { cwd, sandbox: "read-only" })).text).toBe("x\n");
    expect((await run("test -e /tmp/y && echo there || echo gone", { cwd, sandbox: "read-only" })).text).toBe("gone\n");
  });

  test("a folder that does not exist is told", async () => {
    const cwd = project();
    expect(await run({ cmd: "pwd", workdir: "nowhere" }, { cwd, sandbox: "read-only" })).toMatchObject({ status: "failed", output: `Not run: the folder ${cwd}/nowhere does not exist.` });
  });

  test("a program that is not there is told as a shell would", async () => {
    const cwd = project();
    chmodSync(join(cwd, "main.c"), 0o644);
    expect(await run({ command: ["no-such-program"] }, { cwd, sandbox: "read-only" })).toMatchObject({ status: "done", exit: 127 });
    expect(await run({ command: ["./main.c"] }, { cwd, sandbox: "read-only" })).toMatchObject({ status: "done", exit: 126 });
  });

  test("a program in a folder of PATH that would be hidden is found", async () => {
    const bin = folder("/tmp");
    writeFileSync(join(bin, "greet"), "#!/bin/sh\necho hi\n", { mode: 0o755 });
    const env = { ...process.env, PATH: `${process.env["PATH"]}:${bin}` };
    expect((await run("greet", { cwd: project(), sandbox: "read-only", tool: { env } })).text).toBe("hi\n");
  });

  test("skills of Skein's home can be read, the rest of it not", async () => {
    const home = folder(homedir());
    mkdirSync(join(home, "skills"));
    writeFileSync(join(home, "skills/one"), "a skill\n");
    writeFileSync(join(home, "config.toml"), "secret");
    const ran = await run(`cat ${home}/skills/one; ls ${home}`, { cwd: project(), sandbox: "read-only", tool: { home } });
    expect(ran.text).toBe("a skill\nskills\n");
  });

  test("output and exit code come through as without a sandbox", async () => {
    const ran = await run("for i in 1 2 3; do echo o$i; echo e$i >&2; done; exit 42", { cwd: project(), sandbox: "read-only" });
    expect(ran).toMatchObject({ status: "done", exit: 42, text: "o1\ne1\no2\ne2\no3\ne3\n" });
    expect(await run("kill -KILL $$", { cwd: project(), sandbox: "read-only" })).toMatchObject({ status: "done", exit: 137 });
  });

  test("a process left in the background does not hold the call", async () => {
    const ran = await run("sleep 1000 & echo done", { cwd: project(), sandbox: "read-only" });
    expect(ran.text).toBe("done\n");
    expect(ran.ms).toBeLessThan(5000);
  });
});

test("twenty calls one after another", { timeout: 60_000 }, async () => {
  const cwd = project();
  for (const sandbox of ["read-only", "workspace-write"] as const) {
    await run("true", { cwd, sandbox });
    const times: number[] = [];
    for (let call = 0; call < 20; call++) times.push((await run("true", { cwd, sandbox })).ms);
    times.sort((a, b) => a - b);
    console.log(`20 calls in ${sandbox}: median ${times[10]!.toFixed(1)} ms, slowest ${times[19]!.toFixed(1)} ms`);
  }
});
