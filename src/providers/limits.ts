/**
 * Rate limits, as the headers of an answer tell them. Somebody whose limit is nearly used up hears of it before requests are refused: when
 * less than a tenth is left, at most once a minute for each limit.
 *
 *   OpenAI and many others   x-ratelimit-{limit,remaining,reset}-{requests,tokens}          reset: a duration, "6m0s"
 *   Anthropic                anthropic-ratelimit-{requests,…-tokens}-{limit,remaining,reset}   reset: a date
 */
import type { ModelEvent } from "../core/provider.ts";
import type { Headers } from "../net/post.ts";

const TOLD_AGAIN_MS = 60_000;
const NAME = /^(?:x-ratelimit-remaining-(?<openai>[a-z-]+)|anthropic-ratelimit-(?<anthropic>[a-z-]+)-remaining)$/u;

export function createNotices(provider: string, now: () => number = Date.now): (headers: Headers) => ModelEvent[] {
  const told = new Map<string, number>();
  return (headers) => {
    const events: ModelEvent[] = [];
    for (const [name, value] of Object.entries(headers)) {
      const found = NAME.exec(name)?.groups;
      const limit = found?.["openai"] ?? found?.["anthropic"];
      if (limit === undefined) continue;
      const [most, reset] = found?.["openai"] ? [`x-ratelimit-limit-${limit}`, `x-ratelimit-reset-${limit}`] : [`anthropic-ratelimit-${limit}-limit`, `anthropic-ratelimit-${limit}-reset`];
      const left = Number(value);
      const all = Number(headers[most]);
      if (value?.trim() === "" || !(left >= 0) || !(all > 0) || left >= all / 10 || now() - (told.get(limit) ?? -Infinity) < TOLD_AGAIN_MS) continue;
      told.set(limit, now());
      const until = resetTime(headers[reset] ?? "", now());
      events.push({ type: "notice", message: `${provider}: ${left} of ${all} ${limit.replaceAll("-", " ")} left${until === null ? "" : ` until ${new Date(until).toTimeString().slice(0, 8)}`}.` });
    }
    return events;
  };
}

function resetTime(reset: string, now: number): number | null {
  const text = reset.trim();
  const seconds = /^\d+(?:\.\d+)?$/u.test(text) ? Number(text) : durationOf(text);
  if (seconds !== null) return now + seconds * 1000;
  const date = Date.parse(text);
  return Number.isFinite(date) ? date : null;
}

const UNITS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1, ms: 0.001 };

/** "1d2h", "6m0s", "1.5s", "20ms" in seconds. */
function durationOf(text: string): number | null {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/u.test(text)) return null;
  let seconds = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/gu)) seconds += Number(number) * UNITS[unit!]!;
  return seconds;
}
