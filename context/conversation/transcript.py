"""Write a conversation as a transcript to summarize, and a summary as a block of the window."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from context.conversation.failures import looks_failed
from context.conversation.tool_calls import render_arguments
from context.text.cut import clip, drop_blank_lines, drop_encoded, one_line
from context.text.tags import escape_tags, strip_thinking
from context.types import Message, Role
from context.wire.parts import MessagePart, PartKind, read_parts

SUMMARY_TAG = "conversation_summary"
TRANSCRIPT_TAG = "transcript"
PREVIOUS_TAG = "previous_summary"


class LineKind(StrEnum):
    """Kinds of transcript lines."""

    TEXT = "text"
    CALL = "call"
    RESULT = "result"


@dataclass(frozen=True)
class RenderedLine:
    """One line of a transcript: speaker, content and message.

    Attributes:
        seq: The source message.
        kind: Words, a tool call, or a call's outcome.
        role: The message's role.
        speaker: The speaker: "Ana (user)", "assistant"; the tool's name for an outcome.
        text: The words, `name(key="value")` for a call, the output for an outcome; capped and escaped.
        step: Number of the step, shared by a call, its parallel calls and their outcomes.
        failed: True if an outcome is a failure.
        call_id: The call made or answered by the line; "" for words.
        day: The day when the turn ended; None if unknown.
        opens_day: True if the lines before are of another day.
    """

    seq: int
    kind: LineKind
    role: Role
    speaker: str
    text: str
    step: int
    failed: bool = False
    call_id: str = ""
    day: date | None = None
    opens_day: bool = False

    @property
    def number(self) -> str:
        """The message's number in brackets, with the day at the start of a day: "[3 · 8 May 2023]"."""
        return dated(self.seq, self.day if self.opens_day else None)

    def __str__(self) -> str:
        """Write the line; text after a line break is indented, so that no text can forge a label."""
        body = self.text.replace("\n", "\n    ")
        if self.kind is LineKind.CALL:
            return f"{self.number} {self.speaker} calls {body}"
        if self.kind is LineKind.RESULT:
            return f"{self.number} {self.speaker} -> {'error' if self.failed else 'ok'}: {body}"
        return f"{self.number} {self.speaker}: {body}"


@dataclass(frozen=True)
class RenderLimits:
    """Limits of a transcript's content.

    Attributes:
        message_chars: Characters of one message, all parts together.
        result_chars: Characters of one tool's output.
        arguments_chars: Characters of all arguments of one call.
        argument_chars: Characters of one argument.
    """

    message_chars: int = 6000
    result_chars: int = 1500
    arguments_chars: int = 600
    argument_chars: int = 200


DEFAULT_LIMITS = RenderLimits()
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MAX_NAME_CHARS = 60
_MIN_PART_CHARS = 80


def render_transcript(
    messages: Sequence[Message], *, limits: RenderLimits = DEFAULT_LIMITS
) -> tuple[RenderedLine, ...]:
    """Write messages as labelled lines, each message capped before any other processing.

    Args:
        messages: Messages of any wire format, in order; whole turns.
        limits: The most characters of each part.

    Returns:
        The lines, in order; no line for a message without words (thinking alone).
    """
    steps = _steps(messages)
    names: dict[str, str] = {}
    lines: list[RenderedLine] = []
    day: date | None = None
    for message, step in zip(messages, steps, strict=True):
        for line in _message_lines(message, step, limits, names):
            opens_day = message.day not in {None, day}
            lines.append(replace(line, day=message.day, opens_day=opens_day) if message.day else line)
            day = message.day or day
    return tuple(lines)


def dated(seq: int, day: date | None) -> str:
    """Write a message's number in brackets, with the day if given, in the same way for all languages.

    Args:
        seq: The message.
        day: The day of the message.

    Returns:
        "[3]", or "[3 · 8 May 2023]".
    """
    return f"[{seq}]" if day is None else f"[{seq} · {day.day} {_MONTHS[day.month - 1]} {day.year}]"


def transcript_text(lines: Iterable[RenderedLine]) -> str:
    """Write the lines as the text read by a summarizer."""
    return "\n".join(map(str, lines))


def participants(lines: Iterable[RenderedLine]) -> tuple[str, ...]:
    """List the speakers, in the order of their first words; tools do not speak."""
    return tuple(dict.fromkeys(line.speaker for line in lines if line.kind is not LineKind.RESULT))


