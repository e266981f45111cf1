/** `POST /responses/compact`: the user's messages as they were, and one opaque item that stands for all the rest. */
import { usage } from "./responses.ts";
import type { Reply } from "./script.ts";
import { checkItems } from "./validate/responses-items.ts";
import { isObject, isText, keys, onlyKeys, problemsOf } from "./validate/shape.ts";
import type { Context } from "./wire.ts";

const known = keys("model input instructions previous_response_id prompt_cache_key prompt_cache_retention prompt_cache_options service_tier");

export function compacted(reply: Reply, { n, body }: Context): object {
  const input: unknown[] = Array.isArray(body["input"]) ? body["input"] : [];
  const kept = input.filter((item) => isObject(item) && item["role"] === "user");
  const output = [...kept, { id: `cmp_${n}`, type: "compaction", encrypted_content: `opaque-compaction-${n}` }];
  return { id: `resp_${n}`, object: "response.compaction", created_at: 0, output, usage: usage(reply) };
}

export function validate(body: unknown): string[] {
  return problemsOf((refuse) => {
    if (!isObject(body)) return refuse("body", "must be an object");
    onlyKeys(body, known, "", refuse);
    if (!isText(body["model"])) refuse("model", "missing required parameter");
    checkItems({ ...body, store: false }, refuse);
  });
}
