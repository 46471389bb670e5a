"""Reading of a model's reply as plain text: unwrap the reply, and detect a reply without an answer."""

# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from context.summary.sections import SummaryDocument
from context.text.marker_words import REFUSALS, REQUESTS_FOR_INPUT
from context.text.tags import strip_thinking

FENCE = re.compile(r"\A(`{3,40}|~{3,40})[\w-]*[ \t]*\n(.*?)\n?\1[ \t]*\Z", re.DOTALL)
UNCLOSED_FENCE = re.compile(
    r"\A(?:`{3,}|~{3,})(?:markdown|md|text|txt|plaintext)?[ \t]*\n(?!.*^(?:`{3,}|~{3,}))",
    re.DOTALL | re.MULTILINE,
)
TAGGED = re.compile(
    r"\A<(summary|notes|conversation_summary|previous_summary|output|answer)\b[^<>]*>(.*)</\1>\Z",
    re.DOTALL | re.IGNORECASE,
)
_TO_COLON = r"[^\n]{0,120}?"
PREAMBLE = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[^\n]{0,40}?[,.!:]\s*)?"
    rf"(?:(?:here(?:'s|’s| is| are)|below is|i(?:'ve| have) (?:updated|written|prepared)|hier (?:ist|sind)|voici"
    rf"|aquí (?:está|tienes)|aqui está|ecco|вот|ось|oto|hieronder|işte)\b{_TO_COLON}"
    rf"|(?:以下是|以下は|다음은|إليك|להלן|यहाँ|यह रहा){_TO_COLON})[:：][ \t]*\n+",
    re.IGNORECASE,
)
HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S", re.MULTILINE)
HEADING_LINE = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+\S.*$", re.MULTILINE)
SOFT_HEADING = re.compile(
    r"^[ \t]{0,3}(?:(?:\*\*|__)([^\n*_]{1,80})(?:\*\*|__)[:：]?[ \t]*$|(\S[^\n]{0,80})\n=+[ \t]*$)",
    re.MULTILINE,
)
LABEL = re.compile(r"\A[\s>#]*(?:(?:\*\*|__)[^\n*_]{1,40}(?:\*\*|__)[:：]?\s*)?")
POINT = re.compile(r"\s*(?:[-*•·–]|\d{1,3}[.)])\s")
SOURCE = re.compile(r"\[\s*\d{1,9}[\d\s,;–-]*\]")
SPEECH = re.compile(r"[^:：.!?]{1,60}[:：]\s")
QUOTED = re.compile(
    r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|„[^“”\n]{0,400}[“”]|「[^」\n]{0,400}」"
)

