/**
 * apply_patch: changes files by a patch (parse.ts has its format), all of it or nothing. It runs in our process, so it keeps the bounds of
 * the sandbox itself (files/bounds.ts). The model is told which files changed (`A`, `M`, `D` and the path), or why none did.
 */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { AssessHost, Assessment, Tool, ToolHost, ToolOutcome } from "../../core/tool.ts";
import type { FileState } from "../../protocol/record.ts";
import { failed, readArguments, text } from "../files/arguments.ts";
import { createBounds, type Bounds } from "../files/bounds.ts";
import type { FileToolOptions, Within } from "../files/options.ts";
import { isWithin, realOrSame } from "../files/real.ts";
import { createView } from "../files/view.ts";
import { scratch } from "../scratch.ts";
import { createAgreed, type Agreed } from "./agreed.ts";
import { PATCH_GRAMMAR } from "./grammar.ts";
import { createGround, type Ground } from "./ground.ts";
import { parsePatch, type Section } from "./parse.ts";
import { planPatch, type Change } from "./plan.ts";
import { writeChanges } from "./write.ts";

/** Of the diff that the user is shown. */
const MOST_SHOWN = 60_000;
const NOTHING = "Nothing was changed.";

const DESCRIPTION = `Changes files by a patch: all of it or nothing. Not JSON inside, no line numbers:

*** Begin Patch
*** Update File: src/a.py
@@ def greet():
     name = read()
-    print("Hi")
+    print("Hello")
*** Add File: notes.txt
+every line of a new file begins with a plus
*** Delete File: old.txt
*** End Patch

Context lines begin with one space, and about three around a change are enough; they must be as in the file. Where the same lines occur more than once, "@@ " and a line above (a class, a function) says which are meant. "*** Move to: PATH" right after "*** Update File: PATH" renames. "*** End of File" after a hunk says that it ends the file. Paths are relative to the working folder.`;

const PARAMETERS = {
  type: "object",
  properties: { input: { type: "string", description: "The whole patch, from *** Begin Patch to *** End Patch." } },
  required: ["input"],
  additionalProperties: false,
} as const;

export function applyPatch(options: FileToolOptions): Tool {
  const agreed = createAgreed();
  return {
    name: "apply_patch",
    description: DESCRIPTION,
    parameters: PARAMETERS,
    freeform: { syntax: "lark", definition: PATCH_GRAMMAR },
    effect: "write",
    assess: (input, host) => Promise.resolve(assess(input, { host, options, agreed })),
    run: (input, host) => run(input, { host, options, agreed }),
  };
}

interface Given<H> {
  host: H;
  options: FileToolOptions;
  agreed: Agreed;
}

interface Read {
  patch: string;
  sections: readonly Section[];
  bounds: Bounds;
  ground: Ground;
  /** The real paths of all that it touches. */
  places: readonly string[];
  beyond: readonly Beyond[];
}
interface Beyond {
  path: string;
  why: string;
  seen: boolean;
}

function readPatch(input: unknown, { host, options }: Pick<Given<Within>, "host" | "options">): { ok: true; value: Read } | { ok: false; message: string } {
  const given = readArguments(typeof input === "string" ? { input } : input, { input: text });
  if (!given.ok) return given;
  const parsed = parsePatch(given.value.input);
  if (!parsed.ok) return parsed;
  const bounds = createBounds(options, host);
  const ground = createGround({ view: createView(options, host), bounds, platform: options.platform });
  const located = touched(parsed.sections).flatMap(({ path, what }) => {
    const place = ground.locate(path, what);
    return place.ok ? [{ path, real: place.real }] : [];
  });
  const beyond = located.flatMap(({ path, real }): Beyond[] => {
    const why = bounds.forbids(real);
    return why === null ? [] : [{ path, why, seen: ground.sees(real) }];
  });
  return { ok: true, value: { patch: given.value.input, sections: parsed.sections, bounds, ground, places: located.map(({ real }) => real), beyond } };
}

function touched(sections: readonly Section[]): { path: string; what: "target" | "link" }[] {
  return sections.flatMap((section) => [
    { path: section.path, what: section.kind === "update" ? ("target" as const) : ("link" as const) },
    ...(section.kind === "update" && section.moveTo !== null ? [{ path: section.moveTo, what: "link" as const }] : []),
  ]);
}

function assess(input: unknown, { host, options, agreed }: Given<AssessHost>): Assessment {
  const read = readPatch(input, { host, options });
  if (!read.ok) return harmless(read.message);
  const { patch, sections, bounds, ground, places, beyond } = read.value;
  // What the model may not see is not compared with its patch before somebody has agreed.
  const planned = beyond.some(({ seen }) => !seen) ? null : planPatch(sections, ground);
  agreed.note({ thread: host.thread, text: patch, places: planned?.ok === false ? null : places });
  if (planned?.ok === false) return harmless(planned.message);
  const paths = [...new Set(touched(sections).map(({ path }) => path))];
  return {
    safe: false,
    rule: null,
    outside: beyond.length === 0 ? null : `${beyond.map(({ path, why }) => `${path} ${why}`).join("; ")}.`,
    shown: { kind: "patch", diff: cut(planned?.diff ?? patch), paths },
    grant: grantOf(places, (place) => isWithin(place, realOrSame(host.cwd)) && bounds.forbids(place) === null),
  };
}

