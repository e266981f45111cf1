/**
 * What a model reads of a command is a few lines about how it ended, then what it wrote (tools/exec.ts has the format). People and
 * programs that watch get the exit code and the time by themselves, so they are shown only the latter.
 */
const ABOUT = /^(?:Exit code|Interrupted): .*\nWall time: .*\n(?:Note: .*\n)*Output:\n/u;

/** The command's own output; a text that is not about a command that ran (it was refused, or its outcome is unknown) as it is. */
export function writtenOutput(told: string): string {
  return told.replace(ABOUT, "");
}
