/** Without a sandbox that holds, a command that must be confined is not run. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { confine, type ConfineRequest } from "../../../src/tools/sandbox/confine.ts";
import { detectSandbox, machine, type Machine } from "../../../src/tools/sandbox/detect.ts";
import { folder, run, workspace } from "../given.ts";

const cwd = workspace();

function withBwrap(script: string): Machine {
  const path = folder();
  writeFileSync(join(path, "bwrap"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(path, "bwrap"), 0o755);
  return { platform: "linux", folders: [path] };
}

async function refusal(request: Partial<ConfineRequest>): Promise<string> {
  const confined = await confine({
    mode: "workspace-write",
    argv: ["true"],
    cwd,
    workdir: cwd,
    writableRoots: [],
    network: false,
    home: "/nonexistent/skein",
    env: {},
    machine: machine("linux", ""),
    ...request,
  });
  expect(confined.ok).toBe(false);
  return confined.ok ? "" : confined.message;
}

test("the sandbox of this machine holds", async () => {
  expect(await detectSandbox(machine(process.platform, ""))).toEqual({ ok: true, kind: "bubblewrap", path: "/usr/bin/bwrap", notes: [] });
});

test("bubblewrap is missing: nothing is run, and one line says how to install it", async () => {
  const message = await refusal({ machine: { platform: "linux", folders: [folder()] } });
  expect(message).toMatch(/^Not run: the command must run in a sandbox, and that cannot be set up\. bubblewrap \(bwrap\) is not installed\. /u);
  expect(message).toContain("sudo apt-get install bubblewrap");
  expect(message).toContain("choose `--sandbox danger-full-access` knowingly");
});

test.each([
  ["echo 'bwrap: Unknown option --disable-userns' >&2; exit 1", "bubblewrap 0.8 or newer is needed"],
  ["echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "kernel.apparmor_restrict_unprivileged_userns=0"],
  ["echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1", "in a container: start it with user namespaces allowed"],
  ["exit 3", "bubblewrap does not work here"],
  ["kill -SEGV $$", "bubblewrap does not work here"],
])("bubblewrap that does `%s` is refused with advice", async (script, advice) => {
  expect(await refusal({ machine: withBwrap(script) })).toContain(advice);
});

test("something that runs the command without a sandbox is not taken for one", async () => {
  const message = await refusal({ machine: withBwrap('while [ "$1" != -- ]; do shift; done; shift; echo "{ \\"child-pid\\": $$ }" >&3; echo "{ \\"exit-code\\": 0 }" >&3; exec "$@"') });
  expect(message).toMatch(/a promise does not hold: (the file system is writable|capabilities are left|privileges can be gained)/u);
});

test("other systems have none", async () => {
  expect(await refusal({ machine: machine("freebsd", "") })).toContain("There is no sandbox for freebsd.");
  expect(await run("touch made", { cwd, sandbox: "read-only", tool: { platform: "freebsd" } })).toMatchObject({ status: "failed", output: expect.stringMatching(/^Not run: /u) as string });
  expect(existsSync(join(cwd, "made"))).toBe(false);
});

test.each([
  ["/", "it is the whole file system"],
  ["/proc", "it belongs to the system"],
  ["/dev/shm", "it belongs to the system"],
])("%s is not made writable", async (root, why) => {
  expect(await refusal({ writableRoots: [root] })).toContain(why);
});

test("Skein's own home is not made writable", async () => {
  const home = folder();
  mkdirSync(join(home, "sessions"));
  expect(await refusal({ home, cwd: join(home, "sessions") })).toContain("it is Skein's own home");
  expect(await refusal({ home, cwd: home })).toContain("it is Skein's own home");
});

test("bubblewrap that a command could replace is not used", async () => {
  expect(await refusal({ writableRoots: ["/usr/bin"] })).toContain("is in a folder that the command may write");
});
