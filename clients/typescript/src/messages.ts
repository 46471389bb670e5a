/** Messages of the AI SDK in the format of chat completions, and back. */

import type { LanguageModelV4Content, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

/** A message or a tool in the format of chat completions. */
export type Json = Record<string, any>;

type Words = Extract<LanguageModelV4Message, { role: "user" }>["content"];
type Part = Exclude<LanguageModelV4Message["content"], string>[number];
type FilePart = Extract<Words[number], { type: "file" }>;
type Output = Extract<Part, { type: "tool-result" }>["output"];

/** A prompt in parts. */
export interface SplitPrompt {
  /** Messages of the system. */
  system: LanguageModelV4Prompt;
  /** Turns before, each from the user's words on. */
  older: LanguageModelV4Prompt[];
  /** Turn under way: the user's last words, with calls and results behind them. */
  turn: LanguageModelV4Prompt;
}

/** Split a prompt at the user's words; several messages of the user in a row begin a turn together. */
export function split(prompt: LanguageModelV4Prompt): SplitPrompt {
  const turns: LanguageModelV4Prompt[] = [];
  const said = prompt.filter((message) => message.role !== "system");
  said.forEach((message, at) => {
    const begins = message.role === "user" && said[at - 1]?.role !== "user";
    if (begins || !turns.length) turns.push([]);
    turns.at(-1)!.push(message);
  });
  const turn = turns.pop() ?? [];
  return { system: prompt.filter((message) => message.role === "system"), older: turns, turn };
}

/** Write messages; thoughts, and calls that a provider executes, have no form. */
export function write(prompt: LanguageModelV4Prompt): Json[] {
  return prompt.flatMap((message): Json[] => {
    if (message.role === "system") return [{ role: "system", content: message.content }];
    if (message.role === "user") return [{ role: "user", content: writeWords(message.content) }];
    if (message.role === "assistant") return writeAnswer(message.content);
    return message.content.flatMap((part) =>
      part.type === "tool-result"
        ? [{ role: "tool", tool_call_id: part.toolCallId, content: writeOutput(part.output) }]
        : [],
    );
  });
}

/** Write an answer of a model; empty without words and calls. */
export function writeAnswer(content: readonly (Part | LanguageModelV4Content)[]): Json[] {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = content.flatMap((part) => {
    if (part.type !== "tool-call" || part.providerExecuted) return [];
    const given = typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {});
    return [{ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: given } }];
  });
  if (!text && !calls.length) return [];
  return [{ role: "assistant", content: text, ...(calls.length && { tool_calls: calls }) }];
}

/** Read messages. */
export function read(messages: readonly Json[]): LanguageModelV4Prompt {
  const names = new Map<string, string>();
  const prompt: LanguageModelV4Prompt = [];
  for (const message of messages) {
    if (message.role === "system" || message.role === "developer") {
      prompt.push({ role: "system", content: textOf(message.content) });
    } else if (message.role === "user") {
      prompt.push({ role: "user", content: readWords(message.content) });
    } else if (message.role === "assistant") {
      const text = textOf(message.content);
      const calls = (message.tool_calls ?? []).map((call: Json) => {
        names.set(call.id, call.function.name);
        const input = readInput(call.function.arguments);
        return { type: "tool-call" as const, toolCallId: call.id, toolName: call.function.name, input };
      });
      prompt.push({ role: "assistant", content: [...(text ? [{ type: "text" as const, text }] : []), ...calls] });
    } else {
      const toolCallId: string = message.tool_call_id;
      const output = { type: "text" as const, value: textOf(message.content) };
      const result = { type: "tool-result" as const, toolCallId, toolName: names.get(toolCallId) ?? "", output };
      const last = prompt.at(-1);
      if (last?.role === "tool") last.content.push(result);
      else prompt.push({ role: "tool", content: [result] });
    }
  }
  return prompt;
}

/** Read a window, and put messages of the turn that are unchanged back as they were: with thoughts and options. */
export function readWindow(window: readonly Json[], known: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const kept: LanguageModelV4Prompt = [];
  let end = window.length;
  for (const message of known.toReversed()) {
    const written = write([message]);
    const start = end - written.length;
    if (start < 0 || JSON.stringify(window.slice(start, end)) !== JSON.stringify(written)) break;
    kept.unshift(message);
    end = start;
  }
  return [...read(window.slice(0, end)), ...kept];
}

function writeWords(content: Words): string | Json[] {
  const parts = content.map((part): Json => (part.type === "text" ? { type: "text", text: part.text } : writeFile(part)));
  return parts.length === 1 && parts[0]!.type === "text" ? parts[0]!.text : parts;
}

function writeFile(part: FilePart): Json {
  if (part.data.type === "text") return { type: "text", text: part.data.text };
  if (part.data.type === "reference") {
    const id = Object.values(part.data.reference)[0];
    return { type: "file", file: { file_id: id } };
  }
  const url = part.data.type === "url" ? part.data.url.href : dataUrl(part.mediaType, part.data.data);
  if (part.mediaType.startsWith("image")) return { type: "image_url", image_url: { url } };
  return { type: "file", file: { filename: part.filename ?? "file", file_data: url } };
}

function dataUrl(mediaType: string, data: Uint8Array | string): string {
  const full = mediaType.includes("/") && !mediaType.endsWith("*") ? mediaType : `${mediaType.split("/")[0]}/png`;
  return `data:${full};base64,${typeof data === "string" ? data : Buffer.from(data).toString("base64")}`;
}

function writeOutput(output: Output): string {
  if (output.type === "text" || output.type === "error-text") return output.value;
  if (output.type === "execution-denied") return output.reason ?? "The user denied the call.";
  if (output.type === "content") {
    return output.value.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
  }
  return JSON.stringify(output.value);
}

function readWords(content: string | Json[]): Words {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    const url: string | undefined = part.image_url?.url ?? part.file?.file_data;
    if (!url) return { type: "text", text: part.text ?? "" };
    const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
    if (data !== undefined) {
      return { type: "file", mediaType: mediaType!, data: { type: "data", data }, filename: part.file?.filename };
    }
    return { type: "file", mediaType: "image/*", data: { type: "url", url: new URL(url) } };
  });
}

function readInput(given: unknown): unknown {
  try {
    return typeof given === "string" ? JSON.parse(given || "{}") : given;
  } catch {
    return given;
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : "";
}
