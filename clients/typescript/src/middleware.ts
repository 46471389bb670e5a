/** Middleware of the AI SDK: serves the window of each model call, and stores the turn at its last answer. */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Middleware,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

import { HeldTurns, newest, tokensOf } from "./held.js";
import { type Json, read, readWindow, split, type SplitPrompt, write, writeAnswer } from "./messages.js";
import { type Context, type ContextRequest, RefusedError, Service, type ServiceOptions } from "./service.js";
import { UnavailableError } from "./service.js";

/** Options of the middleware. */
export interface AfterturnOptions extends ServiceOptions {
  /** The conversation, for calls without `providerOptions.afterturn.sessionId`. */
  sessionId?: string;
  /** Members of every context request, as the API names them. */
  context?: Partial<ContextRequest>;
  /** Whether a chat goes on while the service is away; true by default. */
  failOpen?: boolean;
}

/** A middleware for `wrapLanguageModel`. */
export interface AfterturnMiddleware extends LanguageModelV4Middleware {
  /** Number of turns that wait for the service. */
  readonly waiting: number;
  /** Send waiting turns, and return the number of those left. */
  flush(): Promise<number>;
}

type Answered = { content: LanguageModelV4Content[]; usage: LanguageModelV4Usage | undefined };

/** Statuses by which providers refuse a request as too large. */
const TOO_LARGE = [400, 413, 422];

/** Bound the context of a model, and store its turns. A call without a session passes unchanged. */
export function afterturn(options: AfterturnOptions = {}): AfterturnMiddleware {
  const service = new Service(options);
  const held = new HeldTurns();
  const turns = new WeakMap<object, OpenTurn>();
  return {
    specificationVersion: "v4",
    get waiting() {
      return service.waiting;
    },
    flush: () => service.flush(),
    async transformParams({ params, model }) {
      const turn = openTurn(service, held, options, params, model);
      if (!turn) return params;
      const sent = await turn.request();
      turns.set(sent, turn);
      return sent;
    },
    async wrapGenerate({ doGenerate, params, model }) {
      const turn = turns.get(params);
      if (!turn) return doGenerate();
      const answer = await turn.attempt(doGenerate, (smaller) => model.doGenerate(smaller));
      await turn.record(answer);
      return answer;
    },
    async wrapStream({ doStream, params, model }) {
      const turn = turns.get(params);
      if (!turn) return doStream();
      const answer = await turn.attempt(doStream, (smaller) => model.doStream(smaller));
      return { ...answer, stream: watch(answer.stream, (answered) => turn.record(answered)) };
    },
  };
}

function openTurn(
  service: Service,
  held: HeldTurns,
  options: AfterturnOptions,
  params: LanguageModelV4CallOptions,
  model: LanguageModelV4,
): OpenTurn | undefined {
  const own = params.providerOptions?.afterturn ?? {};
  const sessionId = own.sessionId ?? options.sessionId;
  const prompt = split(params.prompt);
  if (!sessionId || !prompt.turn.length) return undefined;
  const fields = { ...options.context, ...(own.userId ? { user_id: String(own.userId) } : {}) };
  return new OpenTurn(service, held, String(sessionId), prompt, params, {
    ...fields,
    model: fields.model ?? model.modelId,
    failOpen: options.failOpen ?? true,
  });
}

/** A turn from its prompt to its record. */
class OpenTurn {
  readonly #given: ContextRequest;
  readonly #failOpen: boolean;
  #isRecorded = false;

