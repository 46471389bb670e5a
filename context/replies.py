"""Read a model's reply as plain text: take off its wrapping, and tell when it is no answer."""

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from context import reply_patterns as patterns
from context.refusals import REFUSALS, REQUESTS_FOR_INPUT


class ReplyFault(StrEnum):
    """Why a reply is no text to keep."""

    EMPTY = "empty"
    ERROR_TEXT = "error-text"
    REFUSAL = "refusal"
    TOOL_CALL_TEXT = "tool-call-text"
    REASONING_TEXT = "reasoning-text"


@dataclass(frozen=True)
class CleanReply:
    """A reply without its wrapping.

    Attributes:
        text: What remains to keep; "" where the fault left nothing.
        fault: Why it is no answer; None where it is one.
    """

    text: str
    fault: ReplyFault | None = None


_SHORT_CHARS = 700
_HEAD_CHARS = 240
_CALL_KEYS = (
    {"name", "arguments"},
    {"name", "parameters"},
    {"name", "input"},
    {"tool_calls"},
    {"tool_uses"},
    {"tool_name"},
    {"function_call"},
    {"tool", "args"},
    {"tool", "arguments"},
    {"action", "action_input"},
    {"type", "function"},
)
_ERROR_KEYS = (
    {"error"},
    {"errors"},
    {"detail"},
    {"status", "message"},
    {"code", "message"},
    {"type", "title", "status"},
)


def clean_reply(raw: str | None) -> CleanReply:
    """Take a reply out of its wrapping and judge whether it is an answer at all.

    Thinking (closed, cut off, or with its start missing), a fence or a tag around the whole, and a leading
    "Here is the summary:" are taken off. What is left is judged.

    Args:
        raw: A model's text, or None where it gave none.

    Returns:
        The text to keep and, where it is none, the fault.
    """
    whole = (raw or "").strip()
    if not whole:
        return CleanReply("", ReplyFault.EMPTY)
    text = _unwrap(strip_thinking(whole))
    if not text:
        return CleanReply("", ReplyFault.REASONING_TEXT)
    return CleanReply(text, _fault(text))


def strip_thinking(text: str) -> str:
    """Take out thinking blocks: closed ones, one that never ends, one whose start is missing.

    Args:
        text: A model's words.

    Returns:
        The words without them, ends trimmed.
    """
    if "<" not in text:
        return text.strip()
    text = patterns.CHANNEL.sub("", _drop_closed_thinking(text))
    return patterns.OPEN_THINK.sub("", patterns.STRAY_CLOSE.sub("", text)).strip()


def _drop_closed_thinking(text: str) -> str:
    """Take out each block from its opening tag to the first closing tag of its name, in one pass."""
    tags = list(patterns.THINK_TAG.finditer(text))
    closings: dict[str, list[re.Match[str]]] = {}
    for tag in reversed(tags):
        if tag[1]:
            closings.setdefault(tag[2].casefold(), []).append(tag)
    kept: list[str] = []
    position = 0
    for tag in tags:
        waiting = closings.get(tag[2].casefold(), [])
        while waiting and waiting[-1].start() < tag.end():
            waiting.pop()
        if not tag[1] and tag.start() >= position and waiting:
            kept.append(text[position : tag.start()])
            position = waiting[-1].end()
    return "".join(kept) + text[position:]


def _unwrap(text: str) -> str:
    for _ in range(4):
        before = text
        text = patterns.PREAMBLE.sub("", text, count=1).strip()
        text = _strip_fence(text)
        tagged = patterns.TAGGED.match(text)
        text = (tagged[2] if tagged else text).strip()
        if text == before:
            break
    return text


def _strip_fence(text: str) -> str:
    """Only a fence around the whole is a wrapper: one inside it is content."""
    fenced = patterns.FENCE.match(text)
    if fenced and not re.search(rf"^{re.escape(fenced[1])}", fenced[2], re.MULTILINE):
        return fenced[2].strip()
    return patterns.UNCLOSED_FENCE.sub("", text).strip()


def _fault(text: str) -> ReplyFault | None:
    if not any(map(str.isalnum, text)):
        return ReplyFault.EMPTY
    decoded = _decoded(text)
    if decoded is not None:
        return _fault_of_json(decoded)
    if patterns.TOOL_TEXT.search(text) and not patterns.HEADING.search(text):
        return ReplyFault.TOOL_CALL_TEXT
    if patterns.HEADING.search(text[:_SHORT_CHARS]):
        return None
    return _fault_of_prose(text)


def _fault_of_prose(text: str) -> ReplyFault | None:
    """Text without headings: its first words tell, and only of a short text its middle too."""
    is_short = len(text) <= _SHORT_CHARS
    if patterns.ERROR.match(text) or (is_short and patterns.ERROR_ANYWHERE.search(text)):
        return ReplyFault.ERROR_TEXT
    if is_refusal(text):
        return ReplyFault.REFUSAL
    return ReplyFault.REASONING_TEXT if patterns.REASONING.match(text) else None


def is_refusal(text: str) -> bool:
    """Tell whether a text declines the task or asks for what it should summarize.

    Args:
        text: A reply, cleaned.

    Returns:
        True where its first words refuse, in any language that is known here.
    """
    head = " ".join(text[:_HEAD_CHARS].replace("\u2019", "'").casefold().split())
    if any(map(head.startswith, REFUSALS)):
        return True
    return len(text) <= _SHORT_CHARS and any(phrase in head for phrase in REQUESTS_FOR_INPUT)


def _decoded(text: str) -> object | None:
    if text[0] not in "{[":
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _fault_of_json(value: object) -> ReplyFault:
    first = value[0] if isinstance(value, list) and value else value
    keys = set(first) if isinstance(first, dict) else set()
    if any(needed <= keys for needed in _CALL_KEYS):
        return ReplyFault.TOOL_CALL_TEXT
    if any(needed <= keys for needed in _ERROR_KEYS):
        return ReplyFault.ERROR_TEXT
    return ReplyFault.TOOL_CALL_TEXT if keys else ReplyFault.EMPTY
