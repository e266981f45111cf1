/** The command of a call, whichever shape the model used. */
import type { CallItem } from "../protocol/item.ts";
import { OWN_COMMAND } from "./command-output.ts";

export const COMMAND_TOOLS: ReadonlySet<string> = new Set(["exec_command", "shell", "local_shell", OWN_COMMAND]);

/** The arguments as text: JSON, but for a free-form call, which is a JSON string. */
export function argumentsOf(call: CallItem): string {
  if (call.type === "function_call") return call.arguments;
  return JSON.stringify(call.type === "custom_tool_call" ? call.input : (call.action ?? null));
}

/** The command as a person reads it, from whichever shape the model used. */
export function commandOf(call: CallItem): { command: string; cwd: string } {
  const fields = fieldsOf(call);
  const command = fields["cmd"] ?? fields["command"];
  const cwd = fields["workdir"] ?? fields["working_directory"] ?? "";
  return {
    command: Array.isArray(command) ? command.join(" ") : typeof command === "string" ? command : argumentsOf(call),
    cwd: typeof cwd === "string" ? cwd : "",
  };
}

/** False where the arguments cannot be read, or hold none. */
export function hasCommand(call: CallItem): boolean {
  const fields = fieldsOf(call);
  const command = fields["cmd"] ?? fields["command"];
  return typeof command === "string" || Array.isArray(command);
}

function fieldsOf(call: CallItem): Record<string, unknown> {
  const source = call.type === "local_shell_call" ? call.action : parsed(argumentsOf(call));
  return typeof source === "object" && source !== null ? (source as Record<string, unknown>) : {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
