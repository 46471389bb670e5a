"""Bodies of the scripted model's answers: pure functions from a request to JSON objects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context.types import JsonObject
from llm.scripted.plan import plan_prompt
from llm.scripted.prompt import prompt_text
from llm.scripted.steps import Mode, Step
from llm.scripted.summary import summarize_prompt

_CHARS_PER_TOKEN = 4

_WORDS: dict[Mode, str] = {
    Mode.OK: "ok",
    Mode.REFUSAL: "I'm sorry, but I can't help with that request.",
    Mode.ERROR_TEXT: "Error: 500 Internal Server Error. Please try again later.",
    Mode.TOOL_CALL_TEXT: '<tool_call>{"name": "read_file", "arguments": {"path": "notes.md"}}</tool_call>',
    Mode.EMPTY: "",
    Mode.REASONED_AWAY: "",
    Mode.CONTENT_FILTER: "",
}

_JAPANESE = "参加者は課題を話し合い、解決策を選び、明日確かめることにした。未解決の問いは二つ残った。"
_ENGLISH = "They discussed the task, chose a solution and will check it tomorrow; two questions stay open."
_KANA = re.compile("[\u3041-\u30ff]")

_FINISH: dict[Mode, str] = {
    Mode.CUT_OFF: "length",
    Mode.REASONED_AWAY: "length",
    Mode.CONTENT_FILTER: "content_filter",
    Mode.TOOL_CALL: "tool_calls",
}

_ERRORS: dict[Mode, tuple[int, str, str, str]] = {
    Mode.RATE_LIMITED: (429, "rate_limit_exceeded", "requests", "Rate limit reached for this model."),
    Mode.OUT_OF_QUOTA_429: (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    Mode.SERVER_ERROR: (500, "server_error", "server_error", "The server had an error."),
    Mode.UNAVAILABLE: (503, "overloaded", "server_error", "The engine is currently overloaded."),
    Mode.BAD_KEY: (
        401,
        "invalid_api_key",
        "invalid_request_error",
        "Incorrect API key provided: sk-wr***ng.",
    ),
    Mode.FORBIDDEN: (403, "forbidden", "permission_error", "The project has no access to this model."),
    Mode.MISSING_MODEL: (404, "model_not_found", "invalid_request_error", "The model does not exist."),
    Mode.BAD_REQUEST: (400, "invalid_value", "invalid_request_error", "Invalid value for 'temperature'."),
    Mode.OUT_OF_QUOTA: (402, "insufficient_balance", "billing_error", "Insufficient balance."),
    Mode.CONTEXT_LENGTH: (
        400,
        "context_length_exceeded",
        "invalid_request_error",
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in "
            "9001 tokens. Please reduce the length of the messages."
        ),
    ),
}


@dataclass(frozen=True)
class ErrorAnswer:
    """An HTTP error in the form of an OpenAI-compatible server."""

    status: int
    body: JsonObject
    headers: dict[str, str]


def error_answer(step: Step) -> ErrorAnswer | None:
    """Return the error of a step, or None for a step with a completion."""
    if step.mode not in _ERRORS:
        return None
    status, code, kind, message = _ERRORS[step.mode]
    body = {"error": {"message": step.text or message, "type": kind, "param": None, "code": code}}
    retryable = step.mode in (Mode.RATE_LIMITED, Mode.UNAVAILABLE) and step.retry_after_s is not None
    return ErrorAnswer(status, body, {"Retry-After": f"{step.retry_after_s:g}"} if retryable else {})


def answer_text(request: Mapping[str, Any], step: Step) -> str:
    """Return the words of a completion: the step's own, else the mode's, else as asked by the prompt."""
    plain = step.text if step.text is not None else _WORDS.get(step.mode)
    if step.mode is Mode.EMPTY_OVER and len(prompt_text(request).encode()) > step.over_bytes:
        return ""
    if step.mode in (Mode.FENCED, Mode.THINK, Mode.THINK_UNCLOSED):
        return _wrapped(step.mode, plain or plan_prompt(request) or '{"ids": ["read_file", "search"]}')
    if plain is None and step.mode is Mode.WRONG_LANGUAGE:
        return _ENGLISH if _KANA.search(prompt_text(request)) else _JAPANESE
    if plain is not None:
        return plain
    planned = plan_prompt(request)
    return summarize_prompt(request) if planned is None else planned


def _wrapped(mode: Mode, text: str) -> str:
    thinking = "<think>The user wants notes. First the goal, then the files."
    if mode is Mode.FENCED:
        return f"Here you are:\n```json\n{text}\n```\n"
    return f"{thinking}</think>\n{text}" if mode is Mode.THINK else f"{thinking}\n{text}"


def completion(request: Mapping[str, Any], step: Step, *, number: int) -> JsonObject:
    """Build the whole chat completion of a request, usage included."""
    text = answer_text(request, step)
    message: JsonObject = {"role": "assistant", "content": text}
    if step.mode is Mode.TOOL_CALL:
        call = {"name": "read_file", "arguments": '{"path": "notes.md"}'}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": "call_0", "type": "function", "function": call}]
    finish = _FINISH.get(step.mode, "stop")
    choices = [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]
    return {
        "id": f"chatcmpl-scripted-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000 + number,
        "model": request.get("model", "scripted"),
        "choices": [] if step.mode is Mode.NO_CHOICES else choices,
        "usage": _usage(request, text, step),
    }


def _usage(request: Mapping[str, Any], text: str, step: Step) -> JsonObject:
    prompt = max(1, len(prompt_text(request)) // _CHARS_PER_TOKEN)
    output = len(text) // _CHARS_PER_TOKEN + step.reasoning_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": min(step.cached_tokens, prompt)},
        "completion_tokens_details": {"reasoning_tokens": step.reasoning_tokens},
    }


def chunks(body: Mapping[str, Any], *, with_usage: bool, words_per_chunk: int = 8) -> list[JsonObject]:
    """Cut a completion into the chunks of a stream."""
    head = {key: body[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    events: list[JsonObject] = []
    for choice in body["choices"]:
        message = choice["message"]
        pieces = cut_text(message.get("content") or "", words_per_chunk)
        deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
        events += [_chunk(head, delta, None) for delta in deltas]
        for index, call in enumerate(message.get("tool_calls", [])):
            events += [_chunk(head, {"tool_calls": [piece]}, None) for piece in _call_pieces(index, call)]
        events.append(_chunk(head, {}, choice["finish_reason"]))
    if with_usage:
        events.append({**head, "choices": [], "usage": body["usage"]})
    return events


def cut_text(text: str, words: int) -> list[str]:
    """Cut a text into pieces of so many words."""
    return [piece for piece in re.findall(rf"(?:\S*\s*){{1,{words}}}", text) if piece]


def _call_pieces(index: int, call: Mapping[str, Any]) -> list[JsonObject]:
    """Cut a tool call: id and name first, then the arguments in two halves."""
    arguments = call["function"]["arguments"]
    half = len(arguments) // 2
    first = {"index": index, **call, "function": {**call["function"], "arguments": ""}}
    rest = (arguments[:half], arguments[half:])
    return [first, *({"index": index, "function": {"arguments": part}} for part in rest)]


def _chunk(head: JsonObject, delta: JsonObject, finish: str | None) -> JsonObject:
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
