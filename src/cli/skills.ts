/** `skein skills`: the skills that a thread in this folder would have, where each comes from, and what is wrong with others. */
import { EXIT, type Shell, type Wish } from "./shell.ts";

export async function skills(given: { wish: Wish; json: boolean }, shell: Shell): Promise<number> {
  const found = await shell.skills(given.wish);
  for (const warning of found.warnings) shell.stderr.write(`! ${visible(warning)}\n`);
  for (const folder of found.ignored) shell.stderr.write(`! ${visible(folder)}: not used, because this folder is not trusted.\n`);
  if (given.json) for (const { name, description, path, origin } of found.skills) shell.stdout.write(`${JSON.stringify({ name, description, path, origin })}\n`);
  else if (found.skills.length === 0) shell.stdout.write("No skills. A skill is a folder with a SKILL.md, in ~/.skein/skills or in .skein/skills of a trusted repository.\n");
  else for (const { name, description, path, origin } of found.skills) shell.stdout.write(visible(`$${name}  (${origin})  ${description}`) + `\n    ${visible(path)}\n`);
  return EXIT.done;
}

/** Files may hold what a terminal would act upon. */
function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}
