"""What holds for every generated window in every pair of formats."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.types import JsonObject, Wire
from context.wire import LossKind, check_pairs, convert
from context.wire.formats import format_of
from context.wire.neutral import losses_of
from tests.unit.wire.windows import assert_same_said, kinds, there, window

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).map(
    lambda s: f"w{s}"
)
IMAGE = st.sampled_from(
    ["https://example.org/a.png", "data:image/png;base64,AAAA", "http://example.org/b.png"]
)
IDS = st.sampled_from(["call_0", "call_1", "toolu_7", "a|b:c", "x" * 70])
VALUES = st.recursive(
    st.none() | st.integers() | WORDS, lambda inner: st.lists(inner, max_size=2), max_leaves=4
)
FEW = settings(max_examples=40, deadline=None)
PAIRS = [(a, b) for a in Wire for b in Wire if a is not b]


@st.composite
def users(draw: st.DrawFn) -> JsonObject:
    parts: list[JsonObject] = [{"type": "text", "text": draw(WORDS)}]
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in draw(st.lists(IMAGE, max_size=2))]
    body: JsonObject = {"role": "user", "content": draw(st.sampled_from([parts, parts[0]["text"]]))}
    return body | draw(st.sampled_from([{}, {"name": "ana"}]))


@st.composite
def rounds(draw: st.DrawFn) -> list[JsonObject]:
    """One assistant message with parallel calls, and their answers in any order."""
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    functions = [{"name": "read", "arguments": _arguments(draw)} for _ in ids]
    calls = [{"id": i, "type": "function", "function": f} for i, f in zip(ids, functions, strict=True)]
    content = draw(st.sampled_from([None, "", "Let me see."]))
    answers = [{"role": "tool", "tool_call_id": i, "content": draw(st.just("") | WORDS)} for i in ids]
    return [{"role": "assistant", "content": content, "tool_calls": calls}, *draw(st.permutations(answers))]


def _arguments(draw: st.DrawFn) -> str:
    return draw(
        st.sampled_from(["", "not json", "[1]"]) | st.dictionaries(WORDS, VALUES, max_size=2).map(json.dumps)
    )


@st.composite
def chats(draw: st.DrawFn) -> list[JsonObject]:
    bodies: list[JsonObject] = draw(st.sampled_from([[], [{"role": "system", "content": "Be brief."}]]))
    for _ in range(draw(st.integers(1, 4))):
        bodies = [*bodies, draw(users())]
        for _ in range(draw(st.integers(0, 2))):
            bodies += draw(rounds())
        bodies += [{"role": "assistant", "content": draw(WORDS)}]
    return bodies


@pytest.mark.parametrize("wire", Wire)
@FEW
@given(chat=chats())
def test_every_format_gets_a_window_that_its_provider_takes(wire: Wire, chat: list[JsonObject]) -> None:
    assert check_pairs(convert(window(chat), wire).bodies(), wire) == []


@pytest.mark.parametrize(("own", "other"), PAIRS)
@FEW
@given(chat=chats())
def test_only_listed_losses_lie_between_a_window_and_its_return(
    own: Wire, other: Wire, chat: list[JsonObject]
) -> None:
    start = there(window(chat), own)
    out = convert(start, other)
    back = convert(window(out.bodies(), other), own)
    assert_same_said(start, window(back.bodies(), own), [*out.dropped, *back.dropped])


@pytest.mark.parametrize("wire", Wire)
@FEW
@given(chat=chats())
def test_a_stored_message_in_the_target_format_is_never_touched(wire: Wire, chat: list[JsonObject]) -> None:
    stored = there(window(chat), wire)
    assert convert(stored, wire).items == tuple(message.raw for message in stored)


@FEW
@given(chat=chats(), wire=st.sampled_from(Wire), cut=st.integers(0, 30))
def test_a_session_that_changes_its_format_midway_still_pairs(
    chat: list[JsonObject], wire: Wire, cut: int
) -> None:
    bounds = [i for i, body in enumerate(chat) if body["role"] == "user"]
    at = bounds[cut % len(bounds)]
    system_apart = [body for body in chat[:at] if body["role"] != "system"]
    for to in Wire:
        mixed = [*there(window(system_apart), wire), *window(chat[at:])]
        assert check_pairs(convert(mixed, to).bodies(), to) == []


@FEW
@given(chat=chats(), wire=st.sampled_from(Wire), to=st.sampled_from(Wire))
def test_what_a_reader_cannot_read_is_always_listed(chat: list[JsonObject], wire: Wire, to: Wire) -> None:
    odd = [{**body, "x_extra": 1} if body["role"] == "user" else body for body in chat]
    stored = window(odd) if wire is Wire.OPENAI else there(window(odd), wire)
    lost = [loss for m in stored if wire is not to for e in format_of(wire).read(m) for loss in losses_of(e)]
    dropped: list[Any] = list(convert(stored, to).dropped)
    assert [loss for loss in lost if loss not in dropped] == []
    if wire is Wire.OPENAI and to is not wire:
        assert LossKind.FIELDS in kinds(dropped)
