/** Calls of the service: attempts with jitter, a rest after failures, and the outbox of finished turns. */

import type { components, operations } from "./openapi.js";

type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody: { content: { "application/json": infer Json } };
}
  ? Json
  : never;

export type ContextRequest = Body<"build_context">;
export type CompressRequest = Body<"compress_context">;
export type TurnEvent = Body<"record_turn">;
export type Context = components["schemas"]["ContextWindow"];
export type Problem = components["schemas"]["Problem"];

/** Address, key, times and limits. */
export interface ServiceOptions {
  /** Base address without `/v1`; else `AFTERTURN_URL`, else the port of `make up`. */
  url?: string;
  /** Key of the service; else `AFTERTURN_API_KEY`. */
  apiKey?: string;
  /** Longest time of a call, all its attempts together, in milliseconds; 8,000 by default. */
  timeoutMs?: number;
  /** Most attempts of a call; 3 by default. */
  attempts?: number;
  /** Most turns that wait for the service; beyond, the oldest is lost with a warning; 1,000 by default. */
  outboxTurns?: number;
  /** Takes warnings; `console.warn` by default. */
  warn?: (text: string) => void;
}

/** The service refused a call. */
export class RefusedError extends Error {
  override name = "RefusedError";

  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(`status ${status} ${problem.type ?? ""}: ${problem.detail ?? "the answer is no problem document"}`);
  }
}

/** The service is away. */
export class UnavailableError extends Error {
  override name = "UnavailableError";
}

const API_MAJOR = "1";
const FIRST_DELAY_MS = 100;
const MOST_DELAY_MS = 2_000;
const REST_MS = 500;
const MOST_REST_MS = 30_000;
const OUTBOX_CHARS = 64_000_000;
const WRONG_KEY = [401, 403];

interface Parcel {
  turnId: string;
  body: string;
}

/** A service, whether it serves, and the turns on their way to it. */
export class Service {
  readonly #url: string;
  readonly #key: string;
  readonly #timeoutMs: number;
  readonly #attempts: number;
  readonly #outboxTurns: number;
  readonly #warn: (text: string) => void;
  readonly #outbox = new Map<string, Parcel[]>();
  readonly #deliveries = new Map<string, Promise<void>>();
  #failures = 0;
  #restsUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #isKnown = false;

