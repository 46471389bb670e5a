"""Bodies of the scripted model's answers, plans and notes: pure functions from a request to JSON objects."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.conversation.transcript import PREVIOUS_TAG, TRANSCRIPT_TAG
from context.text.exact_values import rank_identifiers
from context.text.terms import index_terms, query_terms
from context.tool_plans.features import split_asks
from context.tool_plans.prompt import CATALOG_TAG, REQUEST_TAG, TOOLS_TAG
from context.types import JsonObject
from llm.scripted.steps import Mode, Step


def prompt_text(request: Mapping[str, Any]) -> str:
    """Join all text of the request's messages, a line for each message or part."""
    texts: list[str] = []
    for message in request.get("messages") or []:
        content = message.get("content") or ""
        parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content]
        texts.extend(parts)
    return "\n".join(texts)


_MOST_IDS = 5
_FIRST_STEP_ONLY = "more_steps_likely"


def plan_prompt(request: Mapping[str, Any]) -> str | None:
    """Answer a prompt of ours for a plan, or for the ids of a first pass.

    Args:
        request: A chat completion request.

    Returns:
        JSON text in the prompt's form; None for any other prompt.
    """
    text = prompt_text(request)
    asked = _inside(text, REQUEST_TAG)
    if asked is None:
        return None
    lines, catalog = _inside(text, TOOLS_TAG), _inside(text, CATALOG_TAG)
    if lines is not None:
        return json.dumps({"ids": _best(asked, _of_lines(lines))[:_MOST_IDS]})
    if catalog is None:
        return None
    return json.dumps(_plan(asked, _of_catalog(catalog), text, strict="response_format" in request))


def _inside(text: str, tag: str) -> str | None:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else None


def _of_lines(lines: str) -> dict[str, str]:
    named = (line.partition(": ") for line in lines.splitlines())
    return {entry_id: f"{entry_id} {words}" for entry_id, _, words in named}


def _of_catalog(text: str) -> dict[str, str]:
    catalog = json.loads(text)
    entries = [entry for key in ("packs", "tools", "pipelines") for entry in catalog.get(key, [])]
    return {str(entry.get("id") or entry["name"]): json.dumps(entry, ensure_ascii=False) for entry in entries}


def _plan(asked: str, entries: Mapping[str, str], prompt: str, *, strict: bool) -> JsonObject:
    asks = split_asks(asked) or [asked]
    chosen = [(ask, ids[0]) for ask in asks if (ids := _best(ask, entries))]
    tools = dict.fromkeys(tool for _, tool in chosen)
    why = {tool: ask for ask, tool in reversed(chosen)}
    steps = [
        {"order": order, "tool": tool, "args": "{}" if strict else {}, "rationale": why[tool]}
        for order, tool in enumerate(tools, 1)
    ]
    gap = None if len(chosen) == len(asks) else "some of it has no tool"
    if _FIRST_STEP_ONLY in prompt:
        return {"steps": steps[:1], "gap": gap, "more_steps_likely": len(steps) > 1}
    return {"steps": steps, "gap": gap}


def _best(asked: str, entries: Mapping[str, str]) -> Sequence[str]:
    """Rank ids by the number of words shared with the request, most first; ids without any are left out."""
    wanted = set(query_terms(asked))
    shared = {entry_id: len(wanted & set(index_terms(words))) for entry_id, words in entries.items()}
    ranked = sorted(entries, key=lambda entry_id: (-shared[entry_id], entry_id))
    return [entry_id for entry_id in ranked if shared[entry_id]]


_USER_WEIGHT, _CALL_WEIGHT, _PREVIOUS_WEIGHT = 4.0, 3.0, 20.0
_MAX_NAMES = 60
_MAX_POINT_CHARS = 160
_LEAST_CHARS = 200
_CHARS_PER_TOKEN = 1.5
_DEFAULT_CAP_TOKENS = 4096


def summarize_prompt(request: Mapping[str, Any]) -> str:
    """Write third-person notes of about a third of the prompt's last message, identifiers kept.

    Args:
        request: A chat completion request. Wrappers of our own prompt are read if present; any other text is
            taken whole.

    Returns:
        The notes, within the request's `max_tokens`.
    """
    source = prompt_text({"messages": (request.get("messages") or [])[-1:]})
    transcript, previous = _inside_tag(source, TRANSCRIPT_TAG) or source, _inside_tag(source, PREVIOUS_TAG)
    lines = [line for line in transcript.splitlines() if line.strip()]
    room = _room_chars(request, len(transcript) + len(previous))
    names = rank_identifiers(
        [(previous, _PREVIOUS_WEIGHT), *((line, _weight(line)) for line in lines)], limit=_MAX_NAMES
    )
    points = [*(line[2:] for line in previous.splitlines() if line.startswith("- ")), *map(_point, lines)]
    return "\n".join(
        [
            "## Objective",
            *_fitting((f"- {point}" for point in dict.fromkeys(points) if point not in names), room // 2),
            "## Artifacts and exact identifiers",
            *_fitting((f"- {name}" for name in names), room // 2),
        ]
    )


def _inside_tag(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else ""


def _room_chars(request: Mapping[str, Any], source_chars: int) -> int:
    cap = request.get("max_tokens") or request.get("max_completion_tokens") or _DEFAULT_CAP_TOKENS
    return max(_LEAST_CHARS, min(source_chars // 3, int(cap * _CHARS_PER_TOKEN)))


def _weight(line: str) -> float:
    if " calls " in line:
        return _CALL_WEIGHT
    return 0.1 if " -> " in line else _USER_WEIGHT if "user" in line[:100] else 1.0


def _point(line: str) -> str:
    return " ".join(line.split())[:_MAX_POINT_CHARS]


def _fitting(points: Iterable[str], room_chars: int) -> list[str]:
    chosen: list[str] = []
    for point in points:
        room_chars -= len(point) + 1
        if room_chars < 0:
            break
        chosen.append(point)
    return chosen


_CHARS_PER_COUNTED_TOKEN = 4

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
    prompt = max(1, len(prompt_text(request)) // _CHARS_PER_COUNTED_TOKEN)
    output = len(text) // _CHARS_PER_COUNTED_TOKEN + step.reasoning_tokens
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
