/** Agents of the AI SDK with the middleware, before a real stack and the scripted model. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, type LanguageModel, type ModelMessage, streamText, tool, wrapLanguageModel } from "ai";
import { z } from "zod";

import { afterturn, type AfterturnMiddleware, type AfterturnOptions } from "../src/index.js";
import { Door, type Json, Model, PATIENT_MS, question, ROOT, Stack, stop, textOf, TURNS, WINDOW } from "./stack.js";

let stack: Stack;
let model: Model;
let sessionId: string;

before(async () => {
  [stack, model] = await Promise.all([Stack.start(), Model.start()]);
});
after(stop);
beforeEach(async () => {
  await model.reset();
  sessionId = `session-${crypto.randomUUID().slice(0, 12)}`;
});

const weigh = tool({
  description: "Read a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: async () => "9 kg",
});

function wrap(options: AfterturnOptions = {}): { llm: LanguageModel; middleware: AfterturnMiddleware } {
  const provider = createOpenAI({ baseURL: model.url, apiKey: "none" });
  const middleware = afterturn({
    url: stack.url,
    apiKey: stack.key,
    sessionId,
    timeoutMs: PATIENT_MS,
    context: { context_window: WINDOW, max_tokens: 300 },
    warn: () => {},
    ...options,
  });
  return { llm: wrapLanguageModel({ model: provider.chat("gpt-4o"), middleware }), middleware };
}

async function say(llm: LanguageModel, messages: ModelMessage[], isStreamed: boolean): Promise<string> {
  const given = {
    model: llm,
    system: "You run a store.",
    messages,
    tools: { read_file: weigh },
    stopWhen: isStepCount(5),
    maxRetries: 0,
  };
  const result = isStreamed ? streamText(given) : await generateText(given);
  if ("consumeStream" in result) await result.consumeStream();
  messages.push(...(await result.response).messages);
  return result.text;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Refuse a request as providers do: each call is answered by the tool messages directly behind it. */
function checkPairs(messages: Json[]): void {
  const waiting = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      assert.ok(waiting.delete(message.tool_call_id));
      continue;
    }
    assert.equal(waiting.size, 0);
    for (const call of message.tool_calls ?? []) waiting.add(call.id);
  }
  assert.equal(waiting.size, 0);
}

test("32 turns with tools and streams", async () => {
  const { llm } = wrap();
  const messages: ModelMessage[] = [];
  for (let number = 1; number <= TURNS; number += 1) {
    await model.plan(number);
    messages.push({ role: "user", content: question(number) });
    const text = await say(llm, messages, number % 2 === 0);
    assert.ok(text.startsWith(`answer ${number} `), text);
  }
  const turns = await stack.turns(sessionId);
  const numbers = Array.from({ length: TURNS }, (_, at) => at + 1);
  assert.deepEqual(
    turns.map((turn) => textOf(turn.messages[0])),
    numbers.map(question),
  );
  turns.forEach((turn, at) => {
    assert.ok(textOf(turn.messages.at(-1)).startsWith(`answer ${at + 1} `));
    if ((at + 1) % 3 === 0) assert.match(JSON.stringify(turn.messages), /9 kg/);
  });
  const requests = await model.requests();
  assert.equal(requests.length, TURNS + Math.floor(TURNS / 3));
  for (const request of requests) {
    checkPairs(request.messages);
    assert.deepEqual(request.messages[0], { role: "system", content: "You run a store." });
    assert.ok(JSON.stringify(request.messages).length / 4 < 2 * WINDOW);
  }
  assert.ok(requests.at(-1)!.messages.length < 2 * TURNS);
});

test("a call names its session and its user, and sees turns of an earlier process", async () => {
  const providerOptions = { afterturn: { sessionId: `${sessionId}:ö?`, userId: "zoë" } };
  for (const prompt of ["GW-3 is never restarted at night.", "Which gateway did I speak of?"]) {
    const { llm } = wrap({ sessionId: "another", url: `${stack.url}/v1/` });
    await generateText({ model: llm, prompt, providerOptions });
  }
  assert.match(JSON.stringify((await model.requests())[1]!.messages), /never restarted/);
  assert.equal((await stack.turns(`${sessionId}:ö?`)).length, 2);
  assert.equal((await stack.turns("another")).length, 0);
});

test("a call without a session passes unchanged", async () => {
  const { llm } = wrap({ sessionId: "" });
  await generateText({ model: llm, prompt: "alone" });
  assert.deepEqual((await model.requests())[0]!.messages, [{ role: "user", content: "alone" }]);
});

test("a chat goes on while the service is away, and each turn is stored once", async () => {
  const door = await Door.before(stack);
  const warnings: string[] = [];
  const { llm, middleware } = wrap({ url: door.url, timeoutMs: 5_000, warn: (text) => warnings.push(text) });
  const messages: ModelMessage[] = [];
  for (let number = 1; number <= 6; number += 1) {
    door.isOpen = number < 3;
    await model.plan(number);
    const said: ModelMessage[] = number % 2 ? [] : [...messages];
    said.push({ role: "user", content: question(number) });
    await say(llm, said, number % 2 === 0);
    messages.push(...said.slice(number % 2 ? 0 : messages.length));
  }
  assert.equal(warnings.length, 1);
  assert.equal(middleware.waiting, 4);
  for (const request of (await model.requests()).slice(3)) {
    checkPairs(request.messages);
    assert.match(JSON.stringify(request.messages), /question 2:.*answer 2 /);
  }
  assert.equal(await middleware.flush(), 4);
  door.isOpen = true;
  assert.equal(await middleware.flush(), 0);
  door.close();
  const turns = await stack.turns(sessionId);
  assert.deepEqual(
    turns.map((turn) => textOf(turn.messages[0])),
    [1, 2, 3, 4, 5, 6].map(question),
  );
});

