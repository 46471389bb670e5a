/** Turns held here, for the time that the service is away. */

import type { LanguageModelV4Prompt } from "@ai-sdk/provider";

const MOST_TOKENS = 32_000;
const MOST_SESSIONS = 256;
const ASSUMED_WINDOW = 16_384;
/** A low number for every script, so that an estimate is rather too high. */
const BYTES_PER_TOKEN = 3;

/** Estimate tokens by bytes, without a tokenizer. */
export function tokensOf(value: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(value)) / BYTES_PER_TOKEN);
}

/** Return the newest whole turns that fit into a room, in order. */
export function newest(turns: readonly LanguageModelV4Prompt[], roomTokens: number): LanguageModelV4Prompt {
  const chosen: LanguageModelV4Prompt[] = [];
  for (const turn of turns.toReversed()) {
    roomTokens -= tokensOf(turn);
    if (roomTokens < 0) break;
    chosen.unshift(turn);
  }
  return chosen.flat();
}

/** The newest turns of the sessions used last. */
export class HeldTurns {
  readonly #turns = new Map<string, LanguageModelV4Prompt[]>();
  readonly #windows = new Map<string, number>();

  /** Hold a turn. */
  add(sessionId: string, turn: LanguageModelV4Prompt): void {
    const turns = [...(this.#turns.get(sessionId) ?? []), turn];
    while (turns.length > 1 && tokensOf(turns) > MOST_TOKENS) turns.shift();
    this.#turns.delete(sessionId);
    this.#turns.set(sessionId, turns);
    if (this.#turns.size > MOST_SESSIONS) this.#turns.delete(this.#turns.keys().next().value!);
  }

  /** Hold turns from elsewhere, if none of the session are held. */
  fill(sessionId: string, turns: readonly LanguageModelV4Prompt[]): void {
    if (!this.#turns.has(sessionId)) for (const turn of turns) this.add(sessionId, turn);
  }

  /** Return the turns of a session. */
  of(sessionId: string): readonly LanguageModelV4Prompt[] {
    return this.#turns.get(sessionId) ?? [];
  }

  /** Keep the window of a model, as the service told it. */
  learn(model: string, window: number): void {
    this.#windows.set(model, window);
  }

  /** Return the window of a model, in tokens. */
  windowOf(model: string): number {
    return this.#windows.get(model) ?? ASSUMED_WINDOW;
  }
}
