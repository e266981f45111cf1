/** `[mcp_servers.NAME]` added to and removed from a config file as text. */
import { chmodSync, lstatSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "smol-toml";
import { expect, onTestFinished, test } from "vitest";
import { addServer, editConfig, removeServer } from "../../src/config/servers.ts";
import { load } from "./given.ts";

const file = "config.toml";
const COMMENTED = `# mine
model = "m"   # the good one

# notes
[mcp_servers.notes]
command = "notes"   # with a comment
args = [
  "a", # first
]

  [mcp_servers.notes.env]
  A = "[not.a.header]"

[mcp_servers."notes.too"]
url = "http://127.0.0.1:1/mcp"

[mcp_servers.notes.tools.delete]
approval_mode = "prompt"

# profiles
[profiles.p]
model = "other"
`;

test("a server is added at the end, and nothing else is touched", async () => {
  expect(await addServer(COMMENTED, { file, name: "my files", server: { command: "npx", args: ["-y", 'say "hi"', "\u007f"], env: { KEY: "a=b", "odd key": "" } } })).toEqual({
    ok: true,
    text: `${COMMENTED}\n[mcp_servers."my files"]\ncommand = "npx"\nargs = ["-y", "say \\"hi\\"", "\\u007f"]\nenv = { KEY = "a=b", "odd key" = "" }\n`,
  });
  expect(await addServer("", { file, name: "web", server: { url: "https://example.com/mcp", bearer_token_env_var: "TOKEN" } })).toEqual({ ok: true, text: '[mcp_servers.web]\nurl = "https://example.com/mcp"\nbearer_token_env_var = "TOKEN"\n' });
  expect(await addServer('model = "m"', { file, name: "a", server: { command: "c" } })).toEqual({ ok: true, text: 'model = "m"\n\n[mcp_servers.a]\ncommand = "c"\n' });
});

test("what is there already, cannot be there or is wrong is refused", async () => {
  const message = async (text: string, name: string, server: Parameters<typeof addServer>[1]["server"] = { command: "c" }) => {
    const edited = await addServer(text, { file, name, server });
    return edited.ok ? null : edited.message;
  };
  expect(await message(COMMENTED, "notes")).toBe('config.toml has an MCP server "notes" already. Remove it first, or choose another name.');
  expect(await message('mcp_servers = { a = { command = "c" } }', "b")).toBe('config.toml was not changed: mcp_servers is not written as tables of its own there. Add the server "b" by hand.');
  expect(await message("model = ", "a")).toMatch(/^Nothing was changed: config\.toml:1:9: is not valid TOML/u);
  expect(await message("", "a", { url: "ftp://example.com" })).toBe('Nothing was changed: mcp_servers.a.url must be an http or https address without a user name or password, not "ftp://example.com".');
  expect(await message("", "a", { url: "http://x/mcp", bearer_token_env_var: "sk-not-a-name" })).toBe("Nothing was changed: mcp_servers.a.bearer_token_env_var must be the name of an environment variable (never the key itself), not a string.");
});

test("a server is removed with its sub-tables, wherever they are; comments of others stay", async () => {
  expect(await removeServer(COMMENTED, { file, name: "notes" })).toEqual({
    ok: true,
    text: '# mine\nmodel = "m"   # the good one\n\n# notes\n[mcp_servers."notes.too"]\nurl = "http://127.0.0.1:1/mcp"\n\n# profiles\n[profiles.p]\nmodel = "other"\n',
  });
  expect(await removeServer(COMMENTED, { file, name: "none" })).toEqual({ ok: false, missing: true, message: 'config.toml has no MCP server "none".' });
  const inline = '[mcp_servers]\na = { command = "c" }\n';
  expect(await removeServer(inline, { file, name: "a" })).toEqual({ ok: false, message: 'config.toml was not changed: it is not written as a table mcp_servers.a of its own there. Remove the server "a" by hand.' });
  const tricky = 'text = """\n[mcp_servers.a]\n"""\n[mcp_servers.a]\ncommand = "c"\n';
  expect((await removeServer(tricky, { file, name: "a" })).ok).toBe(false);
});

test("what was added and removed again leaves the text as it was", async () => {
  const names = fc.string({ minLength: 1 }).filter((name) => name !== "__proto__");
  const texts = fc.constantFrom("", COMMENTED, 'model = "m"\n', '[tui]\nresume_picker_limit = 3 # few\n');
  await fc.assert(
    fc.asyncProperty(texts, names, fc.array(fc.string()), async (text, name, args) => {
      const added = await addServer(text, { file, name, server: { command: "c", args } });
      if (!added.ok) return;
      expect((parse(added.text)["mcp_servers"] as Record<string, unknown>)[name]).toEqual({ command: "c", ...(args.length > 0 ? { args } : {}) });
      expect(await removeServer(added.text, { file, name })).toEqual({ ok: true, text });
    }),
    { numRuns: 200 },
  );
});

test("a file is replaced whole, for its user's eyes only, and a link to it stays a link", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-servers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [real, link] = [join(folder, "real.toml"), join(folder, "config.toml")];
  writeFileSync(real, "# mine\n");
  chmodSync(real, 0o644);
  symlinkSync(real, link);
  expect(await editConfig(link, () => Promise.resolve({ ok: false, message: "no" }))).toEqual({ ok: false, message: "no" });
  expect(readFileSync(real, "utf8")).toBe("# mine\n");
  await editConfig(link, (text) => addServer(text, { file: link, name: "a", server: { command: "c" } }));
  expect(readFileSync(real, "utf8")).toBe('# mine\n\n[mcp_servers.a]\ncommand = "c"\n');
  expect(statSync(real).mode & 0o777).toBe(0o600);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readdirSync(folder)).toEqual(["config.toml", "real.toml"]);
  const fresh = join(folder, "new", "config.toml");
  await editConfig(fresh, (text) => addServer(text, { file: fresh, name: "a", server: { command: "c" } }));
  expect(statSync(fresh).mode & 0o777).toBe(0o600);
});

test("approval is set for a server and for each of its tools; another word is refused with its place", async () => {
  const text = '[mcp_servers.a]\ncommand = "c"\nenv_vars = ["TOKEN"]\ndefault_tools_approval_mode = "prompt"\n\n[mcp_servers.a.tools."read it"]\napproval_mode = "approve"\n';
  const { loaded } = await load({ home: text });
  expect(loaded.ok && loaded.warnings).toEqual([]);
  expect(loaded.ok && loaded.config.mcp_servers["a"]).toMatchObject({ env_vars: ["TOKEN"], default_tools_approval_mode: "prompt", tools: { "read it": { approval_mode: "approve" } } });
  const { loaded: refused, at } = await load({ home: text.replace('"approve"', '"always"') });
  expect(refused).toMatchObject({ ok: false, message: expect.stringContaining(`${at.homeFile}:7: mcp_servers.a.tools."read it".approval_mode must be one of "auto", "prompt", "approve", not "always".`) as string });
  const { loaded: own } = await load({ home: text, repo: '[mcp_servers.a]\ndefault_tools_approval_mode = "approve"\n[mcp_servers.a.tools.x]\napproval_mode = "approve"\n', trust: true });
  expect(own.ok && own.config.mcp_servers["a"]).toMatchObject({ default_tools_approval_mode: "prompt", tools: { "read it": { approval_mode: "approve" } } });
  expect(own.ok && own.config.mcp_servers["a"]!.tools!["x"]).toBeUndefined();
});
