/**
 * Plan: the sections of a patch and the files that they meet → what every file becomes, or why nothing is done. It changes nothing.
 *
 * Sections apply one after another, so a file may be deleted and added, or updated twice. Update follows a link to the file behind it; add, delete
 * and move are about the name itself.
 */
import { dirname } from "node:path";
import { applyHunks } from "./apply.ts";
import { diffOfAdd, diffOfDelete, diffOfUpdate } from "./diff.ts";
import { explainMiss } from "./explain.ts";
import type { Ground, Seen } from "./ground.ts";
import { matchHunk, searched, type Placed } from "./match.ts";
import type { Section } from "./parse.ts";
import { hasPlaceholder } from "./placeholder.ts";
import { decodeText, encodeText, type Text } from "./text.ts";

/** A name and what becomes of it; `after` null: it goes. */
export interface Change {
  readonly real: string;
  /** As the patch names it. */
  readonly path: string;
  readonly before: Exclude<Seen, { kind: "unusable" }>;
  readonly after: { bytes: Buffer; mode: number | null; owner: { uid: number; gid: number } | null } | null;
}
export type Planned = { ok: true; changes: readonly Change[]; diff: string } | { ok: false; message: string };

type After = NonNullable<Change["after"]>;

/** The rest of the sentence why a patch is refused, or null. */
type Why = string | null;

export function planPatch(sections: readonly Section[], ground: Ground): Planned {
  const found = new Map<string, Change>();
  const diffs: string[] = [];

  /** A text is why not. */
  function open(path: string, what: "target" | "link"): Change | string {
    const located = ground.locate(path, what);
    if (!located.ok) return `${path} ${located.why}.`;
    const { real } = located;
    const known = found.get(real);
    if (known) return known;
    if (!ground.sees(real)) return `${path} is hidden in this sandbox.`;
    const before = ground.look(real);
    if (before.kind === "unusable") return `${path} ${before.why}.`;
    return { real, path, before, after: before.kind === "file" ? { bytes: before.bytes, mode: before.mode, owner: before } : null };
  }
  function put(change: Change, after: After | null): void {
    found.set(change.real, { ...change, after });
  }
  /** A link is there even though it is no file. */
  function isThere(change: Change): boolean {
    return change.after !== null || (change.before.kind === "symlink" && !found.has(change.real));
  }

  function add({ path, lines }: Extract<Section, { kind: "add" }>): Why {
    const target = open(path, "link");
    if (typeof target === "string") return target;
    if (isThere(target)) return `${path} exists already: use "*** Update File", or delete it first in the same patch.`;
    const secret = lines.findIndex(hasPlaceholder);
    if (secret >= 0) return `${path}, line ${secret + 1}: a placeholder of a secret cannot be put into a new file, because its text is not known.`;
    put(target, { bytes: Buffer.from(lines.map((line) => `${line}\n`).join("")), mode: null, owner: null });
    diffs.push(diffOfAdd(path, lines));
    return null;
  }

  function remove({ path }: Extract<Section, { kind: "delete" }>): Why {
    const target = open(path, "link");
    if (typeof target === "string") return target;
    if (!isThere(target)) return `${path} does not exist.`;
    const text = target.after && decodeText(target.after.bytes);
    put(target, null);
    diffs.push(diffOfDelete(path, text?.ok === true ? text.text.lines : null));
    return null;
  }

  function update(section: Extract<Section, { kind: "update" }>): Why {
    const { path, hunks, moveTo } = section;
    const target = open(path, "target");
    if (typeof target === "string") return target;
    const { after } = target;
    if (after === null) return `${path} does not exist. A new file needs "*** Add File".`;
    const decoded = decodeText(after.bytes);
    if (!decoded.ok && hunks.length > 0) return `${path} ${decoded.why}.`;
    const text: Text = decoded.ok ? decoded.text : { bom: "", lines: [], ends: [] };
    const placed = place(section, text);
    if (typeof placed === "string") return placed;
    const bytes = hunks.length > 0 ? encodeText(applyHunks(text, placed)) : after.bytes;
    diffs.push(diffOfUpdate({ from: path, to: moveTo ?? path, lines: text.lines, placed }));
    if (moveTo !== null) return move(target, { path, moveTo, after: { ...after, bytes } });
    put(target, { ...after, bytes });
    return null;
  }

  function move(target: Change, { path, moveTo, after }: { path: string; moveTo: string; after: After }): Why {
    const to = open(moveTo, "link");
    if (typeof to === "string") return to;
    if (to.real !== target.real) {
      if (isThere(to)) return `${path} cannot be moved to ${moveTo}, which exists already.`;
      const name = ground.locate(path, "link");
      if (!name.ok || name.real !== target.real) return `${path} is a symbolic link and cannot be moved: name the file that it leads to.`;
      put(target, null);
    }
    put(to.real === target.real ? target : to, after);
    return null;
  }

  for (const section of sections) {
    const why = section.kind === "add" ? add(section) : section.kind === "delete" ? remove(section) : update(section);
    if (why !== null) return { ok: false, message: why };
  }
  const files = new Set([...found.values()].filter(({ after }) => after !== null).map(({ real }) => real));
  const below = [...found.values()].find(({ real, after }) => after !== null && hasParentIn(files, real));
  if (below) return { ok: false, message: `${below.path} lies in a folder that the same patch makes a file.` };
  return { ok: true, changes: [...found.values()].filter(isChanged), diff: diffs.join("\n") };
}

/** A text is why not. */
function place({ path, hunks }: Extract<Section, { kind: "update" }>, { lines }: Text): Placed[] | string {
  const file = searched(lines);
  const placed: Placed[] = [];
  let from = 0;
  for (const [index, hunk] of hunks.entries()) {
    const matched = matchHunk(hunk, { file, from });
    if (!matched.ok) return explainMiss(matched, { where: hunks.length === 1 ? path : `${path}, hunk ${index + 1} of ${hunks.length}`, lines, from });
    placed.push(matched.placed);
    from = matched.placed.at + matched.placed.lines.filter(({ kind }) => kind !== "add").length;
  }
  return placed;
}

function hasParentIn(files: ReadonlySet<string>, path: string): boolean {
  const parent = dirname(path);
  return parent !== path && (files.has(parent) || hasParentIn(files, parent));
}

function isChanged({ before, after }: Change): boolean {
  if (before.kind === "absent") return after !== null;
  return before.kind === "symlink" || after === null || !before.bytes.equals(after.bytes);
}
