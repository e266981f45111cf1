import { expect, test } from "vitest";
import { shellEnvironment } from "../../src/tools/environment.ts";

const plain = { PATH: "/bin", HOME: "/home/u", LANG: "de_DE.UTF-8", LC_TIME: "C", TERM: "xterm", EDITOR: "vi", OLDPWD: "/x" };
const secrets = {
  OPENAI_API_KEY: "x",
  aws_secret_access_key: "x",
  GITHUB_TOKEN: "x",
  npm_config_authtoken: "x",
  PGPASSWORD: "x",
  DB_PASSWD: "x",
  GPG_PASSPHRASE: "x",
  GOOGLE_APPLICATION_CREDENTIALS: "/x.json",
  NPM_CONFIG__AUTH: "x",
  MYSQL_PWD: "x",
};

test("by default everything is inherited but what is named like a secret", () => {
  expect(shellEnvironment({ ...plain, ...secrets, GONE: undefined })).toEqual(plain);
});

test("a value in the format of a known secret is left out whatever it is called", () => {
  expect(shellEnvironment({ ...plain, DEPLOY: `ghp_${"a".repeat(36)}`, URL: `https://x/?k=sk-ant-${"b".repeat(40)}` })).toEqual(plain);
});

test("secrets are kept when the user says so", () => {
  expect(shellEnvironment({ ...plain, ...secrets }, { ignore_default_excludes: true })).toEqual({ ...plain, ...secrets });
});

test("core is what a shell needs, none is nothing", () => {
  expect(shellEnvironment(plain, { inherit: "core" })).toEqual({ PATH: "/bin", HOME: "/home/u", LANG: "de_DE.UTF-8", LC_TIME: "C", TERM: "xterm" });
  expect(shellEnvironment(plain, { inherit: "none", set: { A: "1" } })).toEqual({ A: "1" });
});

test("exclude, set and include_only apply in this order", () => {
  expect(shellEnvironment(plain, { exclude: ["ed*", "OLDPW?"], set: { MY_TOKEN: "given", EXTRA: "1" }, include_only: ["PATH", "*_TOKEN"] })).toEqual({
    PATH: "/bin",
    MY_TOKEN: "given",
  });
});

// One that goes back and tries again would not end.
test("many stars come to an end", () => {
  const name = "A".repeat(5000);
  expect(shellEnvironment({ [name]: "1" }, { exclude: [`${"*A".repeat(200)}*B`] })).toEqual({ [name]: "1" });
});