test("a session that others hold leaves the chats of other sessions with the service", async () => {
  const door = await Door.before(stack);
  const { llm, middleware } = wrap({ url: door.url, warn: () => {} });
  const other = `${sessionId}-other`;
  door.heldSession = sessionId;
  await generateText({ model: llm, prompt: "one" });
  assert.equal(middleware.waiting, 1);
  await generateText({ model: llm, prompt: "two", providerOptions: { afterturn: { sessionId: other } } });
  assert.equal((await stack.turns(other)).length, 1);
  door.heldSession = "";
  assert.equal(await middleware.flush(), 0);
  door.close();
  assert.equal((await stack.turns(sessionId)).length, 1);
});

test("a closed door closes the chat where it must not go on without", async () => {
  const { llm } = wrap({ url: "http://127.0.0.1:1", failOpen: false, timeoutMs: 1_000 });
  await assert.rejects(generateText({ model: llm, prompt: "x", maxRetries: 0 }), /fetch failed/);
  assert.equal((await model.requests()).length, 0);
});

test("a wrong key and another server are told, not passed over", async () => {
  const wrong = wrap({ apiKey: "aft_wrong" });
  await assert.rejects(generateText({ model: wrong.llm, prompt: "x", maxRetries: 0 }), /status 401/);
  const other = wrap({ url: model.url });
  await assert.rejects(generateText({ model: other.llm, prompt: "x", maxRetries: 0 }), /give the base address/);
});

test("after an overflow the call is made once more with a smaller window", async () => {
  const { llm } = wrap();
  for (const number of [1, 2]) await generateText({ model: llm, prompt: `${number} ${"long ".repeat(200)}` });
  const text = "This model's maximum context length is 600 tokens. Your messages resulted in 900 tokens.";
  for (const isStreamed of [false, true]) {
    await model.reset();
    await model.next({ mode: "context-length", text });
    await say(llm, [{ role: "user", content: "again" }], isStreamed);
    const [refused, fits, ...more] = (await model.requests()).map((request) => JSON.stringify(request.messages));
    assert.ok(fits!.length < refused!.length);
    assert.deepEqual(more, []);
  }
  await model.next({ mode: "400" });
  await assert.rejects(generateText({ model: llm, prompt: "x", maxRetries: 0 }), /temperature/);
});

test("a stream that its reader leaves, or that breaks, is stored as far as it came", async () => {
  const { llm } = wrap({ context: { context_window: 128_000, max_tokens: 300 } });
  const aborted = new AbortController();
  await model.next({ mode: "ok", text: "word ".repeat(40_000) }, { mode: "truncated-json", text: "half ".repeat(400) });
  const left = streamText({ model: llm, prompt: "Say it.", abortSignal: aborted.signal, onError: () => {} });
  for await (const part of left.textStream) if (part.includes("word")) aborted.abort();
  await until(async () => (await stack.turns(sessionId)).length === 1);
  await streamText({ model: llm, prompt: "Once more.", onError: () => {} }).consumeStream({ onError: () => {} });
  await until(async () => (await stack.turns(sessionId)).length === 2);
  const [first, second] = (await stack.turns(sessionId)).map((turn) => textOf(turn.messages[1]));
  assert.match(first!, /^word/);
  assert.ok(first!.length < 200_000);
  assert.match(second!, /^half/);
});

test("a picture of an earlier turn is served as it was", async () => {
  const { llm } = wrap({ context: { context_window: 8_000, max_tokens: 300 } });
  const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const content = [
    { type: "text" as const, text: "What is this?" },
    { type: "file" as const, mediaType: "image/png", data: picture },
  ];
  await generateText({ model: llm, messages: [{ role: "user", content }] });
  await generateText({ model: llm, prompt: "And what colour?" });
  const [first, second] = await model.requests();
  assert.deepEqual(second!.messages[0], first!.messages[0]);
});

test("a tool result larger than the window is served within the window", async () => {
  const { llm } = wrap({ context: { context_window: 4_000, max_tokens: 300 } });
  const tools = { read_file: { ...weigh, execute: async () => "crate 7 stands in hall 3. ".repeat(8_000) } };
  await model.next({ mode: "tool-call" }, { mode: "tool-call" });
  const { text } = await generateText({ model: llm, prompt: "Where is it?", tools, stopWhen: isStepCount(5) });
  assert.equal(text, "ok");
  for (const request of await model.requests()) {
    checkPairs(request.messages);
    assert.ok(JSON.stringify(request.messages).length / 4 < 4_000);
  }
  assert.equal((await stack.turns(sessionId))[0]!.messages.length, 6);
});

test("the page's code runs as it stands", async () => {
  const page = readFileSync(join(ROOT, "docs/how-to/integrations/vercel-ai-sdk.md"), "utf8");
  const code = [...page.matchAll(/```(?:ts|js)\n(.*?)```/gs)].map((block) => block[1]).join("\n");
  const file = join(import.meta.dirname, "page.mjs");
  writeFileSync(file, code);
  const environment = {
    ...process.env,
    AFTERTURN_URL: stack.url,
    AFTERTURN_API_KEY: stack.key,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "none",
  };
  await model.next({ mode: "ok", text: "In hall 3." });
  const child = spawn(process.execPath, [file], { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  child.stdout.on("data", (data) => (told += data));
  assert.deepEqual(await once(child, "exit"), [0, null]);
  assert.match(told, /In hall 3\./);
  const [turn] = await stack.turns("session-42");
  assert.deepEqual(turn!.messages.map(textOf), ["Where is crate 7?", "In hall 3."]);
});
