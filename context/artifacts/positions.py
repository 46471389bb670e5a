"""The texts of tool results in a message, and a message with other texts in their places."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context.artifacts.reference import pointer_words
from context.calls import looks_failed
from context.contents import reports_failure
from context.types import JsonObject, Message, Wire

_TEXT_KEYS = ("text", "stdout", "stderr")


@dataclass(frozen=True)
class ResultTexts:
    """The words of one tool result.

    Attributes:
        place: Which result of its message it is, from 0.
        call_id: The call that it answers.
        name: The tool, where the message names it.
        texts: Its texts that are not empty, in order: one, or one for each text part.
        flagged: Whether it says that the call failed; None where it does not say.
    """

    place: int
    call_id: str
    name: str
    texts: tuple[str, ...]
    flagged: bool | None = None

    @property
    def failed(self) -> bool:
        """Whether the call failed, by what the result says of itself, else by its first words."""
        return looks_failed(pointer_words(self.texts[0])) if self.flagged is None else self.flagged


Rewrite = Callable[[ResultTexts], Sequence[str]]
"""Gives for a result's texts as many texts that take their places."""


def read_results(message: Message) -> list[ResultTexts]:
    """List the results of a message that have words.

    Args:
        message: A message in any wire format.

    Returns:
        One entry a result, in order. Words of people and models, media, and the results of tools that the
        provider ran itself are not among them.
    """
    found: list[ResultTexts] = []

    def keep(result: ResultTexts) -> Sequence[str]:
        found.append(result)
        return result.texts

    rewrite_results(message, keep)
    return found


def rewrite_results(message: Message, rewrite: Rewrite) -> JsonObject:
    """Put other words into the results of a message; everything else is the same, in the same order.

    Args:
        message: A message in any wire format.
        rewrite: Asked once for each result that has words.

    Returns:
        A new body, or the message's own where it has no results.
    """
    if not message.answer_ids:
        return message.body
    body = message.body
    if message.wire is Wire.ANTHROPIC:
        return _with_blocks(body, rewrite)
    key = "output" if message.wire is Wire.RESPONSES else "content"
    if key not in body:
        return body
    name = str(body.get("name") or "")
    result = ResultTexts(0, message.answer_ids[0], name, (), reports_failure(body, body[key]))
    return {**body, key: _with_texts(body[key], result, rewrite)}


def _with_blocks(body: JsonObject, rewrite: Rewrite) -> JsonObject:
    content = body.get("content")
    if not isinstance(content, list):
        return body
    blocks, place = [], 0
    for block in content:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            call_id = str(block.get("tool_use_id") or "")
            if "content" in block:
                output = block["content"]
                result = ResultTexts(place, call_id, "", (), reports_failure(block, output))
                block = {**block, "content": _with_texts(output, result, rewrite)}  # noqa: PLW2901
            place += 1
        blocks.append(block)
    return {**body, "content": blocks}


def _with_texts(output: Any, result: ResultTexts, rewrite: Rewrite) -> Any:
    texts = tuple(_texts(output))
    if not texts:
        return output
    fresh = iter(rewrite(replace(result, texts=texts)))
    if isinstance(output, str):
        return next(fresh)
    return [_with_part(part, fresh) for part in output]


def _texts(output: Any) -> Iterator[str]:
    if isinstance(output, str) and output:
        yield output
    for part in output if isinstance(output, list) else ():
        yield from (part[key] for key in _text_keys(part))


def _text_keys(part: Any) -> list[str]:
    if not isinstance(part, dict):
        return []
    return [key for key in _TEXT_KEYS if isinstance(part.get(key), str) and part[key]]


def _with_part(part: Any, fresh: Iterator[str]) -> Any:
    keys = _text_keys(part)
    return {**part, **{key: next(fresh) for key in keys}} if keys else part
