"""Trimming of one turn: a smaller copy with shortened tool results and whole pairs."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from context.text.cut import ceil_border, floor_border
from context.types import JsonObject, Message
from context.wire.formats import format_of

FLOOR_CHARS = 240
"""Characters that always stay of a result's text, enough to recognize the result."""

OLDER_CHARS = 1_000
"""Characters that stay at first of an older result in an open turn."""

OLDER_RESULTS = 8
"""Number of results cut to `OLDER_CHARS` before the oldest goes to the floor."""

PORTION = 0.4
"""Share of the room; an open turn frees a multiple of the share."""

_HEAD_SHARE = 2 / 3
_TEXT_KEYS = ("text", "stdout", "stderr")

_Rewrite = Callable[[str], str]


@dataclass(frozen=True)
class Trim:
    """Content removed from one message.

    Attributes:
        index: The index in the turn.
        seq: The place in the log.
        chars_left_out: Characters of the results missing from the copy, > 0.
        tokens_before: The cost before.
        tokens_after: The cost now, less than before.
    """

    index: int
    seq: int
    chars_left_out: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True)
class TrimmedTurn:
    """A copy of a turn that fits.

    Attributes:
        messages: As many as before, in order, with the same ids; shortened messages are counted anew.
        trims: The shortened messages, in order; empty if the turn fitted unchanged.
        tokens: Total cost of the messages.
    """

    messages: list[Message]
    trims: list[Trim]
    tokens: int


@dataclass(frozen=True)
class _Copy:
    message: Message
    chars_left_out: int = 0


def trim_turn(
    messages: Sequence[Message],
    budget_tokens: int,
    count: Callable[[Message], int],
    *,
    floor_chars: int = FLOOR_CHARS,
) -> TrimmedTurn | None:
    """Shorten the tool results of a turn until the turn fits; all other words stay unchanged.

    The largest results are halved first, and the oldest first among equals, so that long results end near
    one size and the newest keep the most. Head and tail of each text stay, around a line with the number of
    omitted characters. Calls, ids, media and thinking are not touched.

    Args:
        messages: One turn, or the newest part of a turn.
        budget_tokens: The token budget of the turn.
        count: Counts one message as `Message.tokens` was counted; called for shortened copies only.
        floor_chars: Characters that stay of every text in a result, >= 0.

    Returns:
        The copy, or None when the turn does not fit even with every result at the floor.
    """
    sizes = [_result_sizes(message) for message in messages]
    steps = list(_steps(sizes, floor_chars))
    taken = _count_steps(messages, sizes, steps, budget_tokens)
    copies = [_Copy(message) for message in messages]
    for index, cap in dict(steps[:taken]).items():
        copies[index] = _shortened(copies[index], messages[index], cap, count)
    tokens = sum(copy.message.tokens for copy in copies)
    for index, cap in steps[taken:]:
        if tokens <= budget_tokens:
            break
        shorter = _shortened(copies[index], messages[index], cap, count)
        tokens += shorter.message.tokens - copies[index].message.tokens
        copies[index] = shorter
    if tokens > budget_tokens:
        return None
    return TrimmedTurn([copy.message for copy in copies], _trims(messages, copies), tokens)


