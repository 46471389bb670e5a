"""Trimming of one turn: a smaller copy with shortened tool results and whole pairs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from context.shape.pictures import with_result_notes
from context.shape.translate import unsigned
from context.text.cut import ceil_border, floor_border
from context.types import JsonObject, Message
from context.wire.anthropic.write import parse_arguments
from context.wire.formats import format_of
from context.wire.neutral import dump

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
_Texts = Callable[[Message, _Rewrite], JsonObject]
"""Rewrite certain texts of a message, and return the body."""


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
    texts: _Texts | None = None,
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
        texts: The texts to shorten; by default those of results.

    Returns:
        The copy, or None when the turn does not fit even with every result at the floor.
    """
    texts = texts or _with_results
    sizes = [_sizes(message, texts) for message in messages]
    steps = list(_steps(sizes, floor_chars))
    taken = _count_steps(messages, sizes, steps, budget_tokens)
    copies = [_Copy(message) for message in messages]
    for index, cap in dict(steps[:taken]).items():
        copies[index] = _shortened(copies[index], messages[index], cap, count, texts)
    tokens = sum(copy.message.tokens for copy in copies)
    for index, cap in steps[taken:]:
        if tokens <= budget_tokens:
            break
        shorter = _shortened(copies[index], messages[index], cap, count, texts)
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
    possible; after them the arguments of these calls, and at last files in the results become notes. A
    multiple of a share of the room is freed, so that most later steps cut alike and a provider's cache lasts.
    Ids, words of people and of models, and calls with a signature are not touched.

    Args:
        messages: The turn so far, the new messages included.
        budget_tokens: The token budget of the turn, > 0.
        count: Counts one message as `Message.tokens` was counted; called for shortened copies only.

    Returns:
        The copy; if the turn does not fit even so, as short as possible.
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
    results = [place for place in range(newest, len(messages)) if messages[place].answer_ids]
    answered = {call_id for place in results for call_id in messages[place].answer_ids}
    calls = [place for place in range(newest) if answered.intersection(messages[place].call_ids)]
    for places, texts in ((results, _with_results), (calls, _with_arguments)):
        if over > 0:
            over -= _cut_least(copies, places, over, count, texts)
    for place in results if over > 0 else ():
        copies[place] = _without_files(copies[place], count)
    shown = [copy.message for copy in copies]
    return TrimmedTurn(shown, _trims(messages, copies), sum(message.tokens for message in shown))


def _oldest_first(results: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the order of cuts of older results, with characters to keep; later results change nothing."""
    for place, index in enumerate(results):
        yield index, OLDER_CHARS
        if place >= OLDER_RESULTS:
            yield results[place - OLDER_RESULTS], FLOOR_CHARS
    yield from ((index, FLOOR_CHARS) for index in results[-OLDER_RESULTS:])


def _cut_least(
    copies: list[_Copy], places: Sequence[int], over: int, count: Callable[[Message], int], texts: _Texts
) -> int:
    """Cut texts of whole messages by no more tokens than needed, else to the floor; return what is freed."""
    whole = [copies[place].message for place in places]
    before = sum(message.tokens for message in whole)
    rest = trim_turn(whole, before - over, count, texts=texts) if before > over else None
    cut = {trim.index: trim.chars_left_out for trim in rest.trims} if rest else {}
    for number, place in enumerate(places):
        if rest is None:
            copies[place] = _shortened(copies[place], whole[number], FLOOR_CHARS, count, texts)
        else:
            copies[place] = _Copy(rest.messages[number], cut.get(number, 0))
    return before - sum(copies[place].message.tokens for place in places)


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


def _shortened(
    copy: _Copy,
    message: Message,
    cap: int,
    count: Callable[[Message], int],
    texts: _Texts | None = None,
) -> _Copy:
    """Shorten texts of a message, by default of its results; keep the present copy if nothing is saved."""
    left_out = 0

    def rewrite(text: str) -> str:
        nonlocal left_out
        short, chars = _shorten(text, cap)
        left_out += chars
        return short

    body = (texts or _with_results)(message, rewrite)
    return _smaller(copy, message, body, left_out, count) if left_out else copy


def _without_files(copy: _Copy, count: Callable[[Message], int]) -> _Copy:
    """Put notes in place of the files in a message; keep the present copy if nothing is saved."""
    body, chars = with_result_notes(copy.message)
    return _smaller(copy, copy.message, body, copy.chars_left_out + chars, count) if chars else copy


def _smaller(
    copy: _Copy, message: Message, body: JsonObject, left_out: int, count: Callable[[Message], int]
) -> _Copy:
    shorter = replace(message, raw=dump(body))
    shorter = replace(shorter, tokens=count(shorter))
    return _Copy(shorter, left_out) if shorter.tokens < copy.message.tokens else copy


def _trims(messages: Sequence[Message], copies: Sequence[_Copy]) -> list[Trim]:
    return [
        Trim(index, message.seq, copy.chars_left_out, message.tokens, copy.message.tokens)
        for index, (message, copy) in enumerate(zip(messages, copies, strict=True))
        if copy.chars_left_out
    ]


def _sizes(message: Message, texts: _Texts) -> list[int]:
    """Measure the texts of a message that may be shortened."""
    sizes: list[int] = []

    def measure(text: str) -> str:
        sizes.append(len(text))
        return text

    texts(message, measure)
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
    texts: JsonObject = {key: rewrite(part[key]) for key in _TEXT_KEYS if isinstance(part.get(key), str)}
    if isinstance(part.get("content"), list):
        texts["content"] = _with_output(part["content"], rewrite)
    source = part.get("source")
    if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
        texts["source"] = {**source, "data": rewrite(source["data"])}
    return {**part, **texts}


def _with_arguments(message: Message, rewrite: _Rewrite) -> JsonObject:
    """Rewrite the arguments of a message's calls; signed calls stay as their provider signed them."""
    if not message.call_ids:
        return {}
    body: JsonObject = _with_call(message.body, rewrite)
    for place in ("tool_calls", "content"):
        if isinstance(calls := body.get(place), list):
            body = {**body, place: [_with_call(call, rewrite) for call in calls]}
    return body


_OWN_CALLS = frozenset({"function_call", "custom_tool_call", "tool_use"})
"""Types of the items and blocks that are a call."""


def _with_call(call: Any, rewrite: _Rewrite) -> Any:
    if not isinstance(call, dict) or unsigned(call) is not call:
        return call
    for place in ("function", "custom"):
        if isinstance(call.get(place), dict):
            return {**call, place: _with_fields(call[place], rewrite)}
    return _with_fields(call, rewrite) if call.get("type") in _OWN_CALLS else call


def _with_fields(call: JsonObject, rewrite: _Rewrite) -> JsonObject:
    """Rewrite arguments in JSON value by value, so that they remain an object; free input as the text it is.

    A value that is no text becomes its JSON text where that is cut.
    """
    arguments, free = call.get("arguments"), call.get("input")
    given = parse_arguments(arguments) if isinstance(arguments, str) else None
    if given:
        return {**call, "arguments": dump({key: _with_value(one, rewrite) for key, one in given.items()})}
    if isinstance(free, dict):
        return {**call, "input": {key: _with_value(one, rewrite) for key, one in free.items()}}
    return {**call, "input": rewrite(free)} if isinstance(free, str) else call


def _with_value(value: Any, rewrite: _Rewrite) -> Any:
    if isinstance(value, str):
        return rewrite(value)
    text = dump(value)
    short = rewrite(text)
    return value if short == text else short
