/** The command line: which command, with what, and how it ended. */
import { parseArgs } from "node:util";
import { COMMANDS, helpOf, overview, type Command } from "./commands.ts";
import { expected } from "./explain.ts";
import { positive } from "./numbers.ts";
import { EXIT, UserError, type Shell, type Wish } from "./shell.ts";

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

export async function run(argv: readonly string[], shell: Shell): Promise<number> {
  const [name, ...rest] = argv;
  if (name === "--help" || name === "-h" || name === "help") {
    const about = COMMANDS.find((command) => command.name === rest[0]);
    if (!about && rest[0] !== undefined) {
      shell.stderr.write(`skein: There is no command "${rest[0]}". \`skein --help\` lists the commands.\n`);
      return EXIT.usage;
    }
    shell.stdout.write(about ? helpOf(about) : overview());
    return EXIT.done;
  }
  try {
    if (name === undefined) return await (await import("./tour.ts")).tour({ json: false }, shell);
    const command = COMMANDS.find((each) => each.name === name);
    if (!command) throw new UserError(`Unknown command "${name}". \`skein --help\` lists the commands.`, EXIT.usage);
    const { values, positionals } = parse(command, rest);
    if (values["help"]) {
      shell.stdout.write(helpOf(command));
      return EXIT.done;
    }
    const extra = command.words === undefined ? undefined : positionals[command.words];
    if (extra !== undefined) throw new UserError(`"${extra}" is a word too many. usage: ${command.usage}`, EXIT.usage);
    return await perform(command, { values, positionals, shell });
  } catch (error) {
    const failure = expected(error);
    if (!failure) throw error;
    if (name === "exec" && rest.some((word) => word === "--json" || word === "--experimental-json")) {
      const { createLines } = await import("./exec-lines.ts");
      shell.stdout.write(`${JSON.stringify(createLines().failed(failure.message))}\n`);
    }
    shell.stderr.write(`skein: ${failure.message}\n`);
    return failure.exit;
  }
}

async function perform(command: Command, given: { values: Values; positionals: string[]; shell: Shell }): Promise<number> {
  const { values, positionals, shell } = given;
  switch (command.name) {
    case "exec": {
      const request = execRequest(values, positionals);
      return (await import("./exec.ts")).exec(request, shell);
    }
    case "config":
      return (await import("./config.ts")).config({ wish: { ...wishOf(values), mode: "interactive" }, json: values["json"] === true }, shell);
    case "skills":
      return (await import("./skills.ts")).skills({ wish: { ...wishOf(values), mode: "interactive" }, json: values["json"] === true }, shell);
    case "usage":
      return (await import("./usage.ts")).usage(values, shell);
    case "trust":
      return (await import("./trust.ts")).trust({ folder: positionals[0] ?? null, values }, shell);
    case "compact":
      return (await import("./compact.ts")).compact(compactRequest(values, positionals), shell);
    case "mcp":
      return (await import("./mcp.ts")).mcp({ wish: { ...wishOf(values), mode: "interactive" }, words: positionals, values }, shell);
    case "doctor":
      return (await import("./doctor.ts")).doctor({ json: values["json"] === true }, shell);
    case "tour":
      return (await import("./tour.ts")).tour({ json: values["json"] === true }, shell);
    case "list":
      return (await import("./list.ts")).list(values, shell);
    case "search":
      return (await import("./list.ts")).search({ words: positionals.join(" "), values }, shell);
    case "follow":
      return (await import("./follow.ts")).follow({ id: positionals[0] ?? null, values }, shell);
    default:
      return (await import("./fork.ts")).fork({ id: positionals[0] ?? null, values }, shell);
  }
}

