/**
 * OpenAI's own compaction: POST {base_url}/responses/compact answers, at once and as JSON, with the items that stand for the whole
 * conversation from then on: what the user said, and one opaque `compaction` item, which goes back only to where it was made.
 */
import type { Compacted, ModelRequest, RemoteCompact } from "../core/provider.ts";
import { failed, httpFailure, idle, networkFailure, type Failed } from "./failure.ts";
import { asObject, parsed } from "./json.ts";
import { toRequest } from "./responses-request.ts";
import { isItem, usageOf } from "./responses-stream.ts";
import { createWatch, wholeText } from "./watch.ts";
import { prepare, type Building, type Wire, type WireOptions } from "./wire.ts";

/** An answer is no longer than what was sent; this is to end something that is none. */
const LONGEST_ANSWER = 256 * 1024 * 1024;

export function createRemoteCompact(wire: Wire, options: WireOptions): RemoteCompact {
  return async function compactRemotely(request, host) {
    if (host.signal.aborted) return refused(failed("aborted", "The compaction was stopped.", { retryable: false }));
    const ready = await prepare({ wire: { ...wire, path: `${wire.path}/compact`, toRequest: compactRequest }, options, request, host });
    if (!ready.ok) return refused(ready.failed);
    const { url, headers, body, target } = ready;
    const watch = createWatch(host.signal, options.idleTimeoutMs);
    try {
      const response = await watch.waitFor(options.post({ url, headers: { accept: "application/json", ...headers }, body, signal: watch.signal }));
      const text = await wholeText(response, { watch, most: LONGEST_ANSWER });
      response.release();
      if (response.status < 200 || response.status >= 300) return refused(httpFailure({ ...response, body: text }, target, Date.now()));
      const { output, usage } = asObject(parsed(text));
      const items = Array.isArray(output) ? (output as unknown[]).filter(isItem) : [];
      if (items.length === 0) return refused(failed("bad_answer", `${target.host} answered the compaction with nothing that could stand for the conversation.`, { retryable: false }));
      return { ok: true, items, usage: usageOf(usage) };
    } catch (error) {
      if (host.signal.aborted) return refused(failed("aborted", "The compaction was stopped.", { retryable: false }));
      return refused(watch.expired ? idle(target, options.idleTimeoutMs) : networkFailure(error, target));
    } finally {
      watch.stop();
    }
  };
}

/** The fields of a request that this endpoint knows. */
function compactRequest(request: ModelRequest, building: Building): object {
  const { model, instructions, input, prompt_cache_key } = toRequest(request, building) as Record<string, unknown>;
  return { model, ...(instructions === undefined ? {} : { instructions }), input, prompt_cache_key };
}

function refused({ failure, retryAfterMs }: Failed): Compacted {
  return { ok: false, failure, retryAfterMs };
}
