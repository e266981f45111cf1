/**
 * What of a log can be found by its words: messages of the user and the model, commands, the beginning of outputs, diffs. Each
 * record gives at most one text. Whatever shape a record has, nothing here throws.
 */
import { commandOf, COMMAND_TOOLS } from "../../../core/command.ts";
import { asKnown } from "../../../core/known.ts";
import { isCall, isMessage, textOf, toolName, type Item } from "../../../protocol/item.ts";
import type { BlobRef, LogRecord } from "../../../protocol/record.ts";
import { realFiles } from "../files.ts";
import { blobFile, type ThreadFiles } from "../layout.ts";

/** In the index a kind is its place in this list. A preview makes a thread listed, but is no hit of its own. */
export const KINDS = ["title", "preview", "user", "assistant", "command", "output", "diff"] as const;
export type Kind = (typeof KINDS)[number];

export interface Text {
  kind: Kind;
  text: string;
}

const LONGEST: Record<Kind, number> = { title: 1024, preview: 1024, user: 65536, assistant: 65536, command: 8192, output: 2048, diff: 65536 };

export function textIn(record: LogRecord, files: ThreadFiles): Text | null {
  try {
    const found = find(record, files);
    return found && found.text.trim() !== "" ? cut(found) : null;
  } catch {
    return null;
  }
}

export function cut({ kind, text }: Text): Text {
  return { kind, text: text.slice(0, LONGEST[kind]) };
}

function find(raw: LogRecord, files: ThreadFiles): Text | null {
  const record = asKnown(raw);
  switch (record?.type) {
    case "input.queued":
    case "input.changed":
      return { kind: "user", text: record.items.filter((item) => isMessage(item) && item.role === "user").map(textOf).join("\n") };
    case "item.added":
      return fromItem(record.item);
    case "call.requested":
      return { kind: "command", text: record.command };
    case "call.ended":
      return { kind: "output", text: textOf(record.output) };
    case "turn.ended":
      return record.diff ? { kind: "diff", text: readStart(files, record.diff) } : null;
    default:
      return null;
  }
}

function fromItem(item: Item): Text | null {
  if (isMessage(item)) return item.role === "user" || item.role === "assistant" ? { kind: item.role, text: textOf(item) } : null;
  return isCall(item) && COMMAND_TOOLS.has(toolName(item)) ? { kind: "command", text: commandOf(item).command } : null;
}

function readStart(files: ThreadFiles, ref: BlobRef): string {
  const fd = realFiles.open(blobFile(files, ref.sha256), "read");
  try {
    const bytes = Buffer.alloc(LONGEST.diff);
    return bytes.toString("utf8", 0, realFiles.read(fd, bytes, { offset: 0, length: bytes.length, position: 0 }));
  } finally {
    realFiles.close(fd);
  }
}
