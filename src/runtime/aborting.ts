/** A source that ends as soon as the signal does, even if it would not by itself. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let onAbort = () => {};
  const aborted = new Promise<{ done: true; value: undefined }>((resolve) => {
    onAbort = () => resolve({ done: true, value: undefined });
    signal.addEventListener("abort", onAbort);
  });
  try {
    while (!signal.aborted) {
      const result = await Promise.race([iterator.next(), aborted]);
      if (result.done) return;
      yield result.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    const closing = iterator.return?.(undefined)?.then(undefined, () => {});
    if (!signal.aborted) await closing;
  }
}