  constructor(options: ServiceOptions) {
    const url = options.url ?? process.env.AFTERTURN_URL ?? "http://127.0.0.1:8700";
    this.#url = url.replace(/\/+$/, "").replace(/\/v1$/, "");
    this.#key = options.apiKey ?? process.env.AFTERTURN_API_KEY ?? "";
    if (!this.#key) throw new Error("give a key of the service: apiKey, or AFTERTURN_API_KEY");
    this.#timeoutMs = options.timeoutMs ?? 8_000;
    this.#attempts = options.attempts ?? 3;
    this.#outboxTurns = options.outboxTurns ?? 1_000;
    this.#warn = options.warn ?? ((text) => console.warn(`afterturn: ${text}`));
  }

  /** Number of turns that wait for the service. */
  get waiting(): number {
    return [...this.#outbox.values()].reduce((sum, parcels) => sum + parcels.length, 0);
  }

  /** Read the window of the next request; earlier turns of the session are stored first. */
  async context(sessionId: string, request: ContextRequest): Promise<Context> {
    await this.deliver(sessionId);
    if (this.#outbox.has(sessionId)) throw new UnavailableError("earlier turns are not stored yet");
    return this.#call(pathOf(sessionId, "context"), JSON.stringify(request));
  }

  /** Read a smaller window after a provider refused the last one; asked once, for it must not come twice. */
  async compress(sessionId: string, request: CompressRequest): Promise<Context> {
    return this.#call(pathOf(sessionId, "compress"), JSON.stringify(request), 1);
  }

  /** Store a finished turn, or keep it until the service is back. */
  async record(sessionId: string, turn: TurnEvent): Promise<void> {
    const parcels = this.#outbox.get(sessionId) ?? [];
    parcels.push({ turnId: turn.turn_id, body: JSON.stringify(turn) });
    this.#outbox.set(sessionId, parcels);
    this.#makeRoom();
    await this.deliver(sessionId);
  }

  /** Send the waiting turns of a session in order; turns of an outage stay. */
  deliver(sessionId: string): Promise<void> {
    const before = this.#deliveries.get(sessionId) ?? Promise.resolve();
    const delivery = before.then(() => this.#deliver(sessionId));
    this.#deliveries.set(sessionId, delivery);
    return delivery.finally(() => {
      if (this.#deliveries.get(sessionId) === delivery) this.#deliveries.delete(sessionId);
    });
  }

  /** Send the waiting turns of all sessions, even while the service rests; return the number of those left. */
  async flush(): Promise<number> {
    this.#restsUntil = 0;
    await Promise.all([...this.#outbox.keys()].map((sessionId) => this.deliver(sessionId)));
    return this.waiting;
  }

  async #deliver(sessionId: string): Promise<void> {
    for (let parcel = this.#outbox.get(sessionId)?.[0]; parcel; parcel = this.#outbox.get(sessionId)?.[0]) {
      try {
        await this.#call(pathOf(sessionId, "turns"), parcel.body);
      } catch (error) {
        if (!(error instanceof RefusedError) || WRONG_KEY.includes(error.status)) {
          if (error instanceof RefusedError) this.#warn(`turns wait for a right key: ${error.message}`);
          this.#tryLater();
          return;
        }
        this.#warn(`turn ${parcel.turnId} of session ${sessionId} is not stored: ${error.message}`);
      }
      this.#remove(sessionId, parcel);
    }
  }

  #remove(sessionId: string, parcel: Parcel): void {
    const left = (this.#outbox.get(sessionId) ?? []).filter((one) => one !== parcel);
    if (left.length) this.#outbox.set(sessionId, left);
    else this.#outbox.delete(sessionId);
  }

  #makeRoom(): void {
    const size = () => [...this.#outbox.values()].flat().reduce((sum, one) => sum + one.body.length, 0);
    while (this.waiting > 1 && (this.waiting > this.#outboxTurns || size() > OUTBOX_CHARS)) {
      const [sessionId, parcels] = [...this.#outbox][0]!;
      this.#warn(`the outbox is full: turn ${parcels[0]!.turnId} of session ${sessionId} is lost`);
      this.#remove(sessionId, parcels[0]!);
    }
  }

  #tryLater(): void {
    if (this.#timer) return;
    const waitMs = Math.max(this.#restsUntil - Date.now(), REST_MS) + 10;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      for (const sessionId of this.#outbox.keys()) void this.deliver(sessionId);
    }, waitMs);
    this.#timer.unref?.();
  }

  async #call<Answer>(path: string, body: string, most = this.#attempts): Promise<Answer> {
    if (Date.now() < this.#restsUntil) throw new UnavailableError("a call failed a moment ago");
    const endsAt = Date.now() + this.#timeoutMs;
    let isHeld = false;
    for (let attempt = 1; ; attempt += 1) {
      const { response, reason, wishMs, held } = await this.#attempt(path, body, endsAt);
      isHeld = held ?? (isHeld && reason.startsWith("TimeoutError")); // a time-out waits for the session again
      if (response) {
        this.#failures = 0;
        return (await read(response)) as Answer;
      }
      const mostMs = Math.min(MOST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
      const delayMs = wishMs + mostMs * (0.1 + 0.9 * Math.random());
      if (attempt >= most || Date.now() + delayMs >= endsAt) {
        if (!isHeld) this.#rest(reason, wishMs); // others change this session: other sessions are served
        throw new UnavailableError(reason);
      }
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }

  async #attempt(
    path: string,
    body: string,
    endsAt: number,
  ): Promise<{ response?: Reply; reason: string; wishMs: number; held?: boolean }> {
    let reply: Reply;
    try {
      const response = await fetch(this.#url + path, {
        method: "POST",
        headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
        body,
        signal: AbortSignal.timeout(Math.max(1, endsAt - Date.now())),
      });
      reply = { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      return { reason: reasonOf(error), wishMs: 0 };
    }
    const wish = reply.headers.get("retry-after") ?? "";
    if (reply.status >= 500 || reply.status === 408 || reply.status === 429) {
      const wishMs = /^\d+$/.test(wish) ? Number(wish) * 1_000 : 0;
      return { reason: `status ${reply.status}`, wishMs, held: tellsHeld(reply.text) };
    }
    const version = reply.headers.get("afterturn-api");
    if (version === null ? !this.#isKnown : version.split(".")[0] !== API_MAJOR) {
      const told = version === null ? "no version of the API" : `version ${version} of the API`;
      throw new Error(`${this.#url} answers ${reply.status} with ${told}: give the base address, without /v1`);
    }
    this.#isKnown = true;
    return { response: reply, reason: "", wishMs: 0 };
  }

  #rest(reason: string, wishMs: number): void {
    if (!this.#failures) this.#warn(`chats go on without the service meanwhile: ${reason}`);
    this.#failures += 1;
    const grownMs = Math.min(MOST_REST_MS, REST_MS * 2 ** Math.min(this.#failures - 1, 16));
    this.#restsUntil = Date.now() + Math.max(grownMs * (0.5 + 0.5 * Math.random()), wishMs);
  }
}

interface Reply {
  status: number;
  headers: Headers;
  text: string;
}

function pathOf(sessionId: string, call: string): string {
  if (/^\.{1,2}$/.test(sessionId)) throw new Error(`${sessionId} names no session: an address cannot hold it`);
  return `/v1/sessions/${encodeURIComponent(sessionId)}/${call}`;
}

function read(reply: Reply): unknown {
  let told: unknown;
  try {
    told = JSON.parse(reply.text);
  } catch {
    if (reply.status < 400) throw new UnavailableError(`status ${reply.status} with a body that is no JSON`);
  }
  if (reply.status >= 400) throw new RefusedError(reply.status, (told ?? {}) as Partial<Problem>);
  return told;
}

/** Tell whether a problem says that others change the same session, and the service serves other sessions. */
function tellsHeld(text: string): boolean {
  try {
    return (JSON.parse(text) as Partial<Problem>).held === true;
  } catch {
    return false;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.name}: ${error.message}${cause}`;
}