def trim_open_turn(
    messages: Sequence[Message], budget_tokens: int, count: Callable[[Message], int]
) -> TrimmedTurn:
    """Shorten the tool results of an open turn until the turn fits, the oldest first.

    The results of the latest calls stay whole unless nothing else helps, and are then cut as little as
    possible. A multiple of a share of the room is freed, so that most later steps cut alike and a provider's
    cache lasts. Calls, ids, words of people and of models are not touched.

    Args:
        messages: The turn so far, the new messages included.
        budget_tokens: The token budget of the turn, > 0.
        count: Counts one message as `Message.tokens` was counted; called for shortened copies only.

    Returns:
        The copy; if the turn does not fit even so, with every result at the floor.
    """
    copies = [_Copy(message) for message in messages]
    newest = _start_of_newest(messages)
    over = sum(message.tokens for message in messages) - budget_tokens
    portion = max(int(budget_tokens * PORTION), 1)
    to_free = -(-max(over, 0) // portion) * portion
    for index, cap in _oldest_first([place for place in range(newest) if messages[place].answer_ids]):
        if to_free <= 0:
            break
        shorter = _shortened(copies[index], messages[index], cap, count)
        freed = copies[index].message.tokens - shorter.message.tokens
        copies[index], to_free, over = shorter, to_free - freed, over - freed
    if over > 0:
        room = sum(copy.message.tokens for copy in copies[newest:]) - over
        copies[newest:] = _cut_newest(messages[newest:], room, count)
    shown = [copy.message for copy in copies]
    return TrimmedTurn(shown, _trims(messages, copies), sum(message.tokens for message in shown))


def _oldest_first(results: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the order of cuts of older results, with characters to keep; later results change nothing."""
    for place, index in enumerate(results):
        yield index, OLDER_CHARS
        if place >= OLDER_RESULTS:
            yield results[place - OLDER_RESULTS], FLOOR_CHARS
    yield from ((index, FLOOR_CHARS) for index in results[-OLDER_RESULTS:])


def _cut_newest(
    messages: Sequence[Message], budget_tokens: int, count: Callable[[Message], int]
) -> list[_Copy]:
    """Cut results as little as possible; to the floor if the turn still does not fit."""
    rest = trim_turn(messages, budget_tokens, count) if budget_tokens > 0 else None
    if rest is None:
        return [_shortened(_Copy(message), message, FLOOR_CHARS, count) for message in messages]
    cut = {trim.index: trim.chars_left_out for trim in rest.trims}
    return [_Copy(message, cut.get(place, 0)) for place, message in enumerate(rest.messages)]


def _start_of_newest(messages: Sequence[Message]) -> int:
    """Find the first result of the latest calls; the end without results."""
    answers = [place for place, message in enumerate(messages) if message.answer_ids]
    if not answers:
        return len(messages)
    first = answers[-1]
    while first > 0 and messages[first - 1].answer_ids:
        first -= 1
    return first


def shorten(text: str, max_chars: int) -> str:
    """Keep the head and the tail of a text around a line with the number of omitted characters.

    Args:
        text: Any text.
        max_chars: Characters to keep, the line not counted, >= 0.

    Returns:
        The text itself if shortening would not make it shorter.
    """
    return _shorten(text, max_chars)[0]


def _shorten(text: str, max_chars: int) -> tuple[str, int]:
    """Shorten, and say by how many characters of the text."""
    if len(text) <= max_chars:
        return text, 0
    head_chars = int(max_chars * _HEAD_SHARE)
    head = floor_border(text, head_chars)
    tail = ceil_border(text, len(text) - (max_chars - head_chars))
    short = f"{text[:head]}\n[{tail - head} characters left out]\n{text[tail:]}"
    return (short, tail - head) if len(short) < len(text) else (text, 0)


def _steps(sizes: Sequence[Sequence[int]], floor_chars: int) -> Iterator[tuple[int, int]]:
    """Yield the order of cuts, each with the message and the characters to keep of a text."""
    cap = max(chain.from_iterable(sizes), default=0)
    while cap > floor_chars:
        cap = max(cap // 2, floor_chars)
        for index, lengths in enumerate(sizes):
            if lengths and max(lengths) > cap:
                yield index, cap


def _count_steps(
    messages: Sequence[Message],
    sizes: Sequence[Sequence[int]],
    steps: Sequence[tuple[int, int]],
    budget_tokens: int,
) -> int:
    """Guess how many steps make the turn fit: cutting and counting at every size would cost much more."""
    guesses = [float(message.tokens) for message in messages]
    total = sum(guesses)
    for taken, (index, cap) in enumerate(steps):
        if total <= budget_tokens:
            return taken
        kept_share = sum(min(length, cap) for length in sizes[index]) / sum(sizes[index])
        total += messages[index].tokens * kept_share - guesses[index]
        guesses[index] = messages[index].tokens * kept_share
    return len(steps)


def _shortened(copy: _Copy, message: Message, cap: int, count: Callable[[Message], int]) -> _Copy:
    """Shorten every text in the results of a message; keep the present copy if nothing is saved."""
    left_out = 0

    def rewrite(text: str) -> str:
        nonlocal left_out
        short, chars = _shorten(text, cap)
        left_out += chars
        return short

    body = _with_results(message, rewrite)
    if not left_out:
        return copy
    shorter = replace(message, raw=json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    shorter = replace(shorter, tokens=count(shorter))
    return _Copy(shorter, left_out) if shorter.tokens < copy.message.tokens else copy


def _trims(messages: Sequence[Message], copies: Sequence[_Copy]) -> list[Trim]:
    return [
        Trim(index, message.seq, copy.chars_left_out, message.tokens, copy.message.tokens)
        for index, (message, copy) in enumerate(zip(messages, copies, strict=True))
        if copy.chars_left_out
    ]


def _result_sizes(message: Message) -> list[int]:
    """Measure the texts in the results of a message."""
    sizes: list[int] = []

    def measure(text: str) -> str:
        sizes.append(len(text))
        return text

    _with_results(message, measure)
    return sizes


def _with_results(message: Message, rewrite: _Rewrite) -> JsonObject:
    """Rewrite the texts of results only, never texts of people, models or signed blocks."""
    if not message.answer_ids:
        return {}
    body = message.body
    key = format_of(message.wire).result_key
    if key is None:
        content = body.get("content")
        blocks = content if isinstance(content, list) else []
        return {**body, "content": [_with_result_block(block, rewrite) for block in blocks]}
    return {**body, key: _with_output(body.get(key), rewrite)}


def _with_result_block(block: Any, rewrite: _Rewrite) -> Any:
    if not isinstance(block, dict) or block.get("type") != "tool_result" or "content" not in block:
        return block
    return {**block, "content": _with_output(block["content"], rewrite)}


def _with_output(output: Any, rewrite: _Rewrite) -> Any:
    if isinstance(output, str):
        return rewrite(output)
    return [_with_part(part, rewrite) for part in output] if isinstance(output, list) else output


def _with_part(part: Any, rewrite: _Rewrite) -> Any:
    if not isinstance(part, dict):
        return part
    texts = {key: rewrite(part[key]) for key in _TEXT_KEYS if isinstance(part.get(key), str)}
    return {**part, **texts}
