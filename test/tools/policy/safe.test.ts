import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assess, scratchFolder, scratchRepository } from "./given.ts";

let repository: ReturnType<typeof scratchRepository>;
beforeAll(() => {
  repository = scratchRepository();
});
afterAll(() => repository.remove());

const SAFE: readonly string[] = [
  ...["ls", "ls -la", "ls -la src test", "ls -1 --color=never src", "pwd", "cat README.md", "cat -n src/a.ts", "cat 'a file'", 'cat "a file"', "cat a\\ file", "/bin/cat x", "/usr/bin/head x"],
  ...["head -n 20 x", "head -20 x", "tail -n +5 x", "tail -c 100 x", "wc -l x y", "nl -ba x", "file x", "stat -c %s x", "echo hello", "echo 'a; rm b'", "echo -n x", "printf '%s\\n' a b", "true", "false"],
  ...["date", "date +%F", "date -u -d yesterday +%s", "whoami", "uname -a", "id -un", "which -a node", "command -v git", "basename a/b", "dirname a/b", "realpath x", "readlink -f x"],
  ...["cut -d, -f1 x", "sort -u x", "sort -t, -k2,2n x", "sort -rn x | uniq -c | sort -n", "uniq -c x", "tr a-z A-Z", "diff -u a b", "cmp a b", "du -sh src", "df -h"],
  ...["grep -rn foo src", "grep -E 'a|b' x", "grep --include='*.ts' -r foo .", "grep -e 'a b' x", "egrep foo x", "fgrep '$x' y", "rg foo", "rg -n 'foo|bar' src test", "rg --files", "rg --files -g '*.ts' src", "rg -tts -C3 foo", "rg -l --hidden 'a$' ."],
  ...["find .", "find src -name '*.ts'", "find . -type f -not -path './x/*' -mtime -7", "find . -maxdepth 2 -name \\*.md -print", "find . \\( -name a -o -name b \\) -print0", "fd -e ts foo src", "tree -L 2 -I node_modules"],
  ...["sed -n 1,20p x", "sed -n '10p' x", "sed -n '1,5p;10,$p' x"],
  ...["git status", "git status --short", "git --no-pager log --oneline -5", "git log -n 3 --stat", "git log --format='%h %s' HEAD~3..HEAD", "git show HEAD", "git show HEAD~1:src/a.ts", "git diff", "git diff --cached --stat", "git diff main...HEAD -- src", "git branch", "git branch -a -vv", "git branch --show-current", "git branch --list 'a*'"],
  ...["git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git ls-files", "git ls-files -o --exclude-standard", "git blame -L 1,5 x", "git grep -n foo", "git remote -v", "git merge-base main HEAD"],
  ...["ls && pwd", "ls; pwd", "ls\npwd\n", "ls || true", "cat x | head -n 5 | wc -l", "ls 2>/dev/null", "ls 2>&1 | head", "cat x 2> /dev/null || echo none", "ls > /dev/null 2>&1", "cd src && ls", "cd src && rg foo", "bash -c 'ls -la'", "bash -lc 'cat x | head'", "rg 'é' src"],
];

const NOT_SAFE: readonly string[] = [
  ...["rm x", "mv a b", "cp a b", "mkdir x", "touch x", "chmod +x y", "ln -s a b", "tee x", "dd if=a of=b", "truncate -s 0 x", "kill 1", "sleep 1"],
  ...["npm test", "npm run build", "npx tsc", "node x.js", "python3 x.py", "cargo test", "make", "go test ./...", "pip install x", "curl http://x", "wget http://x", "docker ps", "bash x.sh", "./run", "sh"],
  ...["env", "printenv", "env FOO=1 ls", "set", "export", "history", "ps aux", "hostname x", "sudo ls", "xargs ls", "awk '{print $1}' x", "jq . x", "less x", "vim x", "tar tf x", "unzip -l x", "perl -ne print x"],
  ...["cat *", "ls *.ts", "cat ~/x", "echo $HOME", 'echo "$HOME"', "echo `pwd`", "echo $(pwd)", "ls &", "(ls)", "{ ls; }", "! ls", "time ls", "if true; then ls; fi", "for x in a; do ls; done", "a=1", "A=1 ls", "ls > out", "cat < in", "echo {a,b}", "ls # comment", "ls \\\n-la", "echo a!b", "ls [a-z]", "cat <<E\nE"],
  ...["git commit -m x", "git push", "git fetch", "git add .", "git branch x", "git branch -d x", "git checkout x", "git config --list", "git -C x status", "git log -O x", "git diff --no-index --ext-diff a b", "git tag x", "git stash pop", "git worktree add x", "git branch --edit-description", "git remote update", "git describe --foo"],
  ...["find . -delete", "find . -exec ls {} +", "sed s/a/b/ x", "sed -i s/a/b/ x", "sed -n '1,5w out' x", "sort -o x x", "uniq a b", "date -s x", "tail -f x", "rg --pre cat x", "rg -z x", "printf -v x y", "printf '%n' PATH", "printf '%(%F)T'", "tree -o x", "fd -x rm", "diff -l a b", "file -C", "xxd -r a b", "uname foo", "cd -", "cd a b", "command ls", "cat /proc/1/environ", "grep -r x /", "ls /dev"],
];

