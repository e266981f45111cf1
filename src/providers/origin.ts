/**
 * Origin: who made an item. Opaque parts (encrypted reasoning, signatures) are readable only where they were made, so they go back to
 * the same wire, provider, account and model only; a dated name of a model is the same model.
 */
import { createHash } from "node:crypto";
import type { Origin } from "../protocol/item.ts";

export function sameOrigin(made: Origin | null, here: Origin): boolean {
  return made !== null && made.wire === here.wire && made.provider === here.provider && made.account === here.account && (made.model === here.model || family(made.model) === family(here.model));
}

function family(model: string): string {
  return model.replace(/-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/u, "");
}

/** Tells one key from another in the log. 32 bits of a hash give nothing of the key away. */
export function accountOf(key: string): string {
  return createHash("sha256").update(`skein account\n${key}`).digest("hex").slice(0, 8);
}
