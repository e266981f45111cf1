import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createWorld, skill, textOfPart } from "./given.ts";

const FILES = {
  "home/AGENTS.md": "Speak plainly.\n",
  "repo/AGENTS.md": "# Rules\n\nUse tabs.\n",
  "repo/src/AGENTS.md": "Use spaces here.\n",
  "home/skills/review/SKILL.md": skill("review", "Reviews a change."),
};

test("the parts, each as the model reads it", async () => {
  const world = createWorld(FILES);
  const { parts, warnings } = await world.gather({ settings: { cwd: join(world.repo, "src"), sandbox_workspace_write: { writable_roots: ["/srv/data"], network_access: true } }, developerInstructions: "Answer in French." });
  expect({ warnings, parts: parts.map((part) => ({ ...part, text: world.short(part.text) })) }).toEqual({
    warnings: [],
    parts: [
      { key: "developer", role: "developer", text: "Answer in French." },
      {
        key: "agents_md",
        role: "user",
        text: `These are instructions from files, from the widest to the nearest. Where they differ, the nearer ones count; what the user says in the conversation counts before all of them.

<agents_md path="HOME/AGENTS.md">
Speak plainly.
</agents_md>

<agents_md path="REPO/AGENTS.md">
# Rules

Use tabs.
</agents_md>

<agents_md path="REPO/src/AGENTS.md">
Use spaces here.
</agents_md>`,
      },
      {
        key: "skills",
        role: "user",
        text: `Skills are instructions for particular kinds of work, kept in files. When a task is what a skill is for, or the user names one as $name, read its file before you start and follow it. Paths in it are relative to its folder.

- review: Reviews a change. (HOME/skills/review/SKILL.md)`,
      },
      {
        key: "environment",
        role: "user",
        text: `<environment>
cwd: REPO/src
shell: bash
platform: linux
date: 2026-01-31
sandbox: workspace-write (files can be read; only the writable folders can be written)
writable: REPO/src, /srv/data
network: on
approvals: on-request (the user is asked before anything leaves the sandbox)
</environment>`,
      },
    ],
  });
});

test("with nothing there, only the environment is told", async () => {
  const world = createWorld();
  const { parts, skills, warnings } = await world.gather({ settings: { sandbox_mode: "read-only", approval_policy: "never" } });
  expect({ skills, warnings, parts: parts.map((part) => ({ ...part, text: world.short(part.text) })) }).toEqual({
    skills: [],
    warnings: [],
    parts: [
      {
        key: "environment",
        role: "user",
        text: "<environment>\ncwd: REPO\nshell: bash\nplatform: linux\ndate: 2026-01-31\nsandbox: read-only (files can be read; nothing can be written, and there is no network)\napprovals: never (nobody is asked; what would need approval is refused)\n</environment>",
      },
    ],
  });
});

test("the same files and settings give the same bytes; each change changes its own part and no other", async () => {
  const world = createWorld(FILES);
  const changes: Record<string, (text: string) => unknown> = {
    agents_md: (text) => world.write("repo/AGENTS.md", `Be ${text}`),
    skills: (text) => world.write("home/skills/more/SKILL.md", skill("more", `x${text.replace(/\s+/gu, "")}y`)),
    environment: () => {},
    developer: () => {},
  };
  let settings: Record<string, string> = {};
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(changes)), fc.stringMatching(/^[a-z ]{3,20}$/u), async (key, text) => {
      const before = await world.gather({ settings });
      expect(await world.gather({ settings })).toEqual(before);
      changes[key]!(text);
      if (key === "environment") settings = { ...settings, approval_policy: text.length % 2 ? "never" : "untrusted" };
      if (key === "developer") settings = { ...settings, developer_instructions: text };
      const after = await world.gather({ settings });
      for (const other of Object.keys(changes)) if (other !== key) expect(textOfPart(after, other)).toBe(textOfPart(before, other));
      expect(after.instructions).toBe(before.instructions);
      expect(after.parts.map((part) => part.key)).toEqual(["developer", "agents_md", "skills", "environment"].filter((name) => after.parts.some((part) => part.key === name)));
    }),
    { numRuns: 60 },
  );
});

test("a part whose source is gone is left out", async () => {
  const world = createWorld(FILES);
  rmSync(join(world.home, "skills"), { recursive: true });
  rmSync(join(world.home, "AGENTS.md"));
  rmSync(join(world.repo, "AGENTS.md"));
  expect((await world.gather()).parts.map(({ key }) => key)).toEqual(["environment"]);
});

test("the day is that of the user, and of a text its first ten characters", async () => {
  const world = createWorld();
  const day = async (now: Date | string) => /date: (.*)/u.exec(textOfPart(await world.gather({ now }), "environment"))![1];
  expect([await day("2026-11-15T00:00:00.000Z"), await day(new Date(2026, 0, 5, 23, 59)), await day(new Date(2026, 0, 5, 0, 0))]).toEqual(["2026-11-15", "2026-01-05", "2026-01-05"]);
});

test("without bash the shell is sh, and odd folders are quoted", async () => {
  const world = createWorld();
  symlinkSync("loop", join(world.root, "loop"));
  const { parts } = await world.gather({ env: { PATH: `${join(world.root, "none")}:${join(world.root, "loop")}:${world.write("file", "")}` }, settings: { cwd: "/no\nsuch, folder", sandbox_mode: "danger-full-access", approval_policy: "on-failure" } });
  expect(parts.at(-1)!.text).toBe(`<environment>
cwd: "/no\\nsuch, folder"
shell: sh
platform: linux
date: 2026-01-31
sandbox: danger-full-access (none: commands have all the rights of the user)
approvals: on-failure (the user is asked when the sandbox stood in the way)
</environment>`);
});
