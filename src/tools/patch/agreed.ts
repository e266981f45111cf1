/**
 * Agreed: where the paths of a patch led when it was assessed. Between that and its run somebody may have been asked, and a command may have
 * turned a link elsewhere; outside of the sandbox nothing else would notice. The last ones are remembered.
 */
import { createHash } from "node:crypto";

const MOST = 100;

export interface Patch {
  readonly thread: string;
  readonly text: string;
  /** Real paths; null: it could not be applied. */
  readonly places: readonly string[] | null;
}

export interface Agreed {
  note(patch: Patch): void;
  /** It was assessed, and led elsewhere. */
  differs(patch: Patch): boolean;
}

export function createAgreed(): Agreed {
  const noted = new Map<string, string>();
  return {
    note(patch) {
      noted.delete(key(patch));
      noted.set(key(patch), JSON.stringify(patch.places));
      if (noted.size > MOST) noted.delete(noted.keys().next().value!);
    },
    differs: (patch) => (noted.get(key(patch)) ?? JSON.stringify(patch.places)) !== JSON.stringify(patch.places),
  };
}

function key({ thread, text }: Patch): string {
  return `${thread} ${createHash("sha256").update(text).digest("hex")}`;
}