/** In the workspace, the folders of what was shown; elsewhere just its files. */
function grantOf(places: readonly string[], isInside: (place: string) => boolean): Assessment["grant"] {
  const folders = [...new Set(places.filter(isInside).map((place) => dirname(place)))];
  const files = [...new Set(places.filter((place) => !isInside(place)))];
  const parts = [...(folders.length > 0 ? [`to files in ${folders.join(", ")}`] : []), ...(files.length > 0 ? [`to ${files.join(", ")}`] : [])];
  return { keys: [...folders.map((folder) => `write:${folder}`), ...files.map((file) => `write-file:${file}`)], text: `changes ${parts.join(" and ")}` };
}

/** It will be refused when it runs, and its failure is what the model needs to read. */
function harmless(why: string): Assessment {
  return { safe: true, rule: null, outside: null, shown: { kind: "patch", diff: why, paths: [] }, grant: null };
}

function cut(diff: string): string {
  if (diff.length <= MOST_SHOWN) return diff;
  const end = diff.lastIndexOf("\n", MOST_SHOWN);
  return `${diff.slice(0, end > 0 ? end : MOST_SHOWN)}\n[… ${diff.length - MOST_SHOWN} more characters …]`;
}

async function run(input: unknown, { host, options, agreed }: Given<ToolHost>): Promise<ToolOutcome> {
  const read = readPatch(input, { host, options });
  if (!read.ok) return failed(`${NOTHING} ${read.message}`);
  const { patch, sections, bounds, ground, places, beyond } = read.value;
  if (beyond.some(({ seen }) => !seen)) return denied(beyond);
  const planned = planPatch(sections, ground);
  if (!planned.ok) return failed(`${NOTHING} ${planned.message}`);
  if (beyond.length > 0) return denied(beyond);
  if (agreed.differs({ thread: host.thread, text: patch, places })) return failed(`${NOTHING} The files are no longer where they were when the patch was looked at. Send it again.`);
  if (planned.changes.length === 0) return { status: "done", output: `${NOTHING} The files already are as the patch leaves them.` };
  if (host.signal.aborted) return failed(`${NOTHING} It was interrupted.`);
  const before = await keepAll(planned.changes, host).catch((error: unknown) => `${NOTHING} What the files hold could not be kept first: ${String(error)}`);
  if (typeof before === "string") return failed(before);
  if (host.signal.aborted) return failed(`${NOTHING} It was interrupted.`);
  const written = writeChanges(planned.changes, { bounds, platform: options.platform });
  if (!written.ok) {
    const state = written.lost.length === 0 ? NOTHING : `Some files may have changed, because not everything could be put back: ${written.lost.join("; ")}.`;
    return failed(`${state} ${written.message}`);
  }
  return {
    status: "done",
    output: [...planned.changes.map((change) => `${letter(change)} ${change.path}`), ...whereElse(planned.changes, host)].join("\n"),
    changes: planned.changes.map(({ real, after }, index) => ({
      path: real,
      before: before[index]!,
      after: after === null ? { kind: "absent" } : { kind: "file", hash: hash(after.bytes), mode: written.modes[index]! },
    })),
  };
}

/** In a sandbox /tmp is another one. */
function whereElse(changes: readonly Change[], { sandbox }: ToolHost): string[] {
  const there = sandbox === "danger-full-access" ? [] : changes.filter(({ real }) => isWithin(real, realOrSame(scratch().tmp)));
  return there.length === 0 ? [] : [`Note: ${there.map(({ path }) => path).join(", ")} ${there.length === 1 ? "is" : "are"} in the private /tmp of the sandbox, not in that of the machine.`];
}

function denied(beyond: readonly Beyond[]): ToolOutcome {
  const what = beyond.map(({ path, why }) => `${path} ${why}`).join("; ");
  return { ...failed(`${NOTHING} ${what}.`), denied: { what, path: beyond[0]!.path } };
}

/** Each file's state before; its bytes are kept beside the log, so that the change can be undone. */
function keepAll(changes: readonly Change[], host: ToolHost): Promise<FileState[]> {
  return Promise.all(
    changes.map(async ({ before }): Promise<FileState> => {
      if (before.kind === "absent") return { kind: "absent" };
      if (before.kind === "symlink") return { kind: "symlink", target: before.target };
      return { kind: "file", hash: hash(before.bytes), mode: before.mode, content: await host.keepBytes(before.bytes) };
    }),
  );
}

function hash(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function letter({ before, after }: Change): string {
  return after === null ? "D" : before.kind === "absent" ? "A" : "M";
}
