/** The commands: what each is called, what it takes and how it is explained. One table for parsing and for `--help`. */

export interface Flag {
  type: "string" | "boolean";
  short?: string;
  multiple?: boolean;
  /** How the value is named in help. */
  value?: string;
  help: string;
}
export interface Command {
  name: string;
  usage: string;
  summary: string;
  /** How many words it takes beside its options, where they are counted here. */
  words?: number;
  flags: Record<string, Flag>;
  examples: string[];
}

const COMMON: Record<string, Flag> = {
  model: { type: "string", short: "m", value: "MODEL", help: "the model to ask" },
  config: { type: "string", short: "c", multiple: true, value: "KEY=VALUE", help: "set a config value (dotted path, TOML value); may be repeated" },
  profile: { type: "string", short: "p", value: "NAME", help: "a profile of the config file" },
  cd: { type: "string", short: "C", value: "DIR", help: "the folder to work in" },
  "add-dir": { type: "string", multiple: true, value: "DIR", help: "another folder that may be written to; may be repeated" },
  sandbox: { type: "string", short: "s", value: "MODE", help: "read-only, workspace-write or danger-full-access" },
  "ask-for-approval": { type: "string", short: "a", value: "POLICY", help: "untrusted, on-failure, on-request or never" },
  "full-auto": { type: "boolean", help: "workspace-write, asking only when the model asks" },
  "dangerously-bypass-approvals-and-sandbox": { type: "boolean", help: "run everything, unsandboxed and unasked" },
  "strict-config": { type: "boolean", help: "refuse unknown config keys" },
};
const HELP: Record<string, Flag> = { help: { type: "boolean", short: "h", help: "show this help" } };

