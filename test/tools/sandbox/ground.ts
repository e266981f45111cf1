/** Ground: a workspace with a world around it that an escape would change, made anew for each attempt. */
import { spawn, type ChildProcess } from "node:child_process";
import { createSocket, type Socket as Datagrams } from "node:dgram";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import type { SandboxMode } from "../../../src/protocol/record.ts";
import { run, type Ran } from "../given.ts";

export interface Ground {
  readonly base: string;
  readonly workspace: string;
  /** Beside the workspace; `canary` in it holds "untouched". */
  readonly outside: string;
  /** Skein's own, inside the workspace: the worst place for it. */
  readonly home: string;
  readonly host: { tmp: string; varTmp: string; shm: string; run: string };
  canary(): string | null;
  read(path: string): string | null;
  mode(path: string): number;
  sleeper(): ChildProcess;
  sleepersLeft(): number;
  /** A terminal outside, and everything that it showed. */
  terminal(): Promise<{ path: string; shown(): string }>;
  /** How many connections or packets came. */
  heard(): number;
  listen(where: { path: string } | { host: string } | { udp: string }): Promise<number>;
  close(): void;
}

let count = 0;

const SCRIPT = "script";

export function createGround(): Ground {
  const base = realpathSync(mkdtempSync(join(homedir(), ".skein-escape-")));
  const workspace = join(base, "workspace");
  const outside = join(base, "outside");
  const home = join(workspace, "conf/skein");
  for (const folder of [join(workspace, ".git/hooks"), join(outside, "folder"), home]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(workspace, ".git/config"), "original");
  writeFileSync(join(workspace, "file"), "of the workspace");
  writeFileSync(join(outside, "canary"), "untouched");
  writeFileSync(join(home, "config.toml"), "SECRET of Skein");
  symlinkSync(outside, join(workspace, "link"));
  mkdirSync(join(workspace, "elsewhere"));
  writeFileSync(join(workspace, "elsewhere/skill"), "original");
  const name = `skein-escape-${process.pid}-${count++}`;
  const host = { tmp: `/tmp/${name}`, varTmp: `/var/tmp/${name}`, shm: `/dev/shm/${name}`, run: `/run/${name}` };
  for (const path of Object.values(host)) if (path !== host.run || process.getuid?.() === 0) writeFileSync(path, "SECRET of the host");

  const children: ChildProcess[] = [];
  const servers: (Server | Datagrams)[] = [];
  let heard = 0;
  const hear = (): void => void (heard += 1);
  const read = (path: string): string | null => (existsSync(path) ? readFileSync(path, "utf8") : null);
  return {
    base,
    workspace,
    outside,
    home,
    host,
    read,
    canary: () => read(join(outside, "canary")),
    mode: (path) => (existsSync(path) ? statSync(path).mode & 0o7777 : 0),
    sleeper() {
      const child = spawn("sleep", ["1000"], { stdio: "ignore", env: { SECRET_OF_SLEEPER: "SECRET" } });
      children.push(child);
      return child;
    },
    sleepersLeft: () => children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null).length,
    async terminal() {
      const child = spawn(SCRIPT, ["-qfc", "tty; sleep 1000", "/dev/null"], { stdio: ["pipe", "pipe", "ignore"] });
      children.push(child);
      let shown = "";
      child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
      while (!/\/dev\/pts\/\d+/u.test(shown)) await once(child.stdout, "data");
      return { path: /\/dev\/pts\/\d+/u.exec(shown)![0], shown: () => shown };
    },
    heard: () => heard,
    async listen(where) {
      if ("udp" in where) {
        const socket = createSocket("udp4").on("message", hear);
        servers.push(socket);
        socket.bind(0, where.udp);
        await once(socket, "listening");
        return socket.address().port;
      }
      const server = createServer((socket) => {
        hear();
        socket.on("error", () => {}).end();
      });
      servers.push(server);
      server.listen("path" in where ? { path: where.path } : { host: where.host, port: 0 });
      await once(server, "listening");
      if ("path" in where && where.path.startsWith("/")) chmodSync(where.path, 0o777);
      return "path" in where ? 0 : (server.address() as AddressInfo).port;
    },
    close() {
      for (const child of children) child.kill("SIGKILL");
      for (const server of servers) server.close();
      for (const path of [base, ...Object.values(host)]) rmSync(path, { recursive: true, force: true });
    },
  };
}

export function runOn(ground: Ground, input: unknown, given: { sandbox: SandboxMode; env?: Readonly<Record<string, string>> }): Promise<Ran> {
  return run(input, { cwd: ground.workspace, sandbox: given.sandbox, tool: { home: ground.home, env: { ...process.env, ...given.env } } });
}
