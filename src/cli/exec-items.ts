/** The items of exec's JSONL that stand for calls: commands, patches, MCP tools, and every other tool. Pure. */
import { isAbsolute, join } from "node:path";
import type { CompletedCall, ItemKind } from "../protocol/event.ts";

export interface RequestedCall {
  kind: ItemKind;
  tool: string;
  /** As the model sent them. */
  arguments: string;
  command: string;
}

/** `result` is null while it runs. */
export function commandItem(id: string, command: string, result: CompletedCall | null): object {
  return { id, type: "command_execution", command, aggregated_output: result?.output ?? "", exit_code: result?.exit_code ?? null, status: statusOf(result) };
}

export function callItem(id: string, call: RequestedCall, result: CompletedCall | null, cwd: string): object {
  if (call.kind === "fileChange") return fileChange(id, call, result, cwd);
  if (call.kind === "mcpToolCall") return mcpCall(id, call, result);
  return { id, type: "tool_call", tool: call.tool, arguments: call.arguments, output: result?.output ?? "", status: statusOf(result) };
}

/** What a patch says it will do, by its headers. A patch that failed changed nothing, and `output` says why. */
function fileChange(id: string, call: RequestedCall, result: CompletedCall | null, cwd: string): object {
  const output = result ? { output: result.output } : {};
  return { id, type: "file_change", changes: changesIn(call.arguments, cwd), status: statusOf(result), ...output };
}

const KINDS: Readonly<Record<string, string>> = { Add: "add", Update: "update", Delete: "delete" };

export function changesIn(argument: string, cwd: string): { path: string; kind: string }[] {
  const changes: { path: string; kind: string }[] = [];
  for (const [, verb, file] of patchText(argument).matchAll(/^\*\*\* (Add|Update|Delete) File: (.+)$/gmu)) {
    const path = file!.trim();
    changes.push({ path: isAbsolute(path) || cwd === "" ? path : join(cwd, path), kind: KINDS[verb!]! });
  }
  return changes;
}

/** A free-form call is a JSON string; a function has the patch in one of its fields. */
function patchText(argument: string): string {
  const value = parsed(argument);
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return argument;
  return Object.values(value).find((field): field is string => typeof field === "string" && field.includes("*** ")) ?? "";
}

function mcpCall(id: string, call: RequestedCall, result: CompletedCall | null): object {
  const [, server = "", tool = call.tool] = /^mcp__(.+?)__(.+)$/su.exec(call.tool) ?? [];
  const status = statusOf(result);
  return {
    id,
    type: "mcp_tool_call",
    server,
    tool,
    arguments: parsed(call.arguments),
    result: result && status === "completed" ? { content: [{ type: "text", text: result.output }], structured_content: null } : null,
    error: result && status !== "completed" ? { message: result.output } : null,
    status,
  };
}

/** A command that ran and gave another code than 0 failed, as its reader sees it. */
function statusOf(result: CompletedCall | null): "in_progress" | "completed" | "failed" | "declined" {
  if (!result) return "in_progress";
  if (result.status === "denied") return "declined";
  return result.status === "done" && (result.exit_code ?? 0) === 0 ? "completed" : "failed";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
