/** `skein tour`, and `skein` where there is no terminal UI to show: the recorded conversation, in a scratch folder, through everything that is real. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exec } from "./exec.ts";
import { EXIT, UserError, type Shell } from "./shell.ts";

export async function tour(given: { json: boolean }, shell: Shell): Promise<number> {
  const folder = scratch(shell);
  shell.stderr.write(
    `This is a recording: the model's answers were written beforehand, no model is asked. The commands and files are real, in ${folder}.\n` +
      "To use a model: OPENAI_API_KEY=… skein exec \"your question\"   (ANTHROPIC_API_KEY works too)\n\n" +
      `> ${shell.tour.prompt}\n\n`,
  );
  let kept = true;
  const code = await exec(
    {
      wish: { mode: "exec", overrides: ['model="tour"', 'model_provider="replay"'], bypass: true, cd: folder },
      prompt: shell.tour.prompt,
      resume: null,
      json: given.json,
      quiet: false,
      ephemeral: false,
      unkept: () => void (kept = false),
      skipGitCheck: true,
      timeoutSeconds: 60,
      images: [],
      schemaFile: null,
      lastMessageFile: null,
      threadSource: null,
    },
    shell,
  );
  if (code === EXIT.done && kept) shell.stderr.write(goingOn(folder, shell));
  else rmSync(folder, { recursive: true, force: true });
  return code;
}

function goingOn(folder: string, { env }: Shell): string {
  return (
    `\nThe whole conversation is in one file, readable line by line:\n  jq -c '[.seq, .type]' ${env["SKEIN_HOME"] ?? "~/.skein"}/sessions/active/rollout.jsonl\n` +
    `With a model it goes on, in ${folder}, which stays for that:\n  OPENAI_API_KEY=… skein exec resume --last "…"\n`
  );
}

function scratch({ tour: { files } }: Shell): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), "skein-tour-"));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    return folder;
  } catch (error) {
    throw new UserError(`The tour needs a scratch folder, and none can be made in ${tmpdir()} (${(error as NodeJS.ErrnoException).code ?? String(error)}). Set TMPDIR to a folder that you can write to.`, EXIT.failed);
  }
}
