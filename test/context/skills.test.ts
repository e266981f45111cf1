import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findSkills, skillsNamed, usedSkills, type Skill } from "../../src/context/skills.ts";
import { userText, type Item } from "../../src/protocol/item.ts";
import { createWorld, skill, type World } from "./given.ts";

function find(world: World, { cwd = world.repo, trusted = true }: { cwd?: string; trusted?: boolean } = {}) {
  const { skills, warnings, ignored } = findSkills({ home: world.home, userHome: world.user, cwd, trusted });
  return { skills: skills.map(({ name, path, origin }) => [name, world.short(path), origin]), warnings: warnings.map(world.short), ignored: ignored.map(world.short) };
}

const PLACES = {
  "home/skills/one/SKILL.md": skill("one"),
  "user/.agents/skills/two/SKILL.md": skill("two"),
  "repo/.skein/skills/three/SKILL.md": skill("three"),
  "repo/.agents/skills/four/SKILL.md": skill("four"),
  "repo/a/.skein/skills/five/SKILL.md": skill("five"),
  "repo/a/.agents/skills/six/SKILL.md": skill("six"),
};

test("they come from the user's folders and from the root and the working folder of a trusted repository", () => {
  const world = createWorld(PLACES);
  expect(find(world, { cwd: join(world.repo, "a") })).toEqual({
    skills: [
      ["five", "REPO/a/.skein/skills/five/SKILL.md", "repository"],
      ["four", "REPO/.agents/skills/four/SKILL.md", "repository"],
      ["one", "HOME/skills/one/SKILL.md", "user"],
      ["six", "REPO/a/.agents/skills/six/SKILL.md", "repository"],
      ["three", "REPO/.skein/skills/three/SKILL.md", "repository"],
      ["two", "USER/.agents/skills/two/SKILL.md", "user"],
    ],
    warnings: [],
    ignored: [],
  });
});

test("of a repository that is not trusted nothing is used, and that is told to who asks", () => {
  const world = createWorld(PLACES);
  expect(find(world, { trusted: false })).toEqual({
    skills: [
      ["one", "HOME/skills/one/SKILL.md", "user"],
      ["two", "USER/.agents/skills/two/SKILL.md", "user"],
    ],
    warnings: [],
    ignored: ["REPO/.skein/skills", "REPO/.agents/skills"],
  });
});

test("of two with the same name the nearer counts", () => {
  const world = createWorld({ "home/skills/a/SKILL.md": skill("same"), "repo/.skein/skills/b/SKILL.md": skill("same"), "repo/sub/.skein/skills/c/SKILL.md": skill("same") });
  expect(find(world, { cwd: join(world.repo, "sub") })).toEqual({
    skills: [["same", "REPO/sub/.skein/skills/c/SKILL.md", "repository"]],
    warnings: [
      "REPO/.skein/skills/b/SKILL.md: not used, because REPO/sub/.skein/skills/c/SKILL.md has the same name (same) and is nearer.",
      "HOME/skills/a/SKILL.md: not used, because REPO/sub/.skein/skills/c/SKILL.md has the same name (same) and is nearer.",
    ],
    ignored: [],
  });
});

test("broken ones are left out with a reason; folders without a SKILL.md are none", () => {
  const world = createWorld({
    "home/skills/a-bare/SKILL.md": "# A title\n",
    "home/skills/b-nameless/SKILL.md": "---\ndescription: x\n---\n",
    "home/skills/c-mute/SKILL.md": "---\nname: c\ndescription:\n---\n",
    "home/skills/d-odd/SKILL.md": skill("two words"),
    "home/skills/e-binary/SKILL.md": new Uint8Array([0x2d, 0]),
    "home/skills/f-endless/SKILL.md": `---\nname: f\n${"x: y\n".repeat(5000)}---\n`,
    "home/skills/g-good/SKILL.md": skill("g"),
    "home/skills/h-other/README.md": "x",
    "home/skills/.hidden/SKILL.md": "broken",
    "home/skills/file.md": "x",
    "repo/secret/SKILL.md": skill("secret"),
    "elsewhere/SKILL.md": skill("elsewhere"),
  });
  mkdirSync(join(world.repo, ".skein/skills"), { recursive: true });
  symlinkSync("../../secret", join(world.repo, ".skein/skills/inside"));
  symlinkSync("../../../elsewhere", join(world.repo, ".skein/skills/outside"));
  expect(find(world)).toEqual({
    skills: [
      ["g", "HOME/skills/g-good/SKILL.md", "user"],
      ["secret", "REPO/.skein/skills/inside/SKILL.md", "repository"],
    ],
    warnings: [
      "REPO/.skein/skills/outside/SKILL.md: it is a link that leaves the repository; it was left out.",
      "HOME/skills/a-bare/SKILL.md: it has no front matter: a line ---, name and description, and another line ---, within its first 16384 bytes; it was left out.",
      "HOME/skills/b-nameless/SKILL.md: its front matter has no name; it was left out.",
      "HOME/skills/c-mute/SKILL.md: its front matter has no description; it was left out.",
      'HOME/skills/d-odd/SKILL.md: its name "two words" is not made of at most 64 letters, digits, dashes, dots, colons and underscores; it was left out.',
      "HOME/skills/e-binary/SKILL.md: it is not text in UTF-8; it was left out.",
      "HOME/skills/f-endless/SKILL.md: it has no front matter: a line ---, name and description, and another line ---, within its first 16384 bytes; it was left out.",
    ],
    ignored: [],
  });
});