export const COMMANDS: readonly Command[] = [
  {
    name: "exec",
    usage: "skein exec [PROMPT | -]  ·  skein exec resume ID|--last [PROMPT | -]",
    summary: "one headless turn; what happens goes to stderr, the last message to stdout",
    flags: {
      ...COMMON,
      json: { type: "boolean", help: "events as JSON lines on stdout" },
      "experimental-json": { type: "boolean", help: "the same as --json" },
      last: { type: "boolean", help: "with resume: the thread that was written to last" },
      "take-over": { type: "boolean", help: "with resume: ask the process that has the thread open to give it up" },
      replay: { type: "string", value: "ID|FILE", help: "play a recorded thread or log as its own model, offline" },
      ephemeral: { type: "boolean", help: "nothing of the conversation touches disk" },
      quiet: { type: "boolean", short: "q", help: "print the last message only" },
      image: { type: "string", short: "i", multiple: true, value: "FILE", help: "an image to send with the prompt; may be repeated" },
      "output-schema": { type: "string", value: "FILE", help: "a JSON Schema that the last message must follow" },
      timeout: { type: "string", value: "SECONDS", help: "cancel the turn after so long (exit code 5)" },
      "output-last-message": { type: "string", short: "o", value: "FILE", help: "write the last message to a file" },
      "skip-git-repo-check": { type: "boolean", help: "work outside a git repository too" },
      "thread-source": { type: "string", value: "WORD", help: "what kind of program starts the thread; kept as a tag of it" },
      "cyber-access-program": { type: "string", value: "WORD", help: "taken for programs that pass it; without effect here" },
      ...HELP,
    },
    examples: ['skein exec "why does the build fail?"', 'git diff | skein exec "review this" -q', 'skein exec resume --last "now fix it"', 'skein exec --json "list the tests" | jq -c .type'],
  },
  {
    name: "config",
    usage: "skein config",
    summary: "every value that is in force, and where it came from",
    words: 0,
    flags: { ...COMMON, json: { type: "boolean", help: "one JSON object a line" }, ...HELP },
    examples: ["skein config", "skein config -p work --json | jq -r .key"],
  },
  {
    name: "skills",
    usage: "skein skills",
    summary: "the skills that a thread in this folder would have, and what is wrong with others",
    words: 0,
    flags: { ...COMMON, json: { type: "boolean", help: "one JSON object a line" }, ...HELP },
    examples: ["skein skills", "skein skills -C ../other --json | jq -r .name"],
  },
  {
    name: "usage",
    usage: "skein usage [--by day|model|project]",
    summary: "tokens and cost",
    words: 0,
    flags: {
      by: { type: "string", value: "WAY", help: "day (in UTC), model or project (day)" },
      since: { type: "string", value: "DAY", help: "from this day on: 2026-01-31, or 7d for the last seven days" },
      cwd: { type: "string", value: "DIR", help: "only what was asked from this folder and folders in it" },
      json: { type: "boolean", help: "one JSON object a line" },
      ...HELP,
    },
    examples: ["skein usage", "skein usage --by model --since 30d", "skein usage --by project --json | jq .cost"],
  },
  {
    name: "list",
    usage: "skein list",
    summary: "threads, newest first",
    words: 0,
    flags: {
      json: { type: "boolean", help: "one JSON object a line" },
      limit: { type: "string", value: "N", help: "how many (20)" },
      cursor: { type: "string", value: "C", help: "go on after the page that gave this cursor" },
      source: { type: "string", multiple: true, value: "S", help: "only threads of this source: interactive, exec, app-server, mcp" },
      provider: { type: "string", multiple: true, value: "P", help: "only threads of this model provider" },
      cwd: { type: "string", value: "DIR", help: "only threads of this folder" },
      text: { type: "string", value: "WORDS", help: "only threads that hold these words" },
      archived: { type: "boolean", help: "archived threads" },
      ...HELP,
    },
    examples: ["skein list", "skein list --cwd . --limit 5", "skein list --json | jq -r .id"],
  },
  {
    name: "search",
    usage: "skein search WORDS",
    summary: "full text over messages, commands and outputs",
    flags: { json: { type: "boolean", help: "one JSON object a line" }, limit: { type: "string", value: "N", help: "how many (20)" }, cursor: { type: "string", value: "C", help: "go on after the page that gave this cursor" }, ...HELP },
    examples: ["skein search flaky test"],
  },
  {
    name: "fork",
    usage: "skein fork ID|--last [--at N]",
    summary: "a new thread that leaves this one before its N-th message (1-based), or at its end",
    words: 1,
    flags: { last: { type: "boolean", help: "the thread that was written to last" }, at: { type: "string", value: "N", help: "before the N-th message that was typed" }, json: { type: "boolean", help: "print the result as JSON" }, ...HELP },
    examples: ["skein fork --last", "skein fork 0198c1 --at 3"],
  },
  {
    name: "compact",
    usage: "skein compact ID|--last [INSTRUCTIONS]",
    summary: "put a summary in the place of a thread's older history, for the model; the log keeps everything",
    flags: {
      ...COMMON,
      last: { type: "boolean", help: "the thread that was written to last" },
      preview: { type: "boolean", help: "show what would go and what would stay; nothing is changed" },
      edit: { type: "boolean", help: "open the summary in your editor before it takes effect" },
      undo: { type: "boolean", help: "take the last compaction back; with more than one, each by itself" },
      json: { type: "boolean", help: "print the result as JSON" },
      ...HELP,
    },
    examples: ["skein compact --last --preview", 'skein compact 0198c1 "keep the exact error messages"', "skein compact 0198c1 --undo"],
  },
  {
    name: "follow",
    usage: "skein follow ID|--last",
    summary: "a thread as it happens, whoever writes it; Ctrl-C stops watching",
    words: 1,
    flags: {
      last: { type: "boolean", help: "the thread that was written to last" },
      after: { type: "string", value: "CURSOR", help: "only what comes after this cursor" },
      once: { type: "boolean", help: "stop when a turn has ended" },
      json: { type: "boolean", help: "as the JSON lines of exec" },
      events: { type: "boolean", help: "events as they are, with their cursors, one JSON object a line" },
      ...HELP,
    },
    examples: ["skein follow --last", "skein follow 0198c1 --events | jq -c '[.cursor, .type]'"],
  },
  {
    name: "trust",
    usage: "skein trust [DIR]",
    summary: "trust the project of a folder in interactive use, after seeing what its config would set",
    words: 1,
    flags: {
      yes: { type: "boolean", help: "do not ask" },
      list: { type: "boolean", help: "the projects that are trusted" },
      remove: { type: "boolean", help: "no longer trust it" },
      json: { type: "boolean", help: "print the result as JSON" },
      ...HELP,
    },
    examples: ["skein trust", "skein trust --list", "skein trust ~/src/app --remove"],
  },
  {
    name: "mcp",
    usage: "skein mcp list  ·  add NAME -- COMMAND [ARG]...  ·  add NAME --url URL  ·  remove NAME  ·  test [NAME]...",
    summary: "MCP servers, whose tools the model can use: list, add and remove them, or start them to see whether they work",
    flags: {
      url: { type: "string", value: "URL", help: "with add: a server at an address, over streamable HTTP" },
      "bearer-token-env-var": { type: "string", value: "NAME", help: "with --url: the variable that holds its key" },
      env: { type: "string", multiple: true, value: "NAME=VALUE", help: "with a command: a variable that it sees; may be repeated" },
      config: { type: "string", short: "c", multiple: true, value: "KEY=VALUE", help: "set a config value (dotted path, TOML value); may be repeated" },
      profile: { type: "string", short: "p", value: "NAME", help: "a profile of the config file" },
      cd: { type: "string", short: "C", value: "DIR", help: "the folder to work in" },
      json: { type: "boolean", help: "with list and test: one JSON object a line" },
      ...HELP,
    },
    examples: ["skein mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes", "skein mcp add tracker --url https://mcp.example.com/mcp --bearer-token-env-var TRACKER_TOKEN", "skein mcp test files", "skein mcp list --json | jq -r .name", "skein mcp remove files"],
  },
  {
    name: "doctor",
    usage: "skein doctor",
    summary: "whether what Skein stands on holds: home, sandbox, configuration, programs, keys; exit code 1 when something is broken",
    words: 0,
    flags: { json: { type: "boolean", help: "one JSON object a line" }, ...HELP },
    examples: ["skein doctor", "skein doctor --json | jq -r 'select(.state != \"ok\") | .name'"],
  },
  {
    name: "tour",
    usage: "skein tour",
    summary: "a recorded conversation, replayed with real tools in a scratch folder; needs no model",
    words: 0,
    flags: { json: { type: "boolean", help: "events as JSON lines on stdout" }, ...HELP },
    examples: ["skein tour"],
  },
];

export function overview(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return [
    "skein — a coding agent whose conversations are never lost",
    "",
    "usage: skein COMMAND [OPTIONS]",
    "",
    ...COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "  skein COMMAND --help   options and examples of a command",
    "  skein --version        versions of the package and of the log format",
    "",
    "Threads are kept in ~/.skein (SKEIN_HOME moves it). macOS is untested; Windows is not supported (use WSL2).",
    "",
  ].join("\n");
}

export function helpOf(command: Command): string {
  const rows = Object.entries(command.flags).map(([name, flag]) => {
    const short = flag.short ? `-${flag.short}, ` : "    ";
    return { left: `${short}--${name}${flag.value ? ` ${flag.value}` : ""}`, right: flag.help };
  });
  const width = Math.max(...rows.map(({ left }) => left.length));
  return [`usage: ${command.usage}`, "", command.summary, "", ...rows.map(({ left, right }) => `  ${left.padEnd(width)}  ${right}`), "", "examples:", ...command.examples.map((example) => `  ${example}`), ""].join("\n");
}
