/** One stream out of several that each come newest first. Of two with the same id, the one from the earlier stream counts. */
export function* newestFirst<T extends { id: string }>(streams: readonly Iterable<T>[]): Generator<T, void, void> {
  const iterators = streams.map((stream) => stream[Symbol.iterator]());
  try {
    const heads = iterators.map((iterator) => iterator.next());
    for (;;) {
      let newest: T | null = null;
      for (const head of heads) if (!head.done && (newest === null || head.value.id > newest.id)) newest = head.value;
      if (newest === null) return;
      yield newest;
      for (const [index, head] of heads.entries()) if (!head.done && head.value.id === newest.id) heads[index] = iterators[index]!.next();
    }
  } finally {
    for (const iterator of iterators) iterator.return?.();
  }
}
