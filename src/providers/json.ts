/** Reading what servers send and writing what they accept. */

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function asCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** undefined when it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The body of a request. Half a surrogate pair is not text: JSON.stringify writes it as an escape, and servers refuse the whole
 * request for it, so it is sent as the replacement character.
 */
export function toJson(body: object): string {
  const text = JSON.stringify(body);
  if (!/\\ud[89a-f]/u.test(text)) return text;
  return JSON.stringify(body, (_key, value: unknown) => (typeof value === "string" ? value.replace(LONE_SURROGATE, "\ufffd") : value));
}

/** With the `u` flag a whole pair is one character, which this class does not match. */
const LONE_SURROGATE = /[\ud800-\udfff]/gu;
