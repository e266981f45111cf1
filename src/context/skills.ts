/**
 * Skills: folders with a SKILL.md that says in its front matter what it is called and what it is for. The model is told these, and where
 * the file is; the body is put before it when the user names the skill as `$name`, or read by the model itself.
 *
 * They come from the user (`skills` in Skein's home, `~/.agents/skills`) and, where the user trusts it, from the repository (`.skein/skills`
 * and `.agents/skills` of its root and of the working folder). Of two with the same name the nearer counts. What is broken is left out
 * and said.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { PASSING, type ContextPart } from "../core/context.ts";
import { isMessage, textOf, type Item } from "../protocol/item.ts";
import { readText } from "./files.ts";
import { parseFrontMatter } from "./front-matter.ts";
import { repositoryFolders } from "./repository.ts";
import { noted, tagged, wholeLines } from "./tagged.ts";

export interface Skill {
  name: string;
  description: string;
  /** Of its SKILL.md. */
  path: string;
  origin: "user" | "repository";
  /** The folder that its file must lie in, links followed; null: anywhere. */
  within: string | null;
  /** What else its front matter says. */
  more: Record<string, string>;
}

const MOST_SKILLS = 100;
const NAME = /^[A-Za-z0-9](?:[\w.:-]{0,62}\w)?$/u;
const LONGEST_DESCRIPTION = 1024;
/** Front matter must end within so many bytes. */
const HEAD_BYTES = 16_384;
const BODY_BYTES = 65_536;

interface Place {
  folder: string;
  origin: Skill["origin"];
  within: string | null;
}

export interface SkillPlaces {
  /** Skein's own folder, and the user's. */
  home: string;
  userHome: string;
  cwd: string;
  trusted: boolean;
}

/** `ignored` are folders with skills that are not used because the repository is not trusted. */
export function findSkills(given: SkillPlaces): { skills: Skill[]; warnings: string[]; ignored: string[] } {
  const warnings: string[] = [];
  const found = new Map<string, Skill>();
  const repository = repositoryPlaces(given.cwd);
  const own: Place[] = [join(given.home, "skills"), join(given.userHome, ".agents/skills")].map((folder) => ({ folder, origin: "user", within: null }));
  const taken = given.trusted ? [...repository, ...own] : own;
  const places = [...new Map(taken.map((place) => [place.folder, place])).values()];
  for (const place of places) {
    for (const skill of skillsIn(place, warnings)) {
      const nearer = found.get(skill.name);
      if (nearer) warnings.push(`${skill.path}: not used, because ${nearer.path} has the same name (${skill.name}) and is nearer.`);
      else found.set(skill.name, skill);
    }
  }
  const skills = [...found.values()].slice(0, MOST_SKILLS).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (found.size > MOST_SKILLS) warnings.push(`There are ${found.size} skills and at most ${MOST_SKILLS} are used; the nearest were taken.`);
  const ignored = given.trusted ? [] : repository.map(({ folder }) => folder).filter((folder) => existsSync(folder) && !own.some((place) => place.folder === folder));
  return { skills, warnings, ignored };
}

function repositoryPlaces(cwd: string): Place[] {
  const folders = repositoryFolders(cwd);
  const ends = [...new Set([folders.at(-1)!, folders[0]])];
  return ends.flatMap((folder) => [".skein/skills", ".agents/skills"].map((name): Place => ({ folder: join(folder, name), origin: "repository", within: folders[0] })));
}

function skillsIn({ folder, origin, within }: Place, warnings: string[]): Skill[] {
  return namesIn(folder, warnings).flatMap((name): Skill[] => {
    const path = join(folder, name, "SKILL.md");
    const read = readText(path, { limit: HEAD_BYTES, within });
    if (read.kind === "absent") return [];
    const skill = read.kind === "refused" ? read.why : skillOf(read.text);
    if (typeof skill === "string") {
      warnings.push(`${path}: ${skill}; it was left out.`);
      return [];
    }
    if (skill.description.length > LONGEST_DESCRIPTION) {
      warnings.push(`${path}: its description is longer than ${LONGEST_DESCRIPTION} characters and was cut.`);
      skill.description = `${Array.from(skill.description).slice(0, LONGEST_DESCRIPTION - 1).join("")}…`;
    }
    return [{ ...skill, path, origin, within }];
  });
}

function namesIn(folder: string, warnings: string[]): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith(".")).toSorted();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (code !== "ENOENT" && code !== "ENOTDIR") warnings.push(`${folder}: it cannot be read (${code}); its skills were left out.`);
    return [];
  }
}

/** The skill that a SKILL.md describes, or what is wrong with it. */
function skillOf(text: string): Pick<Skill, "name" | "description" | "more"> | string {
  const parsed = parseFrontMatter(text);
  if (!parsed) return `it has no front matter: a line ---, name and description, and another line ---, within its first ${HEAD_BYTES} bytes`;
  const { name = "", description = "", ...more } = Object.fromEntries(parsed.fields);
  if (name === "" || description.trim() === "") return `its front matter has no ${name === "" ? "name" : "description"}`;
  if (!NAME.test(name)) return `its name ${JSON.stringify(name.slice(0, 80))} is not made of at most 64 letters, digits, dashes, dots, colons and underscores`;
  return { name, description: description.replace(/\s+/gu, " ").trim(), more };
}

const INTRODUCTION =
  "Skills are instructions for particular kinds of work, kept in files. When a task is what a skill is for, or the user names one as $name, read its file before you start and follow it. Paths in it are relative to its folder.";

/** What the model is told of the skills; empty when there are none. */
export function skillsText(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  return `${INTRODUCTION}\n\n${skills.map(({ name, description, path }) => `- ${name}: ${description} (${path})`).join("\n")}`;
}

/** The skills that a text names as `$name`, in the order in which it does. */
export function skillsNamed(text: string, skills: readonly Skill[]): Skill[] {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  const named = new Set<Skill>();
  for (const [, word] of text.matchAll(/(?<![\w$\\])\$([A-Za-z0-9](?:[\w.:-]*\w)?)/gu)) {
    const skill = byName.get(word!);
    if (skill) named.add(skill);
  }
  return [...named];
}

/** The bodies of the skills that the user's input names, to stand before the model from then on. */
export function usedSkills({ items, skills }: { items: readonly Item[]; skills: readonly Skill[] }): ContextPart[] {
  const said = items.filter((item) => isMessage(item) && item.role === "user").map(textOf);
  return skillsNamed(said.join("\n"), skills).map((skill) => ({ key: `${PASSING}${skill.name}`, role: "user", text: bodyText(skill) }));
}

function bodyText({ name, path, within }: Skill): string {
  const read = readText(path, { limit: BODY_BYTES, within });
  if (read.kind !== "text") return tagged("skill", { name, path, text: `[The skill cannot be read: ${read.kind === "absent" ? "its file is gone" : read.why}]` });
  const body = parseFrontMatter(read.text)?.body.trim() ?? read.text;
  return tagged("skill", { name, path, text: read.isCut ? noted(wholeLines(body), `Cut: the first ${BODY_BYTES} of ${read.size} bytes are shown. The whole file is ${path}`) : body });
}
