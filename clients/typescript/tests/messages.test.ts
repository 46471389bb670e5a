/** Messages in two formats. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { LanguageModelV4Prompt } from "@ai-sdk/provider";

import { newest } from "../src/held.js";
import { read, readWindow, split, write } from "../src/messages.js";

const said = (text: string): LanguageModelV4Prompt[number] => ({ role: "user", content: [{ type: "text", text }] });
const words = { type: "text" as const, text: "I look." };
const call = { type: "tool-call" as const, toolCallId: "c1", toolName: "weigh", input: { crate: 7 } };
const turn: LanguageModelV4Prompt = [
  said("How heavy is crate 7?"),
  { role: "assistant", content: [words, call] },
  {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "c1", toolName: "weigh", output: { type: "text", value: "9 kg" } }],
  },
];

test("words, calls and results go both ways", () => {
  assert.deepEqual(read(write(turn)), turn);
  assert.deepEqual(write(turn)[1]!.tool_calls[0].function, { name: "weigh", arguments: '{"crate":7}' });
});

test("each form of a result has words", () => {
  const outputs = [
    { type: "json", value: { kg: 9 } },
    { type: "error-text", value: "no scales" },
    { type: "execution-denied" },
    { type: "content", value: [{ type: "text", text: "9" }, { type: "custom" }] },
  ] as const;
  const told = outputs.map((output) => {
    const result = { type: "tool-result" as const, toolCallId: "c1", toolName: "weigh", output: output as never };
    return write([{ role: "tool", content: [result] }])[0]!.content;
  });
  assert.deepEqual(told, ['{"kg":9}', "no scales", "The user denied the call.", "9\n[custom]"]);
});

test("thoughts and options of the turn stay where the window shows its messages unchanged", () => {
  const thought = { type: "reasoning" as const, text: "Scales?", providerOptions: { anthropic: { signature: "s" } } };
  const known = turn.with(1, { role: "assistant", content: [thought, words, call] });
  const older = [said("before"), { role: "assistant" as const, content: [words] }];
  assert.deepEqual(readWindow([...write(older), ...write(known)], known), [...older, ...known]);
  const shortened = write(known);
  shortened[2]!.content = "9 …";
  const served = readWindow(shortened, known);
  assert.deepEqual(served[1], { role: "assistant", content: [words, call] });
  assert.deepEqual(write(served), shortened);
});

test("a prompt is cut at the user's words", () => {
  const prompt = [{ role: "system" as const, content: "s" }, ...turn, said("a"), said("b")];
  const { system, older, turn: open } = split(prompt);
  assert.deepEqual([system.length, older, open], [1, [turn], [said("a"), said("b")]]);
  assert.deepEqual(split([]), { system: [], older: [], turn: [] });
});

test("the newest whole turns that fit are taken", () => {
  const turns = [[said("x".repeat(9_000))], [said("y")], [said("z")]];
  assert.deepEqual(newest(turns, 200), [said("y"), said("z")]);
  assert.deepEqual(newest(turns, -1), []);
});