ERROR = re.compile(
    r"\A[\s\"'{\[*#`>-]*(?:"
    r"(?:litellm|openai|anthropic|httpx|requests|botocore|google)\.[\w.]*(?:error|exception)"
    r"|traceback \(most recent call last\)"
    r"|(?:[a-z_]\w*\.)*[a-z]\w*(?:error|exception)\b\s*[:(]"
    r"|(?:api |server |internal |network |request |connection |unexpected )*error(?: code)?\s*[:#(-]"
    r"|(?:internal server error|bad gateway|service unavailable|gateway time-?out|too many requests|rate limit"
    r"|request timed out|connection (?:error|refused|reset|timed out|aborted)|unauthorized|forbidden"
    r"|invalid api key|quota exceeded|overloaded|context length exceeded|model not found"
    r"|upstream (?:connect )?error)\b"
    r"|(?:http(?:/\d\.\d)?|status(?: code)?|error(?: code)?)[ :]+[45]\d\d\b"
    r"|[45]\d\d (?:client|server|bad|internal|too many|service|gateway|unauthorized|forbidden|not found|error)\b"
    r"|<!doctype html|<html\b"
    r"|an? (?:unexpected |internal |unknown )?error (?:occurred|has occurred|happened)\b"
    r"|(?:failed|unable) to (?:generate|produce|create|get|fetch) (?:a |the )?"
    r"(?:response|summary|completion|reply)"
    r"|sorry, (?:something went wrong|an error occurred|there was an error)"
    r"|something went wrong"
    r")",
    re.IGNORECASE,
)
ERROR_ANYWHERE = re.compile(
    r"maximum context length is \d+|rate limit (?:reached|exceeded) for|you exceeded your current quota"
    r"|\"type\"\s*:\s*\"(?:\w+_)?error\"|'error'\s*:\s*\{|\"error\"\s*:\s*[{\"]",
    re.IGNORECASE,
)
TOOL_TEXT = re.compile(
    r"^[^\S\n]*<(?:tool_calls?|function_calls?|tool_use|invoke|antml:\w+|minimax:tool_call|function=)[\s>\w]"
    r"|<\|(?:tool_call|tool_calls_section|python_tag|plugin)\w*\|?|\[(?:TOOL_CALLS?|TOOL_REQUEST)\]|<｜tool"
    r"|^functions\.\w+[:(]|^to=functions\."
    r"|\A\s*(?:print\()?(?:default_api\.)?[a-z_]\w*\((?:\s*+\w+\s*+=\s*+[^\n]*\)|\)+)\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_TOOL_TAG = r"(?:tool_calls?|function_calls?|tool_use|invoke|antml:\w+|minimax:tool_call|function)"
TOOL_LINE = re.compile(
    rf"^[ \t]*<{_TOOL_TAG}[\s>=]|^[ \t]*[-*•][ \t]+<{_TOOL_TAG}(?:[=\s][^<>\n]*)?>\s*(?:[{{\[<]|\Z)"
    r"|^[ \t]*(?:[-*•][ \t]+)?(?:<\|(?:tool_call|tool_calls_section|python_tag|plugin)\w*\|?|<｜tool)"
    r"|^[ \t]*(?:[-*•][ \t]+)?\[(?:TOOL_CALLS?|TOOL_REQUEST)\][ \t]*[\[{\w]"
    r"|^[ \t]*(?:functions\.\w+[:(]|to=functions\.)"
    r"|\A\s*(?:print\()?(?:default_api\.)?[a-z_]\w*\((?:\s*+\w+\s*+=\s*+[^\n]*\)|\)+)\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
"""A call in the place of notes under a heading; a call merely mentioned in a point does not match."""
REASONING = re.compile(
    r"\A(?:(?:okay|ok|alright|hmm+|wait|so)[,.]\s|let(?: me|'s|’s| us) (?:see|think|start|begin|summar|look|read|anal|break|write"
    r"|draft|check|first|try|go|now|re-?read|figure|carefully)|first,? (?:i|let)\b|i (?:need|should|have|must|will|am going) to\b"
    r"|i'(?:ll|m going)\b|we (?:need|should|must|have) to\b|so,? the user\b|my task\b|the task is\b"
    r"|the user (?:wants|is asking|asks|has asked|asked) (?:me|us|for)\b|thinking process"
    r"|好的，|首先，?我|我需要|嗯，|хорошо,|мне нужно|итак, мне|まず、私)",
    re.IGNORECASE,
)


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
        text: The remaining text; "" if the fault left nothing.
        fault: The fault of a reply without an answer; None for a real answer.
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
    """Unwrap a reply and judge whether it is an answer at all.

    Thinking (closed, cut off, or with its start missing), a fence or a tag around the whole, and a leading
    "Here is the summary:" are removed. The rest is judged.

    Args:
        raw: A model's text, or None without a text.

    Returns:
        The text to keep and, if there is no answer, the fault.
    """
    whole = (raw or "").strip()
    if not whole:
        return CleanReply("", ReplyFault.EMPTY)
    text = _unwrap(strip_thinking(whole))
    if not text:
        return CleanReply("", ReplyFault.REASONING_TEXT)
    return CleanReply(text, _fault(text))


def _unwrap(text: str) -> str:
    for _ in range(4):
        before = text
        text = PREAMBLE.sub("", text, count=1).strip()
        text = _strip_fence(text)
        tagged = TAGGED.match(text)
        text = (tagged[2] if tagged else text).strip()
        if text == before:
            break
    return text


def _strip_fence(text: str) -> str:
    """Remove a fence around the whole text; a fence inside is content."""
    fenced = FENCE.match(text)
    if fenced and not re.search(rf"^{re.escape(fenced[1])}", fenced[2], re.MULTILINE):
        return fenced[2].strip()
    return UNCLOSED_FENCE.sub("", text).strip()


def _fault(text: str) -> ReplyFault | None:
    if not any(map(str.isalnum, text)):
        return ReplyFault.EMPTY
    decoded = _decoded(text)
    if decoded is not None:
        return _fault_of_json(decoded)
    headed = SOFT_HEADING.sub(lambda found: f"# {found[1] or found[2]}", text)
    if HEADING.search(headed):
        return _fault_under_headings(headed)
    return ReplyFault.TOOL_CALL_TEXT if TOOL_TEXT.search(text) else _fault_of_prose(text)


def _fault_of_prose(text: str) -> ReplyFault | None:
    """Judge the first words of a text; for a short text the middle too."""
    is_short = len(text) <= _SHORT_CHARS
    if ERROR.match(text) or (is_short and ERROR_ANYWHERE.search(text)):
        return ReplyFault.ERROR_TEXT
    if is_refusal(text):
        return ReplyFault.REFUSAL
    return ReplyFault.REASONING_TEXT if REASONING.match(text) else None


def _fault_under_headings(text: str) -> ReplyFault | None:
    """Judge the content under headings, apart from quotes and code: a heading alone makes no notes.

    Under headings foreign to a summary, the first words decide, as without headings. In a summary, one point
    may speak of an error; the text is no summary if half of the points do, or if a paragraph is not about the
    conversation.
    """
    if fault := next(filter(None, map(_fault_of_block, _blocks(text))), None):
        return fault
    units, in_sections = _units(text)
    if not units:
        return _fault_of_prose(LABEL.sub("", text, count=1))
    faults = [_fault_of_unit(unit) for unit, _ in units]
    if not in_sections and faults[0]:
        return faults[0]
    alone = (fault for fault, (_, point) in zip(faults, units, strict=True) if not point)
    if own := next((fault for fault in alone if fault and fault is not ReplyFault.ERROR_TEXT), None):
        return own
    found = list(filter(None, faults))
    return found[0] if len(found) * 2 >= len(units) else None


def _blocks(text: str) -> list[str]:
    return [block.strip() for block in HEADING_LINE.split(text)]


def _fault_of_block(block: str) -> ReplyFault | None:
    """A call or an error in place of a section's points."""
    inner = _strip_fence(block)
    decoded = _decoded(inner) if inner else None
    if decoded is not None and _is_protocol(decoded):
        return _fault_of_json(decoded)
    outside = QUOTED.sub("", "\n".join(line.text for line in SummaryDocument(inner).prose))
    return ReplyFault.TOOL_CALL_TEXT if TOOL_LINE.search(outside) else None


def _units(text: str) -> tuple[list[tuple[str, bool]], bool]:
    """List the lines under headings, with a flag for points; and say whether a known section holds any."""
    units: list[tuple[str, bool]] = []
    in_sections = False
    for line in SummaryDocument(text).points:
        units.append((line.item, POINT.match(line.text) is not None))
        in_sections = in_sections or line.section is not None
    return units, in_sections


def _fault_of_unit(unit: str) -> ReplyFault | None:
    """Judge one unit, except a unit with a citation, since such a unit reports on a message."""
    said = QUOTED.sub("", LABEL.sub("", unit, count=1)).strip()
    if not said or SOURCE.search(said):
        return None
    fault = _fault_of_prose(said)
    is_speech = fault is ReplyFault.REFUSAL and SPEECH.match(said)
    return None if is_speech else fault


def is_refusal(text: str) -> bool:
    """Tell whether a text declines the task or asks for the text to summarize.

    Args:
        text: A reply, cleaned.

    Returns:
        True if the first words refuse, in any language known here.
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


def _is_protocol(value: object) -> bool:
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and any(needed <= set(first) for needed in (*_CALL_KEYS, *_ERROR_KEYS))


def _fault_of_json(value: object) -> ReplyFault:
    first = value[0] if isinstance(value, list) and value else value
    keys = set(first) if isinstance(first, dict) else set()
    if any(needed <= keys for needed in _CALL_KEYS):
        return ReplyFault.TOOL_CALL_TEXT
    if any(needed <= keys for needed in _ERROR_KEYS):
        return ReplyFault.ERROR_TEXT
    return ReplyFault.TOOL_CALL_TEXT if keys else ReplyFault.EMPTY
