/** What a wire's module provides, and what it is told. */
import type { FreshId } from "./ids.ts";
import type { Profile } from "./profiles.ts";
import type { Failure, Reply } from "./script.ts";

export interface Context {
  /** The reply's number, from 0. */
  readonly n: number;
  /** The request, already known to be an object or replaced by an empty one. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly freshId: FreshId;
  readonly profile: Profile;
}

export interface WireModule {
  /** The end of the endpoint's path, so that any base URL works. */
  readonly path: string;
  /** The SSE frames of a reply, made while they are sent. */
  frames(reply: Reply, context: Context): Iterable<string>;
  errorBody(status: number, failure: Failure): object;
  validate(body: unknown): string[];
}

export function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Content up to where the script wants the failure, then the failure; without one, content and its proper end. */
export function* withFailure(parts: {
  reply: Reply;
  content: Iterable<string>;
  failure: (failure: Failure) => Iterable<string>;
  end: () => Iterable<string>;
}): Generator<string> {
  const failed = parts.reply.responseFailed;
  if (!failed) {
    yield* parts.content;
    yield* parts.end();
    return;
  }
  let left = failed.afterEvents ?? Infinity;
  if (left > 0) {
    for (const one of parts.content) {
      yield one;
      if (--left <= 0) break;
    }
  }
  yield* parts.failure(failed);
}
