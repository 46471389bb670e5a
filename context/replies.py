"""Read a model's reply as plain text: take off its wrapping, and tell when it is no answer."""

import json
import re
from dataclasses import dataclass
from enum import StrEnum

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


_THINK = "(?:antml:)?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)"
_CLOSED_THINK = re.compile(rf"<({_THINK})(?:\s[^<>]*)?>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_OPEN_THINK = re.compile(rf"<{_THINK}(?:\s[^<>]*)?>.*\Z", re.DOTALL | re.IGNORECASE)
_STRAY_CLOSE = re.compile(rf"\A.*</{_THINK}\s*>", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"\A.*<\|channel\|>\s*final\s*<\|message\|>", re.DOTALL)
_FENCE = re.compile(r"\A(`{3,}|~{3,})[\w-]*[ \t]*\n(.*?)\n?\1[ \t]*\Z", re.DOTALL)
_UNCLOSED_FENCE = re.compile(
    r"\A(?:`{3,}|~{3,})(?:markdown|md|text|txt|plaintext)?[ \t]*\n(?!.*^(?:`{3,}|~{3,}))",
    re.DOTALL | re.MULTILINE,
)
_TAGGED = re.compile(
    r"\A<(summary|notes|conversation_summary|previous_summary|output|answer)\b[^<>]*>\s*(.*?)\s*</\1>\Z",
    re.DOTALL | re.IGNORECASE,
)
_PREAMBLE = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[^\n]{0,40}?[,.!:]\s*)?"
    r"(?:here(?:'s| is| are)\b[^\n]{0,120}?|below is\b[^\n]{0,120}?|i(?:'ve| have) (?:updated|written|prepared)\b[^\n]{0,120}?"
    r"|hier ist\b[^\n]{0,120}?|voici\b[^\n]{0,120}?|aquí (?:está|tienes)\b[^\n]{0,120}?|aqui está\b[^\n]{0,120}?|ecco\b[^\n]{0,120}?"
    r"|вот\b[^\n]{0,120}?|以下是[^\n]{0,60}?|以下は[^\n]{0,60}?|다음은[^\n]{0,60}?)[:：][ \t]*\n+",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^\s{0,3}#{1,6}\s+\S", re.MULTILINE)
_SHORT_CHARS = 700
_HEAD_CHARS = 240

_ERROR = re.compile(
    r"\A[\s\"'{\[*#`>-]*(?:"
    r"(?:litellm|openai|anthropic|httpx|requests|botocore|google)\.[\w.]*(?:error|exception)"
    r"|traceback \(most recent call last\)"
    r"|(?:[a-z_]\w*\.)*[a-z]\w*(?:error|exception)\b\s*[:(]"
    r"|(?:api |server |internal |network |request |connection |unexpected )*error(?: code)?\s*[:#(-]"
    r"|(?:internal server error|bad gateway|service unavailable|gateway time-?out|too many requests|rate limit|request timed out"
    r"|connection (?:error|refused|reset|timed out|aborted)|unauthorized|forbidden|invalid api key|quota exceeded"
    r"|overloaded|context length exceeded|model not found|upstream (?:connect )?error)\b"
    r"|(?:http(?:/\d\.\d)?|status(?: code)?|error(?: code)?)[ :]+[45]\d\d\b"
    r"|[45]\d\d (?:client|server|bad|internal|too many|service|gateway|unauthorized|forbidden|not found|error)\b"
    r"|<!doctype html|<html\b"
    r"|an? (?:unexpected |internal |unknown )?error (?:occurred|has occurred|happened)\b"
    r"|(?:failed|unable) to (?:generate|produce|create|get|fetch) (?:a |the )?(?:response|summary|completion|reply)"
    r"|sorry, (?:something went wrong|an error occurred|there was an error)"
    r"|something went wrong"
    r")",
    re.IGNORECASE,
)
_ERROR_ANYWHERE = re.compile(
    r"maximum context length is \d+|rate limit (?:reached|exceeded) for|you exceeded your current quota|"
    r"\"type\"\s*:\s*\"(?:\w+_)?error\"|'error'\s*:\s*\{|\"error\"\s*:\s*[{\"]",
    re.IGNORECASE,
)
_TOOL_TEXT = re.compile(
    r"<(?:tool_calls?|function_calls?|tool_use|invoke|antml:\w+|minimax:tool_call|function=)[\s>\w]|<\|(?:tool_call|tool_calls_section|python_tag|plugin)\w*\|?"
    r"|\[(?:TOOL_CALLS?|TOOL_REQUEST)\]|<｜tool|^functions\.\w+[:(]|^to=functions\."
    r"|\A\s*(?:print\()?(?:default_api\.)?[a-z_]\w*\((?:\s*\w+\s*=\s*[^\n]*)?\)+\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_CALL_KEYS = ({"name", "arguments"}, {"name", "parameters"}, {"tool_calls"}, {"function_call"}, {"tool", "args"}, {"tool", "arguments"},
              {"action", "action_input"}, {"tool_uses"}, {"type", "function"}, {"name", "input"}, {"tool_name"})  # fmt: skip
