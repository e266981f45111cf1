/**
 * Context: what the model is told beside the conversation: AGENTS.md, skills, the environment.
 *
 * A part is sent once, and again when it changes; the later one takes the place of the earlier. In the log it is a message that says in
 * `context` what it is about and whose text is a blob (`text_blob`), so that a compaction can put it before the model again without
 * writing it again. The text is put in when a request is made.
 */
import { isMessage, type ContentPart, type Item, type MessageItem } from "../protocol/item.ts";
import type { BlobRef } from "../protocol/record.ts";

export interface ContextPart {
  /** What it is; a later part with the same key takes the place of an earlier one. */
  readonly key: string;
  readonly role: "user" | "developer";
  readonly text: string;
}

/** Keys that begin so are of something used once: that later turns do not name it does not end it. */
export const PASSING = "skill:";

const REPLACES = "This takes the place of what was said about the same before.";

export function contextItem({ key, role, blob, again }: { key: string; role: "user" | "developer"; blob: BlobRef; again: boolean }): MessageItem {
  const text: ContentPart = { type: "text_blob", sha256: blob.sha256, bytes: blob.bytes };
  return { type: "message", role, context: key, content: again ? [{ type: "input_text", text: REPLACES }, text] : [text] };
}

export function isContext(item: Item): item is MessageItem & { context: string } {
  return isMessage(item) && typeof item["context"] === "string";
}

export function contextRefs(items: readonly Item[]): Record<string, BlobRef> {
  const refs: Record<string, BlobRef> = {};
  for (const item of items) {
    if (!isContext(item)) continue;
    const [blob] = item.content.map(textBlob).filter((found) => found !== null);
    if (blob) refs[item.context] = blob;
  }
  return refs;
}

/** The text that a part of content stands for, if it is kept as a blob. */
export function textBlob(part: ContentPart): BlobRef | null {
  const { type, sha256, bytes } = part as { type: string; sha256?: unknown; bytes?: unknown };
  return type === "text_blob" && typeof sha256 === "string" && typeof bytes === "number" ? { sha256, bytes } : null;
}
