"""Read tool calls and their outcomes: names, arguments in few words, and whether a call went wrong."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from context.text.clip import clip, drop_encoded, one_line
from context.text.sanitize import decode_inner
from context.types import Message
from context.wire.parts import PartKind, read_parts


@dataclass(frozen=True)
class ToolCall:
    """One tool call as made by its message.

    Attributes:
        call_id: The id.
        name: The tool.
        arguments: The arguments: JSON text, or any other text written by a model.
    """

    call_id: str
    name: str
    arguments: str = ""


def read_calls(messages: Iterable[Message]) -> dict[str, ToolCall]:
    """List the calls of messages by id; of equal ids the last counts.

    Args:
        messages: Messages of any wire format, in order.

    Returns:
        The calls; calls without an id are left out.
    """
    return {
        part.call_id: ToolCall(part.call_id, part.name, part.text)
        for message in messages
        if message.call_ids
        for part in read_parts(message)
        if part.kind is PartKind.CALL and part.call_id
    }


NO_CALLS: Mapping[str, ToolCall] = {}


_FAILURE = re.compile(
    r"\A[\s\[(>*#-]*(?:uncaught |unhandled |fatal |tool |internal )?[\w.]{0,40}(?:error|exception|failure)s?"
    r"(?=\s*(?:[:\[(!]|\Z)|[ \t]*\n|\s+(?:in|at|on|while|when|executing|calling|running|occurred|code)\b)"
    r"|\A\s*(?:traceback \(most recent|fatal:|failed\b|failure\b|could not\b|cannot\b|command aborted"
    r"|permission denied|success: false|\{\s*\"(?:error|isError)\"\s*:(?!\s*(?:null|false|\"\")))"
    r"|(?:exited with|exit) code:? [1-9]\d{0,2}\s*\Z|is_?error(?:\"\s*:\s*|=)true[\s)}]*\Z",
    re.IGNORECASE,
)
_FAILURE_HEAD_CHARS = 200
_FAILURE_TAIL_CHARS = 60


def looks_failed(output: str) -> bool:
    """Tell whether a tool's output reads like a failure, if the message itself does not say.

    Args:
        output: A tool's output.

    Returns:
        True if the first words name an error or the last words a bad exit code.
    """
    if len(output) > _FAILURE_HEAD_CHARS + _FAILURE_TAIL_CHARS:
        output = output[:_FAILURE_HEAD_CHARS] + "\n" + output[-_FAILURE_TAIL_CHARS:]
    return _FAILURE.search(output) is not None


def render_arguments(arguments: str, argument_chars: int, all_chars: int) -> str:
    """Write a call's arguments as `key="value"`, each value clipped.

    Args:
        arguments: JSON text, or any other text written by a model.
        argument_chars: The most characters of one argument, >= 1.
        all_chars: The most characters of all, >= 1.

    Returns:
        One line.
    """
    try:
        values: Any = decode_inner(arguments) if arguments else {}
    except (ValueError, RecursionError):
        values = arguments
    if not isinstance(values, Mapping):
        return one_line(drop_encoded(str(values)), all_chars)
    pairs = (f"{key}={_argument(value, argument_chars)}" for key, value in values.items())
    return clip(", ".join(pairs), all_chars)


def _argument(value: Any, max_chars: int) -> str:
    if isinstance(value, str):
        return f'"{one_line(drop_encoded(value), max_chars)}"'
    return one_line(json.dumps(value, ensure_ascii=False), max_chars)