_ERROR_KEYS = (
    {"error"},
    {"errors"},
    {"status", "message"},
    {"code", "message"},
    {"detail"},
    {"type", "title", "status"},
)
_REASONING = re.compile(
    r"\A(?:okay|ok|alright|hmm|wait|let me|let's|first,? (?:i|let)|i (?:need|should|have|must|will|'ll|am going)|i'(?:ll|m going)|we (?:need|should|must|have) to|"
    r"the user (?:wants|is asking|asks|has asked|asked) (?:me|us|for)|so,? the user|my task|the task is|thinking process|"
    r"好的|首先|我需要|嗯|хорошо,|мне нужно|итак,|まず|ユーザーは)",
    re.IGNORECASE,
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
    text = _CHANNEL.sub("", _CLOSED_THINK.sub("", text))
    return _OPEN_THINK.sub("", _STRAY_CLOSE.sub("", text)).strip()


def _unwrap(text: str) -> str:
    for _ in range(4):
        before = text
        text = _PREAMBLE.sub("", text, count=1).strip()
        text = _strip_fence(text)
        tagged = _TAGGED.match(text)
        text = (tagged[2] if tagged else text).strip()
        if text == before:
            break
    return text


def _strip_fence(text: str) -> str:
    """Only a fence around the whole is a wrapper: one inside it is content."""
    fenced = _FENCE.match(text)
    if fenced and not re.search(rf"^{re.escape(fenced[1])}", fenced[2], re.MULTILINE):
        return fenced[2].strip()
    return _UNCLOSED_FENCE.sub("", text).strip()


def _fault(text: str) -> ReplyFault | None:
    if not any(map(str.isalnum, text)):
        return ReplyFault.EMPTY
    decoded = _decoded(text)
    if decoded is not None:
        return _fault_of_json(decoded)
    if _TOOL_TEXT.search(text) and not _MARKED.search(text):
        return ReplyFault.TOOL_CALL_TEXT
    if _MARKED.search(text[:_SHORT_CHARS]):
        return None
    return _fault_of_prose(text)


def _fault_of_prose(text: str) -> ReplyFault | None:
    """Text without headings: its first words tell, and only of a short text its middle too."""
    is_short = len(text) <= _SHORT_CHARS
    if _ERROR.match(text) or (is_short and _ERROR_ANYWHERE.search(text)):
        return ReplyFault.ERROR_TEXT
    if is_refusal(text):
        return ReplyFault.REFUSAL
    return ReplyFault.REASONING_TEXT if _REASONING.match(text) else None


def is_refusal(text: str) -> bool:
    """Tell whether a text declines the task or asks for what it should summarize.

    Args:
        text: A reply, cleaned.

    Returns:
        True where its first words refuse, in any language that is known here.
    """
    head = " ".join(text[:_HEAD_CHARS].replace("’", "'").casefold().split())
    if any(map(head.startswith, REFUSALS)):
        return True
    return len(text) <= _SHORT_CHARS and any(phrase in head for phrase in REQUESTS_FOR_INPUT)


def _decoded(text: str) -> object | None:
    if text[0] not in "{[":
        return None
    try:
        value: object = json.loads(text)
    except ValueError:
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
