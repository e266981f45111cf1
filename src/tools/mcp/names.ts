/**
 * Names: `mcp__SERVER__TOOL`, as models take them: letters, digits, `_` and `-`, at most 64 characters. A name that would be longer,
 * or that two tools would share, ends in a hash of server and tool instead: the same tools always get the same names.
 */
import { createHash } from "node:crypto";

const LONGEST = 64;
const HASH = 8;

export interface Owned {
  readonly server: string;
  readonly tool: string;
}

/** The name of each, in the same order. */
export function toolNames(tools: readonly Owned[]): string[] {
  const plain = tools.map(({ server, tool }) => `mcp__${plainPart(server)}__${plainPart(tool)}`);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return plain.map((name, index) => (name.length <= LONGEST && counts.get(name) === 1 ? name : `${name.slice(0, LONGEST - HASH - 1)}_${hashOf(tools[index]!)}`));
}

function plainPart(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, "_");
}

function hashOf({ server, tool }: Owned): string {
  return createHash("sha256").update(JSON.stringify([server, tool])).digest("hex").slice(0, HASH);
}