function parse(command: Command, args: readonly string[]): { values: Values; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(command.flags).map(([name, { type, short, multiple }]) => [name, { type, ...(short ? { short } : {}), ...(multiple ? { multiple } : {}) }]),
  );
  try {
    return parseArgs({ args: withNumbers(command, args), options, allowPositionals: true, strict: true });
  } catch (error) {
    if (command.name === "mcp" && args[0] === "add" && !args.some((word) => word === "--" || word.startsWith("--url"))) throw new UserError("Put -- before the command, so that its options are its own: skein mcp add NAME -- COMMAND [ARG]...", EXIT.usage);
    throw new UserError(`${error instanceof Error ? error.message : String(error)}\n\`skein ${command.name} --help\` explains the options.`, EXIT.usage);
  }
}

/** A number below zero after an option is its value, so that the option can say what it takes. */
function withNumbers({ flags }: Command, args: readonly string[]): string[] {
  const all = [...args];
  for (let at = 0; at + 1 < all.length && all[at] !== "--"; at++) {
    const name = /^--(.+)$/u.exec(all[at]!)?.[1] ?? "";
    if (Object.hasOwn(flags, name) && flags[name]!.type === "string" && /^-\d/u.test(all[at + 1]!)) all.splice(at, 2, `--${name}=${all[at + 1]}`);
  }
  return all;
}

function execRequest(values: Values, positionals: string[]): import("./exec.ts").ExecRequest {
  const resuming = positionals[0] === "resume";
  const words = resuming ? positionals.slice(1) : positionals;
  const last = values["last"] === true;
  const id = resuming && !last ? (words.shift() ?? null) : null;
  if (resuming && !last && id === null) throw new UserError("Which thread? Give its id, or --last.", EXIT.usage);
  if (!resuming && values["take-over"]) throw new UserError("--take-over goes with `skein exec resume`.", EXIT.usage);
  if (!resuming && last) throw new UserError("--last goes with `skein exec resume`.", EXIT.usage);
  if (words.length > 1) throw new UserError(`The prompt is one argument; quote it: skein exec "${words.join(" ")}"`, EXIT.usage);
  return {
    wish: wishOf(values),
    prompt: words[0] ?? null,
    resume: resuming ? { id, last, takeOver: values["take-over"] === true } : null,
    json: values["json"] === true || values["experimental-json"] === true,
    quiet: values["quiet"] === true,
    ephemeral: values["ephemeral"] === true,
    skipGitCheck: values["skip-git-repo-check"] === true,
    timeoutSeconds: positive(values["timeout"], "--timeout"),
    images: (values["image"] as string[] | undefined) ?? [],
    schemaFile: text(values["output-schema"]),
    lastMessageFile: text(values["output-last-message"]),
    threadSource: text(values["thread-source"]),
    ...(typeof values["replay"] === "string" ? { replay: values["replay"] } : {}),
  };
}

function compactRequest(values: Values, words: readonly string[]): import("./compact.ts").CompactRequest {
  const last = values["last"] === true;
  const [id, rest] = last ? [null, words] : [words[0] ?? null, words.slice(1)];
  const instructions = rest.length === 0 ? null : rest.join(" ");
  const flag = (name: string): boolean => values[name] === true;
  return { wish: wishOf(values), id, last, instructions, preview: flag("preview"), edit: flag("edit"), undo: flag("undo"), json: flag("json") };
}

function wishOf(values: Values): Wish {
  const wish: Wish = { mode: "exec", overrides: (values["config"] as string[] | undefined) ?? [] };
  const model = text(values["model"]);
  const profile = text(values["profile"]);
  const sandbox = text(values["sandbox"]);
  const approval = text(values["ask-for-approval"]);
  const cd = text(values["cd"]);
  if (model !== null) wish.model = model;
  if (profile !== null) wish.profile = profile;
  if (sandbox !== null) wish.sandbox = sandbox;
  if (approval !== null) wish.approval = approval;
  if (cd !== null) wish.cd = cd;
  if (Array.isArray(values["add-dir"])) wish.addDirs = values["add-dir"] as string[];
  if (values["full-auto"]) wish.fullAuto = true;
  if (values["dangerously-bypass-approvals-and-sandbox"]) wish.bypass = true;
  if (values["strict-config"]) wish.strict = true;
  return wish;
}

function text(value: Values[string]): string | null {
  return typeof value === "string" ? value : null;
}