test("long descriptions and long lists are cut, and that is said", () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`home/skills/s${index}/SKILL.md`, skill(`s${index}`)]));
  const world = createWorld({ ...many, "repo/.skein/skills/long/SKILL.md": skill("long", "😀".repeat(2000)) });
  const { skills, warnings } = findSkills({ home: world.home, userHome: world.user, cwd: world.repo, trusted: true });
  expect([skills.length, skills.find(({ name }) => name === "long")!.description]).toEqual([100, `${"😀".repeat(1023)}…`]);
  expect(warnings.map(world.short)).toEqual([
    "REPO/.skein/skills/long/SKILL.md: its description is longer than 1024 characters and was cut.",
    "There are 102 skills and at most 100 are used; the nearest were taken.",
  ]);
});

test("what else the front matter says is kept", () => {
  const world = createWorld({ "home/skills/x/SKILL.md": "---\nname: x\ndescription: >\n  Several\n  lines\nlicense: MIT\n__proto__: odd\n---\n" });
  const { skills } = findSkills({ home: world.home, userHome: world.user, cwd: world.repo, trusted: true });
  expect(skills).toEqual([{ name: "x", description: "Several lines", path: join(world.home, "skills/x/SKILL.md"), origin: "user", within: null, more: Object.fromEntries([["license", "MIT"], ["__proto__", "odd"]]) }]);
});

const known = (name: string): Skill => ({ name, description: "", path: `/${name}/SKILL.md`, origin: "user", within: null, more: {} });

test.each<[string, string[]]>([
  ["use $review, please", ["review"]],
  ["$pdf:fill and then $review.", ["pdf:fill", "review"]],
  ["$review $review", ["review"]],
  ["[$review](/review/SKILL.md) ($a-b)", ["review", "a-b"]],
  ["echo $HOME; ${review} \\$review $$review x$review", []],
  ["$reviews $review-er $Review $a-b-c", []],
  ["/review", []],
])("a text names skills as $name: %s", (text, expected) => {
  expect(skillsNamed(text, ["review", "pdf:fill", "a-b"].map(known)).map(({ name }) => name)).toEqual(expected);
});

test("the bodies of the skills that the user names stand before the model, each once", async () => {
  const world = createWorld({
    "home/skills/one/SKILL.md": skill("one", "x", "# One\n\nDo </skill> it.\n"),
    "home/skills/two/SKILL.md": skill("two", "x", "line\n".repeat(20_000)),
    "home/skills/gone/SKILL.md": skill("gone"),
  });
  const { skills } = await world.gather();
  rmSync(join(world.home, "skills/gone"), { recursive: true });
  const items: Item[] = [userText("first $one, $gone"), { type: "message", role: "assistant", content: [{ type: "output_text", text: "$two" }] }, userText("again $one"), { type: "reasoning", summary: [] }];
  expect(usedSkills({ items, skills }).map((part) => ({ ...part, text: world.short(part.text) }))).toEqual([
    { key: "skill:one", role: "user", text: '<skill name="one" path="HOME/skills/one/SKILL.md">\n# One\n\nDo <\\/skill> it.\n</skill>' },
    { key: "skill:gone", role: "user", text: '<skill name="gone" path="HOME/skills/gone/SKILL.md">\n[The skill cannot be read: its file is gone]\n</skill>' },
  ]);
  const [long] = usedSkills({ items: [userText("$two")], skills });
  const { text } = long!;
  expect(text.length).toBeLessThan(66_000);
  expect(world.short(text)).toMatch(/line\n\[Cut: the first 65536 of 100034 bytes are shown\. The whole file is HOME\/skills\/two\/SKILL\.md\]\n<\/skill>$/u);
  expect(usedSkills({ items: [userText("nothing")], skills })).toEqual([]);
});