def chunk_lines(
    lines: Sequence[RenderedLine], *, count: Callable[[str], int], budget_tokens: int
) -> list[tuple[RenderedLine, ...]]:
    """Pack the lines into chunks for a summarizer's window; a step stays in one chunk.

    A step too large for a chunk gets shorter bodies; its calls and outcomes all stay.

    Args:
        lines: A transcript.
        count: Counts the tokens of a text.
        budget_tokens: The most tokens of a chunk's text, > 0.

    Returns:
        The chunks, in order; no lines give no chunk.

    Raises:
        ValueError: The budget is not positive.
    """
    if budget_tokens <= 0:
        raise ValueError(f"a chunk needs a positive budget, not {budget_tokens}")
    chunks: list[tuple[RenderedLine, ...]] = []
    chunk: list[RenderedLine] = []
    used = 0
    for step in _group_steps(lines):
        fitted, cost = _fit_step(step, count, budget_tokens)
        if chunk and used + cost > budget_tokens:
            chunks.append(tuple(chunk))
            chunk, used = [], 0
        chunk.extend(fitted)
        used += cost
    return [*chunks, tuple(chunk)] if chunk else chunks


def _group_steps(lines: Sequence[RenderedLine]) -> list[list[RenderedLine]]:
    groups: list[list[RenderedLine]] = []
    for line in lines:
        if groups and groups[-1][0].step == line.step:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _fit_step(
    step: list[RenderedLine], count: Callable[[str], int], budget_tokens: int
) -> tuple[list[RenderedLine], int]:
    cost = _cost(step, count)
    while cost > budget_tokens:
        longest = max(len(line.text) for line in step)
        room = int(longest * min(0.8, budget_tokens / cost * 1.05))
        if room < 1:
            break
        step = [replace(line, text=clip(line.text, room)) for line in step]
        cost = _cost(step, count)
    return step, cost


def _cost(step: list[RenderedLine], count: Callable[[str], int]) -> int:
    """Count line by line, plus a token for each line break: never below the count of the joined text."""
    return sum(count(str(line)) + 1 for line in step)


def _steps(messages: Sequence[Message]) -> list[int]:
    """Number the steps: a step runs from a call until every open call is answered."""
    numbers: list[int] = []
    step = 0
    open_ids: set[str] = set()
    for message in messages:
        if message.starts_turn or not (open_ids or message.answer_ids):
            step += 1
            open_ids = set()
        open_ids.update(message.call_ids)
        open_ids.difference_update(message.answer_ids)
        numbers.append(step)
    return numbers


def _message_lines(
    message: Message, step: int, limits: RenderLimits, names: dict[str, str]
) -> Iterable[RenderedLine]:
    speaker = _speaker(message)
    room = limits.message_chars
    media: list[str] = []
    for part in read_parts(message):
        if part.kind is PartKind.MEDIA:
            media.append(f"[{one_line(escape_tags(part.text), _MAX_NAME_CHARS)}]")
            continue
        line = _part_line(part, message, speaker, limits, names)
        capped = clip(line.text, max(room, _MIN_PART_CHARS))
        room -= len(capped)
        if capped:
            yield replace(line, text=capped, step=step)
    if media:
        shown = one_line(" ".join(media), limits.arguments_chars)
        yield RenderedLine(message.seq, LineKind.TEXT, message.role, speaker, shown, step)


def _part_line(
    part: MessagePart, message: Message, speaker: str, limits: RenderLimits, names: dict[str, str]
) -> RenderedLine:
    if part.kind is PartKind.CALL:
        name = names[part.call_id] = one_line(part.name, _MAX_NAME_CHARS)
        call = escape_tags(
            f"{name}({render_arguments(part.text, limits.argument_chars, limits.arguments_chars)})"
        )
        return RenderedLine(message.seq, LineKind.CALL, message.role, speaker, call, 0, call_id=part.call_id)
    if part.kind is PartKind.RESULT:
        name = escape_tags(one_line(names.get(part.call_id) or part.name or "tool", _MAX_NAME_CHARS))
        failed = looks_failed(part.text) if part.failed is None else part.failed
        output = clip(drop_blank_lines(_clean(part.text, limits.message_chars)), limits.result_chars)
        return RenderedLine(
            message.seq, LineKind.RESULT, message.role, name, output or "(nothing)", 0, failed, part.call_id
        )
    text = strip_thinking(part.text) if message.role is Role.ASSISTANT else part.text
    words = _clean(text, limits.message_chars).strip()
    return RenderedLine(message.seq, LineKind.TEXT, message.role, speaker, words, 0)


def _clean(text: str, max_chars: int) -> str:
    """Drop embedded files before clipping, or a capped message would show nothing else."""
    return clip(escape_tags(drop_encoded(text)), max_chars)


def _speaker(message: Message) -> str:
    named = message.speaker or (message.body.get("name") if "role" in message.body else None)
    if message.role is Role.TOOL or not isinstance(named, str) or not named.strip():
        return str(message.role)
    plain = re.sub(r"[\[\]():]", " ", named)
    return f"{escape_tags(one_line(plain, _MAX_NAME_CHARS))} ({message.role})"