describe("what is safe", () => {
  it.each(SAFE)("judges %j safe", async (command) => {
    expect((await assess(command, { cwd: repository.path })).safe).toBe(true);
  });

  it.each(NOT_SAFE)("does not judge %j safe", async (command) => {
    expect((await assess(command, { cwd: repository.path })).safe).toBe(false);
  });

  it("judges a list of words like a script", async () => {
    const commands: [string, ...string[]][] = [["ls", "*"], ["bash", "-lc", "cat x"], ["grep", "$(x)", "y"], ["cat", "a", ">", "b"], ["sh", "-c", "ls", "x"], ["cat", "a\u202eb"], ["rm", "x"]];
    expect(await Promise.all(commands.map(async (command) => [command.join(" "), (await assess(command, { cwd: repository.path })).safe]))).toEqual([
      ["ls *", true],
      ["bash -lc cat x", true],
      ["grep $(x) y", true],
      ["cat a > b", true],
      ["sh -c ls x", false],
      ["cat a\u202eb", false],
      ["rm x", false],
    ]);
  });
});

describe("files of the kernel", () => {
  it("are not reached through a link either", async () => {
    const folder = scratchFolder();
    symlinkSync("/proc", join(folder.path, "link"));
    symlinkSync("/", join(folder.path, "root"));
    const judged = await Promise.all(["cat link/1/environ", "ls link", "ls root", "cat root/proc/1/environ", "cat other"].map(async (command) => [command, (await assess(command, { cwd: folder.path })).safe]));
    folder.remove();
    expect(judged).toEqual([
      ["cat link/1/environ", false],
      ["ls link", false],
      ["ls root", false],
      ["cat root/proc/1/environ", false],
      ["cat other", true],
    ]);
  });
});

describe("git", () => {
  const judge = async (prepare: (folder: string) => string) => {
    const folder = scratchFolder();
    const cwd = prepare(folder.path);
    const { safe } = await assess("git status", { cwd });
    folder.remove();
    return safe;
  };
  const init = (folder: string) => {
    execFileSync("git", ["init", "-q", folder]);
    return folder;
  };

  it("is safe in a plain repository and in a folder of it", async () => {
    expect(await judge(init)).toBe(true);
    expect(await judge((folder) => {
      mkdirSync(join(init(folder), "sub"));
      return join(folder, "sub");
    })).toBe(true);
  });

  it.each(["core.fsmonitor", "core.hooksPath", "diff.x.textconv", "filter.x.clean", "include.path", "core.pager", "diff.external", "gpg.program", "log.showSignature"])("is not safe where the repository sets %s", async (key) => {
    expect(await judge((folder) => {
      execFileSync("git", ["-C", init(folder), "config", key, "x"]);
      return folder;
    })).toBe(false);
  });

  it("is not safe in a bare repository that lies there as plain files, nor where .git is a file, nor with a hook for the index", async () => {
    expect(await judge((folder) => {
      execFileSync("git", ["init", "-q", "--bare", join(init(folder), "sub")]);
      return join(folder, "sub");
    })).toBe(false);
    expect(await judge((folder) => {
      writeFileSync(join(folder, ".git"), "gitdir: elsewhere\n");
      return folder;
    })).toBe(false);
    expect(await judge((folder) => {
      mkdirSync(join(init(folder), ".git", "hooks"), { recursive: true });
      writeFileSync(join(folder, ".git", "hooks", "post-index-change"), "#!/bin/sh\n");
      chmodSync(join(folder, ".git", "hooks", "post-index-change"), 0o755);
      return folder;
    })).toBe(false);
  });

  it("is not safe where another repository is part of this one, since git runs what that one's config names", async () => {
    const { path, remove } = scratchRepository();
    const sub = join(path, "sub");
    execFileSync("git", ["init", "-q", sub]);
    writeFileSync(join(sub, "monitor"), "#!/bin/sh\necho ran > ran\n", { mode: 0o755 });
    const identity = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"];
    execFileSync("git", ["-C", sub, ...identity, "commit", "-q", "--allow-empty", "-m", "x"]);
    execFileSync("git", ["-C", path, "-c", "advice.addEmbeddedRepo=false", "add", "sub"], { stdio: "ignore" });
    execFileSync("git", ["-C", sub, "config", "core.fsmonitor", "./monitor"]);
    execFileSync("git", ["-C", path, "status"], { stdio: "ignore" });
    const ran = existsSync(join(sub, "ran"));
    const { safe } = await assess("git status", { cwd: path });
    remove();
    expect({ ran, safe }).toEqual({ ran: true, safe: false });
  });

  it("really runs a hook for the index on status, which is why it is looked for", () => {
    const { path, remove } = scratchRepository();
    writeFileSync(join(path, "a"), "1");
    execFileSync("git", ["-C", path, "add", "a"]);
    mkdirSync(join(path, ".git", "hooks"), { recursive: true });
    writeFileSync(join(path, ".git", "hooks", "post-index-change"), "#!/bin/sh\necho ran > ran\n", { mode: 0o755 });
    execFileSync("touch", ["-d", "2001-01-01", join(path, "a")]);
    execFileSync("git", ["-C", path, "status"], { stdio: "ignore" });
    const ran = execFileSync("ls", [path], { encoding: "utf8" });
    remove();
    expect(ran).toBe("a\nran\n");
  });
});
