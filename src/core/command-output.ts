/**
 * What a model reads of a command is a few lines about how it ended, then what it wrote (tools/exec.ts has the format). People and
 * programs that watch get the exit code and the time by themselves, so they are shown only the latter.
 *
 * A command that the user ran is told to the model as a message of the user, with the command around it.
 */
import { textOf, userText, type Item, type MessageItem } from "../protocol/item.ts";

const ABOUT = /^(?:Exit code: |Interrupted: |Ended: |Process running ).*\nWall time: .*\n(?:Note: .*\n)*Output:\n/u;

/** The tool that runs the user's own commands. */
export const OWN_COMMAND = "user_shell";

export function ownCommandMessage(command: string, output: string): MessageItem {
  return userText(`<user_shell_command>\n<command>\n${command}\n</command>\n<result>\n${output}\n</result>\n</user_shell_command>`);
}

/** The command's own output; a text that is not about a command that ran (it was refused, or its outcome is unknown) as it is. */
export function writtenOutput(output: Item): string {
  const told = textOf(output);
  const own = output.type === "message" ? /<result>\n([\s\S]*)\n<\/result>\n<\/user_shell_command>$/u.exec(told)?.[1] : undefined;
  return (own ?? told).replace(ABOUT, "");
}
