"""Decoding of a reply: its JSON value, or the cause of a missing value."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from context.decode.reader import NotJsonError, read_strict
from context.decode.scan import DecodedValue, TextWalk, by_trust, walk
from context.decode.types import Accept, AnswerPlace, DecodeCause, Decoded, Part, ReplyRepair
from context.text.refusals import REFUSALS

_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
"""The library takes 1.0 for an integer; callers use integers as such."""


def shape_check(schema: Mapping[str, Any]) -> Callable[[object], bool]:
    """Make a check of values against a JSON schema."""
    is_valid: Callable[[object], bool] = _Validator(schema).is_valid
    return is_valid


_FILTERED = frozenset(
    {"content_filter", "safety", "refusal", "prohibited_content", "blocklist", "recitation"}
)
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens"})
_MARGINS = "\ufeff\u200b\u2060 \t\r\n"
_WRAPPER = re.compile(r"\A(`{3,}|~{3,})[^\n`~]*\n(.*)\n[ \t]*\1[ \t]*\Z", re.DOTALL)
_ONLY_FENCES = re.compile(r"(?:\s*+(?:`{3,}+|~{3,}+)[\w-]*+)*+\s*+\Z")
_HEAD_CHARS = 240
_REFUSING_KEYS = frozenset({"refusal", "refused"})

_Accepts = Callable[[object], bool]


def decode_json(
    reply: str | None, *, accept: Accept, finish_reason: str | None = None, part: Part | None = None
) -> Decoded:
    """Read the JSON value from a model's reply.

    Search order: the whole reply; the reply without a fence; every whole value outside of thinking, fenced
    values before bare values and later before earlier; the same with repairs. A cut-off value is never
    completed. The time is linear in the reply's length.

    Args:
        reply: The reply's text; None without a reply.
        accept: Test of an answer: a predicate, or a JSON schema. An accepted value alone in an object or
            list, or written as JSON in a string, is taken out.
        finish_reason: The provider's finish reason, if known.
        part: Recognizes a single entry of an answer, as for models with an entry a line: a whole answer goes
            before entries, and all entries since the last correction form a list.

    Returns:
        The value, or the cause: `safety` (refused or filtered), `truncated`, `empty`, `malformed` (also for a
        value of another shape).
    """
    accepts = _predicate(accept)
    reason = (finish_reason or "").casefold()
    text = (reply or "").strip(_MARGINS)
    if reason in _FILTERED:
        return _failed(DecodeCause.SAFETY, "the provider's filter ended the reply")
    whole = _whole(text, accepts)
    if whole is not None:
        return whole
    walked = walk(text)
    if not walked.cut_off:
        answer = _chosen(walked.found, accepts, part)
        if answer is not None:
            return answer
    return _failure(text, walked, was_cut=reason in _CUT_OFF)


def _predicate(accept: Accept) -> _Accepts:
    if callable(accept):
        return accept
    return shape_check(accept)


def _failed(cause: DecodeCause, detail: str) -> Decoded:
    return Decoded(cause=cause, detail=detail)


def _whole(text: str, accepts: _Accepts) -> Decoded | None:
    """Read the whole text as JSON, or the inside of a fence around the whole text."""
    wrapped = _WRAPPER.match(text)
    for how, inner in (
        (AnswerPlace.RAW, text),
        (AnswerPlace.FENCE, wrapped[2].strip(_MARGINS) if wrapped else ""),
    ):
        try:
            value, end, repairs = read_strict(inner) if inner else (None, -1, frozenset[ReplyRepair]())
        except NotJsonError:
            continue
        if end == len(inner) and not repairs - {ReplyRepair.CLEANED}:
            for taken in _layers(value):
                if accepts(taken):
                    return Decoded(taken, how=how, repairs=tuple(sorted(repairs)))
    return None


def _layers(value: object) -> Iterator[object]:
    """Yield a value and its unwrapped contents: the sole member of an object or list, JSON in a string."""
    for _ in range(4):
        yield value
        if isinstance(value, str):
            try:
                inner, end, _repairs = read_strict(value.strip() or " ")
            except NotJsonError:
                return
            if end != len(value.strip()) or not isinstance(inner, dict | list):
                return
            value = inner
        elif isinstance(value, dict | list) and len(value) == 1:
            value = next(iter(value.values())) if isinstance(value, dict) else value[0]
        else:
            return


def _chosen(found: list[DecodedValue], accepts: _Accepts, part: Part | None) -> Decoded | None:
    if part is not None:
        begin = max((place for place, item in enumerate(found) if item.corrects), default=0)
        read = [(part(item.value), item) for item in found[begin:]]
        whole = [item for entry, item in read if entry is None]
        parts = _since_fence([(entry, item) for entry, item in read if entry is not None])
        answer = _best(whole, accepts) if parts else None
        if answer is None and len(parts) > 1:
            answer = _joined([item for _, item in parts], [entry for entry, _ in parts], accepts)
        if answer is not None:
            return answer
    return _best(found, accepts) or _joined(found, [item.value for item in found], accepts)


def _since_fence(parts: list[tuple[object, DecodedValue]]) -> list[tuple[object, DecodedValue]]:
    """Drop values before the first fence, as talk about the answer."""
    return parts[next((place for place, (_, item) in enumerate(parts) if item.fenced), 0) :]


def _best(found: list[DecodedValue], accepts: _Accepts) -> Decoded | None:
    for item in by_trust(found):
        for taken in _layers(item.value):
            if accepts(taken):
                how = AnswerPlace.FENCE if item.fenced else AnswerPlace.CANDIDATE
                return Decoded(taken, how=how, repairs=tuple(sorted(item.repairs)))
    return None


def _joined(found: list[DecodedValue], values: list[object], accepts: _Accepts) -> Decoded | None:
    if len(values) > 1 and accepts(values):
        repairs = frozenset[ReplyRepair]().union(*(item.repairs for item in found)) | {ReplyRepair.JOINED}
        return Decoded(values, how=AnswerPlace.CANDIDATE, repairs=tuple(sorted(repairs)))
    return None


def _failure(text: str, walked: TextWalk, *, was_cut: bool) -> Decoded:
    if was_cut or walked.cut_off:
        return _failed(DecodeCause.TRUNCATED, "the reply ends before its answer does")
    if not walked.answered or _ONLY_FENCES.match(text):
        return _failed(DecodeCause.EMPTY, "nothing but thinking" if text else "no text")
    if _refuses(text) or any(_is_refusal(item.value) for item in walked.found):
        return _failed(DecodeCause.SAFETY, "the model declined")
    if walked.found:
        return _failed(DecodeCause.MALFORMED, "JSON of another shape than was asked for")
    why = (
        "nested too deeply" if walked.too_deep else "too much that is no JSON" if walked.spent else "no JSON"
    )
    return _failed(DecodeCause.MALFORMED, why)


def _refuses(text: str) -> bool:
    head = " ".join(text[:_HEAD_CHARS].replace("\u2019", "'").casefold().split())
    return head.startswith(REFUSALS)


def _is_refusal(value: object) -> bool:
    return isinstance(value, dict) and any(value.get(key) for key in _REFUSING_KEYS)
