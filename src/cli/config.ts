/** `skein config`: every value that is in force, and where it came from. */
import { EXIT, type Shell, type Wish } from "./shell.ts";

export async function config(given: { wish: Wish; json: boolean }, shell: Shell): Promise<number> {
  const { rows, text, warnings } = await shell.config(given.wish);
  for (const warning of warnings) shell.stderr.write(`! ${warning}\n`);
  shell.stdout.write(given.json ? rows.map((row) => `${JSON.stringify(row)}\n`).join("") : text);
  return EXIT.done;
}
