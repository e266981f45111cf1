import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTrusting } from "../../src/config/trusting.ts";
import { loadConfig } from "../../src/config/load.ts";
import { forgetProject, isServerTrusted, isTrusted, readTrust, serverHash, trustProject, trustServer } from "../../src/config/trust.ts";
import { place, short, temporary, write } from "./given.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const HASH = hashOf("one");
const OTHER = hashOf("two");

describe("trust records", () => {
  it("say yes to a project with the config that it had, and to nothing else", () => {
    const home = temporary();
    expect(readTrust(home)).toEqual({ trust: new Map(), problem: null });
    trustProject(home, { root: "/a", hash: HASH });
    const { trust, problem } = readTrust(home);
    expect(problem).toBe(null);
    expect([isTrusted(trust, { root: "/a", hash: HASH }), isTrusted(trust, { root: "/a", hash: OTHER }), isTrusted(trust, { root: "/a/b", hash: HASH }), isTrusted(trust, { root: "/", hash: HASH })]).toEqual([true, false, false, false]);
  });

  it("keep servers by project, and forget them with it", () => {
    const home = temporary();
    trustServer(home, { root: "/a", hash: HASH });
    expect(isTrusted(readTrust(home).trust, { root: "/a", hash: HASH })).toBe(false);
    trustProject(home, { root: "/a", hash: OTHER });
    trustServer(home, { root: "/a", hash: OTHER });
    trustServer(home, { root: "/a", hash: OTHER });
    expect(readTrust(home).trust).toEqual(new Map([["/a", { config: OTHER, servers: [HASH, OTHER] }]]));
    const { trust } = readTrust(home);
    expect([isServerTrusted(trust, { root: "/a", hash: HASH }), isServerTrusted(trust, { root: "/b", hash: HASH })]).toEqual([true, false]);
    expect([forgetProject(home, "/a"), forgetProject(home, "/a"), readTrust(home).trust.size]).toEqual([true, false, 0]);
  });

  describe.each([0o000, 0o022, 0o077])("under umask %o", (umask) => {
    let before: number;
    beforeEach(() => void (before = process.umask(umask)));
    afterEach(() => void process.umask(before));

    it("are a file of 0600 in a folder of 0700, with nothing left beside it", () => {
      const home = join(temporary(), "new", "home");
      trustProject(home, { root: "/a", hash: HASH });
      trustProject(home, { root: "/b", hash: OTHER });
      expect([statSync(home).mode & 0o777, statSync(join(home, "trust.json")).mode & 0o777, readdirSync(home)]).toEqual([0o700, 0o600, ["trust.json"]]);
    });
  });

  it.each([
    ["", "it is not what Skein wrote"],
    ["{", "it is not what Skein wrote"],
    ["[]", "it is not what Skein wrote"],
    ['{"version":2,"projects":{}}', "it is not what Skein wrote"],
    ['{"version":1,"projects":{"a":{"config":null,"servers":[]}}}', "it is not what Skein wrote"],
    ['{"version":1,"projects":{"/a":{"config":true,"servers":[]}}}', "it is not what Skein wrote"],
    ['{"version":1,"projects":{"/a":{"config":null,"servers":"x"}}}', "it is not what Skein wrote"],
    [" ".repeat(1_000_001), "it has more than 1000000 bytes"],
  ])("that are broken mean that nothing is trusted, are reported, and are kept aside by the next yes: %#", (text, why) => {
    const home = temporary();
    const file = write(join(home, "trust.json"), text);
    expect(readTrust(home)).toEqual({ trust: new Map(), problem: `${file}: ${why}. Nothing is trusted because of it; \`skein trust\` puts it aside and starts a new one.` });
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(forgetProject(home, "/a")).toBe(false);
    const { aside } = trustProject(home, { root: "/a", hash: HASH });
    expect(readFileSync(aside!, "utf8")).toBe(text);
    expect(readTrust(home)).toEqual({ trust: new Map([["/a", { config: HASH, servers: [] }]]), problem: null });
  });
});

describe("the hash of a server", () => {
  const server = { command: "node", args: ["x.js"], env: { A: "1", B: "2" }, http_headers: {} };

  it("does not depend on the order of its variables, and on nothing that starts nothing", async () => {
    expect(await serverHash({ ...server, env: { B: "2", A: "1" } })).toBe(await serverHash(server));
  });

  it("changes with all that decides what is started or spoken to", async () => {
    const url = { args: [], env: {}, url: "https://a", http_headers: { X: "1" } };
    const hashes = await Promise.all(
      [server, { ...server, command: "deno" }, { ...server, args: ["x.js", ""] }, { ...server, args: ["x", ".js"] }, { ...server, env: { A: "1" } }, { ...server, env: { A: "2", B: "2" } }, { ...server, cwd: "/" }, url, { ...url, url: "https://b" }, { ...url, http_headers: {} }, { ...url, bearer_token_env_var: "T" }].map(serverHash),
    );
    expect(new Set(hashes).size).toBe(11);
  });
});