  constructor(
    readonly service: Service,
    readonly held: HeldTurns,
    readonly sessionId: string,
    readonly prompt: SplitPrompt,
    readonly params: LanguageModelV4CallOptions,
    { failOpen, ...fields }: Partial<ContextRequest> & { model: string; failOpen: boolean },
  ) {
    this.#failOpen = failOpen;
    const tools = (params.tools ?? []).flatMap((tool) => (tool.type === "function" ? [tool] : []));
    const system = prompt.system.map((message) => message.content).join("\n\n");
    this.#given = {
      ...fields,
      wire: "openai",
      messages: write(prompt.turn),
      ...(system && { system_prompt: system }),
      ...(params.maxOutputTokens && { max_tokens: params.maxOutputTokens }),
      ...(tools.length && {
        tools: tools.map(({ name, description, inputSchema }) => ({
          type: "function",
          function: { name, description: description ?? "", parameters: inputSchema as Json },
        })),
      }),
    };
  }

  /** Read the window of this call: that of the service, or the newest whole turns held here. */
  async request(): Promise<LanguageModelV4CallOptions> {
    try {
      return this.#serve(await this.service.context(this.sessionId, this.#given));
    } catch (error) {
      if (!(error instanceof UnavailableError) || !this.#failOpen) throw error;
      return { ...this.params, prompt: this.#degraded() };
    }
  }

  /** Call the model; after an overflow, once more with a smaller window. */
  async attempt<Answer>(
    call: () => PromiseLike<Answer>,
    again: (smaller: LanguageModelV4CallOptions) => PromiseLike<Answer>,
  ): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      if (!TOO_LARGE.includes((error as { statusCode?: number }).statusCode ?? 0)) throw error;
      const told = String((error as { responseBody?: string }).responseBody ?? error).slice(0, 20_000);
      let smaller: Context;
      try {
        smaller = await this.service.compress(this.sessionId, { ...this.#given, error: told });
      } catch (refusal) {
        if (refusal instanceof RefusedError || refusal instanceof UnavailableError) throw error;
        throw refusal;
      }
      return again(this.#serve(smaller));
    }
  }

  /** Store the turn, once; an answer that calls tools goes on in the next call. */
  async record({ content, usage }: Answered): Promise<void> {
    const answer = writeAnswer(content);
    if (this.#isRecorded || !answer.length || answer[0]!.tool_calls) return;
    this.#isRecorded = true;
    const messages = [...this.#given.messages, ...answer];
    this.held.add(this.sessionId, [...this.prompt.turn, ...read(answer)]);
    const total = { input_tokens: usage?.inputTokens.total, output_tokens: usage?.outputTokens.total };
    await this.service.record(this.sessionId, {
      turn_id: crypto.randomUUID(),
      messages,
      wire: "openai",
      model: this.#given.model,
      completed_at: new Date().toISOString(),
      ...(this.#given.user_id && { user_id: this.#given.user_id }),
      ...(this.#given.context_window && { context_window: this.#given.context_window }),
      ...(usage && { usage: usage.raw ?? total }),
    });
  }

  #serve(context: Context): LanguageModelV4CallOptions {
    this.held.learn(this.#given.model, context.certificate.context_window);
    const window = context.messages as Json[];
    const said = window.filter((message) => message.role !== "system");
    const served = readWindow(said, this.prompt.turn);
    this.held.fill(this.sessionId, split(served).older);
    const system = window.filter((message) => message.role === "system");
    const prompt = [...readWindow(system, this.prompt.system), ...served];
    return { ...this.params, prompt, ...this.#tools(context.tools as Json[] | null) };
  }

  #tools(served: Json[] | null): Partial<LanguageModelV4CallOptions> {
    if (!this.params.tools || this.params.toolChoice?.type === "tool") return {};
    const names = new Set((served ?? []).map((tool) => tool.function.name));
    return { tools: this.params.tools.filter((tool) => tool.type !== "function" || names.has(tool.name)) };
  }

  #degraded(): LanguageModelV4Prompt {
    const { context_window: asked, max_tokens: output, model, system_prompt, tools } = this.#given;
    const window = asked ?? this.held.windowOf(model);
    const most = output ?? Math.min(4_096, Math.floor(window / 4));
    const fixed = tokensOf([system_prompt ?? "", tools ?? [], this.#given.messages]);
    const room = Math.min(window - most, this.#given.budget ?? window) - fixed;
    const older = this.prompt.older.length ? this.prompt.older : this.held.of(this.sessionId);
    return [...this.prompt.system, ...newest(older, room), ...this.prompt.turn];
  }
}

/** Pass a stream on, and tell its answer before its end, or as far as it came. */
function watch(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  ended: (answered: Answered) => Promise<void>,
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  const content: LanguageModelV4Content[] = [];
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (value?.type === "text-delta") content.push({ type: "text", text: value.delta });
        if (value?.type === "tool-call") content.push(value);
        const usage = value?.type === "finish" ? value.usage : undefined;
        if (done || usage) await ended({ content, usage });
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        await ended({ content, usage: undefined });
        controller.error(error);
      }
    },
    async cancel(reason) {
      await reader.cancel(reason);
      await ended({ content, usage: undefined });
    },
  });
}
