/** `skein tour`, and `skein` where there is no terminal UI to show: the recorded conversation, in a scratch folder, through everything that is real. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exec } from "./exec.ts";
import { EXIT, type Shell } from "./shell.ts";

export async function tour(given: { json: boolean }, shell: Shell): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "skein-tour-"));
  for (const [name, content] of Object.entries(shell.tour.files)) writeFileSync(join(folder, name), content);
  shell.stderr.write(
    `This is a recording: the model's answers were written beforehand, no model is asked. The commands and files are real, in ${folder}.\n` +
      "To use a model: OPENAI_API_KEY=… skein exec \"your question\"   (ANTHROPIC_API_KEY works too)\n\n" +
      `> ${shell.tour.prompt}\n\n`,
  );
  const code = await exec(
    {
      wish: { mode: "exec", overrides: ['model="tour"', 'model_provider="replay"'], bypass: true, cd: folder },
      prompt: shell.tour.prompt,
      resume: null,
      json: given.json,
      quiet: false,
      ephemeral: false,
      skipGitCheck: true,
      timeoutSeconds: 60,
      images: [],
      schemaFile: null,
      lastMessageFile: null,
      threadSource: null,
    },
    shell,
  );
  if (code === EXIT.done) {
    const home = shell.env["SKEIN_HOME"] ?? "~/.skein";
    shell.stderr.write(
      `\nThe whole conversation is in one file, readable line by line:\n  jq -c '[.seq, .type]' ${home}/sessions/active/rollout.jsonl\n` +
        `The folder ${folder} stays: the conversation goes on there once there is a model.\n  OPENAI_API_KEY=… skein exec resume --last "…"\n`,
    );
  }
  return code;
}
