import * as fc from "fast-check";
import { stringify } from "smol-toml";
import { expect, test } from "vitest";
import { INHERIT, SANDBOX_MODES, WEB_SEARCH, type Config } from "../../src/config/config.ts";
import { describeConfig } from "../../src/config/describe.ts";
import { loadConfig, type Loaded } from "../../src/config/load.ts";
import { CONFIG_KEYS, type Keys, type Kind } from "../../src/config/schema.ts";
import { settingsOf } from "../../src/config/settings.ts";
import { place, runs, write, type Place } from "./given.ts";

const anything = fc.oneof(fc.string(), fc.boolean(), fc.double({ noNaN: true }), fc.integer(), fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 3 }), fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }));
const names = fc.constantFrom("a", "b.c", "openai", "ollama", "__proto__", "constructor", "toString", "ü x");
const words = fc.constantFrom("a", "b", "PATH", "ls", "--flag", "x y", "\u001b[2J", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
const NEEDED = ["base_url", "command", "argv_prefix", "decision", "trust_level"];
const LEFT_OUT = ["url", "profile", "model_provider", "auto_compact_token_limit"];

/** Values that fit the schema; one in `strange` does not, if that is given. */
function fitting(kind: Kind, strange = 0): fc.Arbitrary<unknown> {
  const right = ((): fc.Arbitrary<unknown> => {
    switch (kind.kind) {
      case "string":
        return words;
      case "text":
        return fc.oneof(words, fc.constant(""));
      case "variable":
        return fc.constantFrom("A_KEY", "B");
      case "path":
        return fc.constantFrom("/a", "~/b", "c/../d", ".");
      case "url":
        return fc.constantFrom("http://127.0.0.1:1/v1", "https://x.example", "http://[::1]/?k=v");
      case "enum":
        return fc.constantFrom(...kind.values);
      case "word":
        return fc.constantFrom(...kind.known);
      case "integer":
      case "number":
        return fc.integer({ min: 1, max: 100 });
      case "boolean":
        return fc.boolean();
      case "strings":
        return fc.array(words, { minLength: 1, maxLength: 3 });
      case "paths":
        return fc.subarray(["/a", "/b", "/c"]);
      case "table":
        return tableOf(kind.keys, strange);
      case "map":
        return fc.dictionary(names, fitting(kind.of, strange), { maxKeys: 2 });
      case "rules":
        return fc.array(tableOf(kind.keys, strange), { maxLength: 2 });
      case "alias":
        return fc.integer({ min: 1 });
    }
  })();
  return strange === 0 ? right : fc.oneof({ weight: strange, arbitrary: right }, { weight: 1, arbitrary: anything });
}

function tableOf(keys: Keys, strange: number): fc.Arbitrary<Record<string, unknown>> {
  const kept = Object.entries(keys).filter(([name]) => strange > 0 || !LEFT_OUT.includes(name));
  return fc.record(Object.fromEntries(kept.map(([name, kind]) => [name, fitting(kind, strange)])), { requiredKeys: strange > 0 ? [] : kept.map(([name]) => name).filter((name) => NEEDED.includes(name)) });
}

const textOf = (table: Record<string, unknown>) => {
  try {
    return stringify(table as Record<string, never>);
  } catch {
    return "";
  }
};
const valid = tableOf(CONFIG_KEYS, 0).map(textOf);
const nearlyValid = tableOf(CONFIG_KEYS, 100).map(textOf);
const scraps = fc
  .array(fc.constantFrom("[", "]", "[[", "]]", "{", "}", "=", ".", ",", '"', "'", '"""', "#", "\n", " ", "\\", "model", "history", "rules", "mcp_servers", "profiles.p", "1", "true", "1979-05-27", "inf"), { maxLength: 40 })
  .map((parts) => parts.join(""));
const texts = fc.oneof(fc.string({ unit: "binary" }), scraps, nearlyValid, valid);
const bytes = fc.oneof({ weight: 5, arbitrary: texts.map((text) => Buffer.from(text)) }, { weight: 1, arbitrary: fc.uint8Array() });

async function from(at: Place, more: Partial<Parameters<typeof loadConfig>[0]> = {}): Promise<Loaded> {
  return loadConfig({ home: at.home, cwd: at.repo, env: { HOME: at.root }, mode: "interactive", flags: {}, overrides: [], trusted: () => true, ...more });
}

function isUsable(loaded: Extract<Loaded, { ok: true }>, at: Place): void {
  const rows = describeConfig(loaded.config, loaded.origins);
  const keys = new Set(rows.map(({ key }) => key));
  expect([...loaded.origins.keys()].filter((key) => !keys.has(key))).toEqual([]);
  expect(JSON.stringify(rows)).not.toContain("ghp_");
  expect(settingsOf(loaded.config, loaded.cwd).cwd).toBe(at.repo);
}

test(
  "whatever is in the files and on the command line, loading ends with a config or with a place and a reason",
  async () => {
    const at = place({});
    await fc.assert(
      fc.asyncProperty(
        fc.record({ home: bytes, repo: bytes, overrides: fc.array(fc.oneof(fc.string(), scraps, texts), { maxLength: 2 }), profile: fc.option(fc.constantFrom("p", "a", "")), strict: fc.boolean(), exec: fc.boolean() }),
        async ({ home, repo, overrides, profile, strict, exec }) => {
          write(at.homeFile, home);
          write(at.repoFile, repo);
          const loaded = await from(at, { mode: exec ? "exec" : "interactive", overrides, strict, ...(profile === null ? {} : { profile }) });
          if (loaded.ok) isUsable(loaded, at);
          else expect(loaded.message.split("\n").slice(1, -1).join("\n")).toMatch(/^ {2}(?:\S+config\.toml|-c|--profile)/u);
        },
      ),
      runs(400),
    );
  },
  600_000,
);

test(
  "whatever a repository says, nothing is wider than without it, and nothing that is not its own changes",
  async () => {
    const at = place({});
    await fc.assert(
      fc.asyncProperty(valid, valid, async (home, repo) => {
        write(at.homeFile, home);
        write(at.repoFile, "");
        const without = await from(at);
        write(at.repoFile, repo);
        const within = await from(at);
        if (!without.ok || !within.ok) throw new Error(`${without.ok ? "" : without.message}${within.ok ? "" : within.message}`);
        isUsable(within, at);
        expect(wider(without.config, within.config)).toEqual([]);
        expect(notItsOwn(within.config)).toEqual(notItsOwn(without.config));
      }),
      runs(150),
    );
  },
  600_000,
);

/** The permissions that `after` has and `before` had not. Written apart from the code that narrows. */
function wider(before: Config, after: Config): string[] {
  const found: string[] = [];
  const say = (when: boolean, what: string) => void (when && found.push(what));
  const later = (order: readonly string[], key: "sandbox_mode" | "web_search") => say(order.indexOf(after[key]) > order.indexOf(before[key]), key);
  later(SANDBOX_MODES, "sandbox_mode");
  const asks = { untrusted: 0, "on-failure": 1, "on-request": 1, never: 2 };
  say(after.approval_policy !== before.approval_policy && asks[after.approval_policy] >= asks[before.approval_policy], "approval_policy");
  later(WEB_SEARCH, "web_search");
  const [box, was] = [after.sandbox_workspace_write, before.sandbox_workspace_write];
  say(box.network_access && !was.network_access, "network_access");
  say(!box.exclude_slash_tmp && was.exclude_slash_tmp, "exclude_slash_tmp");
  say(!box.exclude_tmpdir_env_var && was.exclude_tmpdir_env_var, "exclude_tmpdir_env_var");
  say(box.writable_roots.some((root) => !was.writable_roots.includes(root)), "writable_roots");
  const [env, had] = [after.shell_environment_policy, before.shell_environment_policy];
  say(INHERIT.indexOf(env.inherit) > INHERIT.indexOf(had.inherit), "inherit");
  say(env.ignore_default_excludes && !had.ignore_default_excludes, "ignore_default_excludes");
  say(had.exclude.some((each) => !env.exclude.includes(each)), "exclude");
  say(had.include_only.length > 0 && (env.include_only.length === 0 || env.include_only.some((each) => !had.include_only.includes(each))), "include_only");
  for (const [name, server] of Object.entries(after.mcp_servers)) {
    const old = before.mcp_servers[name];
    if (!old) found.push(`new server ${name}`);
    else {
      say(server.enabled && !old.enabled, `${name} enabled`);
      say(old.enabled_tools !== undefined && (server.enabled_tools === undefined || server.enabled_tools.some((tool) => !old.enabled_tools!.includes(tool))), `${name} enabled_tools`);
      say(old.disabled_tools.some((tool) => !server.disabled_tools.includes(tool)), `${name} disabled_tools`);
    }
  }
  say(after.rules.filter(({ decision }) => decision === "allow").length > before.rules.filter(({ decision }) => decision === "allow").length, "rules");
  say(after.history.persistence === "save-all" && before.history.persistence === "none", "persistence");
  say(before.history.sensitive_patterns.some((each) => !after.history.sensitive_patterns.includes(each)), "sensitive_patterns");
  return found;
}

function notItsOwn({ model_providers, openai_base_url, model_provider, profile, profiles, projects, tui, history, shell_environment_policy, mcp_servers }: Config): unknown {
  const servers = Object.entries(mcp_servers).map(([name, { enabled: _e, enabled_tools: _t, disabled_tools: _d, ...rest }]) => [name, rest]);
  return { model_providers, openai_base_url, model_provider, profile, profiles, projects, tui, size: history.max_size, set: shell_environment_policy.set, servers };
}
