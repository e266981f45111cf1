/**
 * Carriers: programs that run what their arguments say. Rules that forbid something look through them; where the arguments are code or
 * are not all there, nobody can tell what will be run.
 */
import { gitCommand } from "./git.ts";

/** They run a command that follows among their arguments. */
const RUNS_OPERANDS = new Set(
  "ash bash busybox builtin caffeinate catchsegv chpst chroot chrt command dash dbus-run-session doas env exec fakeroot fd fdfind find firejail flock gosu hyperfine ionice ksh ltrace nice nohup npx nsenter numactl parallel perf pkexec prlimit proot rlwrap runuser script setarch setpriv setsid sh softlimit stdbuf strace su sudo systemd-run taskset time timeout tini toybox unbuffer unshare valgrind watch xargs xvfb-run yash zsh".split(" "),
);

/** What they run is not in their arguments, or is written there in a language of their own. */
const OPAQUE = new Set(
  ". alias at awk batch bind compgen complete coproc crontab dc ed emacs enable eval ex expect fish gawk gdb gnuplot hash history fc less m4 man mapfile mawk more most nawk nvim osascript parallel pwsh readarray rsync scp screen sftp socat source sqlite3 ssh tar tclsh tmux trap vi view vim xargs zip".split(" "),
);

const INTERPRETER = /^(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|Rscript|ghci|guile|irb|scala|groovy|jshell|tsx|ts-node)[\d.]*$/iu;
/** `-c`, `-e`, `-pe`, `--eval`, `eval`, `-`: the code is in the arguments or on standard input. */
const INLINE = /^(?:-|-[A-Za-z]*[ceErpR]|--(?:eval|print|run|execute).*|eval)$/u;
const SHELL = /^(?:ash|bash|dash|ksh|sh|yash|zsh)$/u;

export function baseName(program: string): string {
  return program.replace(/\/+$/u, "").replace(/^.*\//su, "").toLowerCase();
}

/** The command itself and every command that may be started by its way, each with its program's bare name. */
export function carried(argv: readonly string[]): string[][] {
  const all = bare(argv);
  const name = baseName(argv[0] ?? "");
  if (!RUNS_OPERANDS.has(name)) return all;
  for (let index = 1; index < Math.min(argv.length, MANY); index++) {
    // `.` is a folder, except where only builtins are run.
    if (argv[index] === "." && name !== "command" && name !== "builtin") continue;
    all.push(...bare(argv.slice(index, index + MANY)));
  }
  return all;
}

/** More words than this are not looked through. */
const MANY = 256;

function bare([program = "", ...args]: readonly string[]): string[][] {
  const name = baseName(program);
  return name === "git" ? [[name, ...args], [name, ...gitCommand(args).rest]] : [[name, ...args]];
}

/** What the command runs cannot be seen in its words. */
export function isOpaque(argv: readonly string[]): boolean {
  if (argv.length > MANY && RUNS_OPERANDS.has(baseName(argv[0]!))) return true;
  return carried(argv).some(([name = "", ...args]) => {
    if (OPAQUE.has(name)) return true;
    if (INTERPRETER.test(name)) return args.length === 0 || args.some((arg) => INLINE.test(arg));
    if (SHELL.test(name)) return args.length === 0 || args.some((arg) => /^-(?!-)\w*[cs]/u.test(arg) || arg === "-");
    if (name === "sed") return !isPlainSed(args);
    if (name === "git") return runsOtherwise(args);
    return RUNS_OPERANDS.has(name) && args.some((arg) => /[\s;|&$`]/u.test(arg));
  });
}

/** Settings and commands of git that run something. */
function runsOtherwise(args: readonly string[]): boolean {
  const { options, rest } = gitCommand(args);
  return (
    options.some((option) => /^(?:-c|--config-env|--exec-path|--git-dir|--work-tree)/u.test(option)) ||
    /^(?:config|difftool|mergetool|filter-branch|credential)$/u.test(rest[0] ?? "") ||
    (/^(?:bisect|submodule|rebase|grep|clone|fetch|pull|push|ls-remote|archive)$/u.test(rest[0] ?? "") && rest.some((arg) => /^(?:run|foreach|-x.*|--exec.*|-O.*|--open.*|-c.*|--config.*|-u|--upload-pack.*|--receive-pack.*|ext::.*|--remote.*)$/u.test(arg)))
  );
}

const PLAIN_SED = /^(?:[\d$,+]*[pdq]|[\d$,]*s([/|#,:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI\d]*)$/u;

/** One script that prints, deletes or substitutes. */
function isPlainSed(args: readonly string[]): boolean {
  const [script = "", ...files] = args.filter((arg) => !/^(?:-[nErsz]+|-i\S*|--in-place)$/u.test(arg));
  return PLAIN_SED.test(script) && files.every((file) => !file.startsWith("-"));
}
