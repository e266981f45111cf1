/**
 * Call ids that the script leaves out. An id is a prefix and a number that is higher than any with that prefix in the
 * request, so that ids stay unique in a conversation that outlives a server, and are the same in every run.
 */
export type FreshId = (prefix: string) => string;

/** `highest` belongs to the server; the request is searched only when an id is needed. */
export function freshIds(request: Buffer, highest: Map<string, number>): FreshId {
  let text: string | undefined;
  const searched = new Set<string>();
  return (prefix) => {
    if (!searched.has(prefix)) {
      searched.add(prefix);
      text ??= request.toString("latin1");
      for (const match of text.matchAll(new RegExp(`\\b${prefix}(\\d{1,12})\\b`, "g"))) raise(highest, prefix, Number(match[1]));
    }
    const number = (highest.get(prefix) ?? 0) + 1;
    highest.set(prefix, number);
    return `${prefix}${number}`;
  };
}

function raise(highest: Map<string, number>, prefix: string, seen: number): void {
  if (seen > (highest.get(prefix) ?? 0)) highest.set(prefix, seen);
}