describe("trusting a project", () => {
  const CONFIG = 'sandbox_mode = "read-only"\nmodel_provider = "x"\n\n[mcp_servers.tools]\ncommand = "node"\nargs = ["a b.js"]\nenv = { KEY = "secret" }\n';
  const given = (config: string | undefined, home = "") => {
    const at = place({ ...(config === undefined ? {} : { repo: config }), home });
    const trusting = createTrusting({ home: at.home, env: { HOME: join(at.root, "user") } });
    const load = (mode: "exec" | "interactive") => {
      const { trust } = readTrust(at.home);
      return loadConfig({ home: at.home, cwd: at.repo, env: { HOME: join(at.root, "user") }, mode, flags: {}, overrides: [], trusted: (root, hash) => isTrusted(trust, { root, hash }) });
    };
    return { at, trusting, load };
  };

  it("first shows what its config would set, which servers it names and what is ignored", async () => {
    const { at, trusting } = given(CONFIG);
    const sub = join(at.repo, "sub");
    mkdirSync(sub);
    const looked = await trusting.look(sub);
    if (!looked.ok) throw new Error(looked.message);
    const { servers, warnings, ...rest } = looked.look;
    expect(rest).toEqual({ root: at.repo, file: at.repoFile, hash: hashOf(CONFIG), trusted: false, by: null, sets: [{ key: "sandbox_mode", value: "read-only", origin: `${at.repoFile}:1` }] });
    expect(servers).toEqual([{ name: "tools", what: 'runs "node" "a b.js" with KEY', hash: await serverHash({ command: "node", args: ["a b.js"], env: { KEY: "secret" }, http_headers: {} }) }]);
    expect(warnings.map((warning) => short(warning, at).split(" is ignored")[0])).toContain("repo/.skein/config.toml:2: model_provider");
    expect(existsSync(join(at.home, "trust.json"))).toBe(false);
  });

  it("counts in interactive use until the config changes, and never in exec", async () => {
    const { at, trusting, load } = given(CONFIG);
    trusting.record({ root: at.repo, hash: hashOf(CONFIG), servers: [] });
    const states = async () => [await load("interactive"), await load("exec")].map((loaded) => loaded.ok && [loaded.project.trusted, loaded.project.by]);
    expect(await states()).toEqual([[true, "record"], [false, null]]);
    expect(await trusting.list()).toEqual({ projects: [{ root: at.repo, current: true, servers: 0 }], problem: null });
    writeFileSync(at.repoFile, `${CONFIG}# changed\n`);
    expect(await states()).toEqual([[false, null], [false, null]]);
    expect(await trusting.list()).toEqual({ projects: [{ root: at.repo, current: false, servers: 0 }], problem: null });
  });

  it("without a config is trust in its having none", async () => {
    const { at, trusting, load } = given(undefined);
    const looked = await trusting.look(at.repo);
    expect(looked).toEqual({ ok: true, look: { root: at.repo, file: null, hash: hashOf(""), trusted: false, by: null, sets: [], servers: [], warnings: [] } });
    trusting.record({ root: at.repo, hash: hashOf(""), servers: [] });
    write(at.repoFile, 'sandbox_mode = "read-only"\n');
    const loaded = await load("interactive");
    expect(loaded.ok && loaded.project.trusted).toBe(false);
  });

  it("is by its real path, and is taken back from any folder of it", async () => {
    const { at, trusting } = given(undefined);
    const link = join(at.root, "link");
    symlinkSync(at.repo, link);
    const looked = await trusting.look(link);
    expect(looked.ok && looked.look.root).toBe(at.repo);
    trusting.record({ root: at.repo, hash: HASH, servers: [OTHER] });
    mkdirSync(join(at.repo, "a", "b"), { recursive: true });
    expect([trusting.forget(at.root), trusting.forget(join(link, "a", "b")), trusting.forget(at.repo)]).toEqual([null, at.repo, null]);
  });

  it("shows that [projects] of the home decides, where it does", async () => {
    const { at, trusting } = given(CONFIG, '[projects."{repo}"]\ntrust_level = "untrusted"\n');
    const looked = await trusting.look(at.repo);
    expect(looked.ok && [looked.look.by, looked.look.trusted, looked.look.hash, looked.look.sets]).toEqual(["projects", false, null, []]);
  });

  it("refuses a config that cannot be used, with its place", async () => {
    const { at, trusting } = given("sandbox_mode = 5\n");
    const looked = await trusting.look(at.repo);
    expect(looked.ok).toBe(false);
    expect(!looked.ok && short(looked.message, at)).toContain("repo/.skein/config.toml:1: sandbox_mode must be");
  });
});
