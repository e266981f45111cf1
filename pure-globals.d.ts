// What protocol and core may use beyond the language itself: globals that every JavaScript platform has and that touch
// neither clock, randomness nor the outside. tsconfig.pure.json compiles the two folders with this list and nothing else.

declare function structuredClone<T>(value: T): T;

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
}

declare class TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
}

declare class TextDecoder {
  constructor(encoding?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}
