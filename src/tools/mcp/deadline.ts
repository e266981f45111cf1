/** Deadline: aborts after so long, not counting the time while somebody waits for the user. */

export interface Deadline {
  readonly signal: AbortSignal;
  pause(): void;
  resume(): void;
  clear(): void;
}

export function createDeadline(ms: number): Deadline {
  const controller = new AbortController();
  let left = ms;
  let from = performance.now();
  let timer: NodeJS.Timeout | undefined;
  function resume(): void {
    from = performance.now();
    timer = setTimeout(() => controller.abort("timed out"), left);
  }
  function clear(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  resume();
  return {
    signal: controller.signal,
    pause() {
      if (timer === undefined) return;
      left = Math.max(0, left - (performance.now() - from));
      clear();
    },
    resume: () => (timer === undefined ? resume() : undefined),
    clear,
  };
}
