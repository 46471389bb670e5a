"""Cache marks of a request: four in all, by Anthropic's limit, wherever the caller puts them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.providers.prompt_cache import cache_rule
from context.shape.rule_names import MARKS_OF_TOOLS, few_tool_marks
from context.types import JsonObject, Wire
from context.window.cache_marks import Prefix, place_marks
from tests.unit.shape.windows import HELLO, lay, sent

MARK = {"cache_control": {"type": "ephemeral"}}
CLAUDE = "claude-sonnet-4-5"
OVER_CHAT = "openrouter/anthropic/claude-sonnet-4.5"
MOST = 4


def marks_of(value: Any) -> int:
    """How many marks stand anywhere in a value."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks_of, value.values()))
    return sum(map(marks_of, value)) if isinstance(value, list) else 0


def spoken(marks: int) -> JsonObject:
    """A message of a user with so many marked parts behind one without."""
    parts = [{"type": "text", "text": "plain"}]
    return {
        "role": "user",
        "content": parts + [{"type": "text", "text": f"{n}", **MARK} for n in range(marks)],
    }


def answered(place: int) -> list[JsonObject]:
    """A call and its result in blocks, with marks on the result and inside it."""
    inside = [{"type": "text", "text": "found", **MARK}]
    use = {"type": "tool_use", "id": f"c{place}", "name": "look", "input": {}, **MARK}
    found = {"type": "tool_result", "tool_use_id": f"c{place}", "content": inside, **MARK}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [found]}]


def tools_of(marks: int, *, chat: bool) -> list[JsonObject]:
    """Three plain tools, then marked ones."""
    made: list[JsonObject] = []
    for place in range(3 + marks):
        own: JsonObject = {"name": f"t{place}", "description": "Does it."}
        mark = MARK if place >= 3 else {}
        made.append({"type": "function", "function": {**own, **mark}} if chat else {**own, **mark})
    return made


@given(
    wire=st.sampled_from((Wire.OPENAI, Wire.ANTHROPIC)),
    said=st.lists(st.integers(0, 5), min_size=1, max_size=5),
    of_tools=st.integers(0, 6),
)
def test_messages_tools_system_and_our_own_marks_are_four_at_most(
    wire: Wire, said: list[int], of_tools: int
) -> None:
    model = CLAUDE if wire is Wire.ANTHROPIC else OVER_CHAT
    window = lay([HELLO, {"role": "assistant", "content": "yes"}], model, wire, new=list(map(spoken, said)))
    tools = few_tool_marks(tools_of(of_tools, chat=wire is Wire.OPENAI), takes_marks=True)
    items, marked = window.items, tools
    if wire is Wire.ANTHROPIC:
        prefix = Prefix(9_000, 9_000, 9_000, goes_on=True)
        items, defined = place_marks(window.items, tools, prefix, cache_rule(model))
        marked = defined or []
    own_system = 1
    assert marks_of([json.loads(item) for item in items]) + marks_of(marked) + own_system <= MOST
    assert marks_of(sent(window)) == min(sum(said), 2)
    assert window.certificate.accepted_shape.accepted
    assert ("stored-cache-marks" in window.certificate.accepted_shape.rules) is (sum(said) > 2)


def test_the_last_marks_of_several_messages_stay() -> None:
    window = lay(
        [HELLO, {"role": "assistant", "content": "yes"}], CLAUDE, Wire.ANTHROPIC, new=[spoken(1)] * 4
    )
    parts = [part for body in sent(window) if isinstance(body["content"], list) for part in body["content"]]
    marked = [place for place, part in enumerate(parts) if "cache_control" in part]
    assert marked == [len(parts) - 3, len(parts) - 1]


def test_marks_inside_results_count_too() -> None:
    new = [{"role": "user", "content": "look"}, *answered(1), *answered(2)]
    window = lay([HELLO, {"role": "assistant", "content": "yes"}], CLAUDE, Wire.ANTHROPIC, new=new)
    assert marks_of(sent(window)) == 2
    assert marks_of(sent(window)[-1]) == 2
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize("chat", [True, False])
def test_the_last_marked_tool_keeps_its_mark(chat: bool) -> None:
    few = few_tool_marks(tools_of(4, chat=chat), takes_marks=True)
    assert [marks_of(tool) for tool in few] == [0] * 6 + [MARKS_OF_TOOLS]
    assert marks_of(few_tool_marks(tools_of(4, chat=chat), takes_marks=False)) == 0


def test_few_marks_stay_as_they_are() -> None:
    tools = tools_of(1, chat=False)
    assert all(a is b for a, b in zip(few_tool_marks(tools, takes_marks=True), tools, strict=True))
    before = [HELLO, {"role": "assistant", "content": "yes"}]
    assert sent(lay(before, CLAUDE, Wire.ANTHROPIC, new=[spoken(2)]))[-1] == spoken(2)
