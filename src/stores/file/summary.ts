/** What is known of a thread without opening it: metadata.json if it can be read, else what the log says. */
import { summaryOf } from "../../core/derived.ts";
import type { ThreadSummary } from "../../protocol/library.ts";
import type { ThreadId } from "../../protocol/record.ts";
import { realFiles, type Files } from "./files.ts";
import { homeAt } from "./layout.ts";
import { loadState } from "./loading.ts";
import { isHidden, locate } from "./reader.ts";
import { readJson } from "./whole.ts";

/** Null when there is no such thread, or when it is hidden: removed, and kept only for its forks. */
export function summarize(home: string, thread: ThreadId, files: Files = realFiles): ThreadSummary | null {
  const at = homeAt(home);
  const place = locate(at, thread, files);
  if (!place || isHidden(place, files)) return null;
  const written = readJson(place.files.metadata, files);
  if (written && isSummary(written, thread)) return written;
  const state = loadState(at, thread, files);
  return state && summaryOf(state);
}

const TEXTS = ["id", "created_at", "updated_at", "model", "model_provider", "cwd", "session_source", "status", "approval_policy", "sandbox_mode"] as const;

export function isSummary(value: object, thread: ThreadId): value is ThreadSummary {
  const found = value as Record<string, unknown>;
  return found["id"] === thread && TEXTS.every((name) => typeof found[name] === "string") && typeof found["total_tokens"] === "number" && typeof found["turns"] === "number";
}
