import { describe, expect, it } from "vitest";
import { assess, rule } from "./given.ts";

const decide = async (command: string | readonly [string, ...string[]], ...rules: string[]) => (await assess(command, { cwd: "/nowhere", rules: rules.map(rule) })).rule;

describe("rules", () => {
  it("say that what cannot be read is asked about because of that, not because a rule names it", async () => {
    const why = async (command: string) => {
      const { rule: decision, ruleWhy } = await assess(command, { cwd: "/nowhere", rules: [rule("deny git push")] });
      return [decision, ruleWhy];
    };
    const unread = "there are rules about commands, and part of it cannot be read before it runs: $(…), variables, loops, redirections or code; write it out plainly";
    for (const command of ["echo $(date)", "for x in a b; do echo $x; done", "python3 -c 'print(1)'"]) expect(await why(command)).toEqual(["ask", unread]);
    expect(await why("git push $(date)")).toEqual(["deny", undefined]);
    expect(await why("ls")).toEqual([null, undefined]);
  });

  it("match the beginning of a command, word by word", async () => {
    expect(await decide("git push origin", "deny git push")).toBe("deny");
    expect(await decide("git pushx", "deny git push")).toBe(null);
    expect(await decide("git", "deny git push")).toBe(null);
    expect(await decide("npm run build", "allow npm run")).toBe("allow");
  });

  it("the strictest that matches wins, over all commands of a script", async () => {
    expect(await decide("npm test", "allow npm", "ask npm test", "deny npm publish")).toBe("ask");
    expect(await decide("npm test && npm publish", "allow npm", "ask npm test", "deny npm publish")).toBe("deny");
    expect(await decide("npm test | cat", "deny npm")).toBe("deny");
  });

  it("allow only when every command of the script is allowed or known to be safe", async () => {
    expect(await decide("npm test && ls", "allow npm")).toBe("allow");
    expect(await decide("npm test && rm x", "allow npm")).toBe(null);
    expect(await decide("npm test > log", "allow npm")).toBe(null);
    expect(await decide("ls", "allow npm")).toBe(null);
    expect(await decide("bash -lc 'npm test && ls'", "allow npm")).toBe("allow");
    expect(await decide("bash -lc 'npm test; rm x'", "allow npm", "allow bash")).toBe(null);
  });

  it("allow a program as written or from the system's folders, not one of the same name elsewhere", async () => {
    const commands = ["npm test", "/usr/bin/npm test", "/usr/local/bin/npm test", "./npm test", "/tmp/npm test", "NPM test", "env npm test"];
    expect(await Promise.all(commands.map((command) => decide(command, "allow npm test")))).toEqual(["allow", "allow", "allow", null, null, null, null]);
    expect(await decide("./run x", "allow ./run")).toBe("allow");
    expect(await decide("git -C x status -s", "allow git status")).toBe(null);
  });

  it("deny and ask see a program by any of its paths, through programs that run others, and behind git's own options", async () => {
    const commands = ["git push", "/usr/bin/git push", "./git push", "GIT push", "env A=b git push", "nice -n 5 timeout 9 git push", "sudo -u x git push", "xargs git push", "git -C x push", "git --no-pager -c a.b=c push", "busybox git push", "command git push", "find . -exec git push \\;", "bash -c 'git push'", "echo a; git push"];
    for (const decision of ["deny", "ask"]) {
      expect(await Promise.all(commands.map((command) => decide(command, `${decision} git push`)))).toEqual(commands.map(() => decision));
    }
    expect(await decide("git push", "deny /usr/bin/git push")).toBe("deny");
    expect(await decide("bash -c 'ls'", "deny bash")).toBe("deny");
  });

  it("ask about what cannot be seen, as soon as anything is denied or asked about", async () => {
    const hidden = ["ls $(x)", "eval x", "python3 -c x", "awk x y", "echo x | sh", "ssh h x", "cat x | xargs", "git -c a.b=c log", "sed 's/a/b/e' x", "env -S 'x y'", "x=1 ls", "source x", "perl -e x", "node --eval x"];
    expect(await Promise.all(hidden.map((command) => decide(command, "deny rm")))).toEqual(hidden.map(() => "ask"));
    expect(await Promise.all(hidden.map((command) => decide(command, "allow rm")))).toEqual(hidden.map(() => null));
    const plain = ["npm test", "python3 x.py", "make", "sed -i s/a/b/g x", "git commit -m 'rm x'", "find . -name 'a b'", "timeout 60 npm test", "bash x.sh", "cp a b", "node x.js"];
    expect(await Promise.all(plain.map((command) => decide(command, "deny rm")))).toEqual(plain.map(() => null));
  });

  it("that a repository adds to the user's only make it stricter", async () => {
    expect(await decide("npm test", "allow npm", "deny npm")).toBe("deny");
  });
});
