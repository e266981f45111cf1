/** `skein trust`: says yes to a project after showing what that would mean, lists what was said yes to, and takes it back. */
import { createInterface } from "node:readline/promises";
import { resolve } from "node:path";
import { EXIT, UserError, type ProjectLook, type Shell, type Trusting } from "./shell.ts";

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

const FOR_INTERACTIVE = "This counts for interactive use. `skein exec` trusts only folders that [projects] in the config of your home names.";

export async function trust(given: { folder: string | null; values: Values }, shell: Shell): Promise<number> {
  const { values } = given;
  const trusting = await shell.trust();
  if (values["list"]) return list(trusting, { json: values["json"] === true, shell });
  const folder = resolve(shell.cwd, given.folder ?? ".");
  if (values["remove"]) return remove(trusting, { folder, json: values["json"] === true, shell });
  const looked = await trusting.look(folder);
  if (!looked.ok) throw new UserError(looked.message, EXIT.usage);
  return record(trusting, { look: looked.look, values, shell });
}

async function list(trusting: Trusting, { json, shell }: { json: boolean; shell: Shell }): Promise<number> {
  const { projects, problem } = await trusting.list();
  if (problem !== null) shell.stderr.write(`! ${problem}\n`);
  for (const project of projects) {
    const servers = project.servers === 0 ? "" : `  (${project.servers} MCP server${project.servers === 1 ? "" : "s"})`;
    shell.stdout.write(json ? `${JSON.stringify(project)}\n` : `${visible(project.root)}${project.current ? "" : "  (its config has changed since)"}${servers}\n`);
  }
  if (!json) shell.stderr.write(projects.length === 0 ? "No project was said yes to. `skein trust` does so for the project of this folder.\n" : `${FOR_INTERACTIVE}\n`);
  return EXIT.done;
}

function remove(trusting: Trusting, { folder, json, shell }: { folder: string; json: boolean; shell: Shell }): number {
  const root = trusting.forget(folder);
  if (root === null) throw new UserError(`Nothing is recorded for ${visible(folder)} or a folder above it. \`skein trust --list\` shows what is.`, EXIT.notFound);
  shell.stdout.write(json ? `${JSON.stringify({ root, trusted: false })}\n` : `${visible(root)} is no longer trusted.\n`);
  return EXIT.done;
}

async function record(trusting: Trusting, { look, values, shell }: { look: ProjectLook; values: Values; shell: Shell }): Promise<number> {
  shell.stderr.write(meaning(look));
  if (look.by === "projects") {
    shell.stderr.write(`[projects] in the config of your home says that it is ${look.trusted ? "trusted" : "not trusted"}, and that counts: nothing was recorded.\n`);
    return look.trusted ? EXIT.done : EXIT.failed;
  }
  if (look.hash === null) throw new UserError(`The config of ${visible(look.root)} cannot be read: nothing was recorded.`, EXIT.failed);
  if (!values["yes"] && !(await agrees(shell, look.root))) {
    shell.stderr.write("Nothing was recorded.\n");
    return EXIT.failed;
  }
  const { aside } = trusting.record({ root: look.root, hash: look.hash, servers: look.servers.map(({ hash }) => hash) });
  if (aside !== null) shell.stderr.write(`! The old file was not readable and is kept as ${aside}.\n`);
  shell.stdout.write(values["json"] ? `${JSON.stringify({ root: look.root, trusted: true, config: look.hash, servers: look.servers.map(({ name }) => name) })}\n` : `${visible(look.root)} is trusted, as long as its config stays as it is.\n`);
  shell.stderr.write(`${FOR_INTERACTIVE}\n`);
  return EXIT.done;
}

function meaning({ root, file, sets, servers, warnings, trusted }: ProjectLook): string {
  const lines = [`${visible(root)}${trusted ? " (trusted already)" : ""}`];
  if (file === null) lines.push("  It has no .skein/config.toml: nothing is set by it.");
  else if (sets.length === 0) lines.push(`  ${visible(file)} sets nothing.`);
  else lines.push(`  ${visible(file)} sets:`, ...sets.map(({ key, value }) => `    ${visible(key)} = ${visible(JSON.stringify(value))}`));
  if (servers.length > 0) lines.push("  MCP servers that it names:", ...servers.map(({ name, what }) => `    ${visible(name)}: ${visible(what)}`));
  for (const warning of warnings) lines.push(`  ! ${visible(warning)}`);
  return `${lines.join("\n")}\n`;
}

async function agrees(shell: Shell, root: string): Promise<boolean> {
  if (!shell.stdin.isTTY || !shell.stderr.isTTY) throw new UserError("This is no terminal, so nobody can be asked. Say --yes if it is to be trusted.", EXIT.usage);
  const reader = createInterface({ input: shell.stdin, output: shell.stderr, terminal: false });
  const closed = new Promise<string>((settle) => reader.once("close", () => settle("")));
  const answer = await Promise.race([reader.question(`Trust ${visible(root)}? [y/N] `), closed]);
  reader.close();
  return /^y(?:es)?$/iu.test(answer.trim());
}

/** Without what a terminal would act upon. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}
