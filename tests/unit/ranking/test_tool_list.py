"""Tools of a list are worked on once, and the memory of that is estimated well enough to bound a cache."""

import gc
import json
import types
from sys import getsizeof

import pytest

from context.ranking.rank import rank
from context.ranking.tool_list import ToolList, weigh_tools
from context.types import JsonObject

OF_THE_PROGRAM = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)


def made(count: int, words: int) -> list[JsonObject]:
    """Tools with descriptions of some words out of some two hundred."""
    return [
        {
            "type": "function",
            "function": {
                "name": f"weigh_{number}",
                "description": " ".join(f"crate{(number * 7 + word * 3) % 211}" for word in range(words)),
                "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}},
            },
        }
        for number in range(count)
    ]


def memory_of(root: object, known: set[int]) -> int:
    """Add up the sizes of all that an object leads to, without what is known and the program's own."""
    total, left = 0, [root]
    while left:
        one = left.pop()
        if id(one) not in known and not isinstance(one, OF_THE_PROGRAM):
            known.add(id(one))
            total += getsizeof(one)
            left += gc.get_referents(one)
    return total


def work_on(listed: ToolList) -> None:
    """Find out all that a request may want of tools."""
    rank(listed.index, "weigh the crate")
    for level in range(listed.ladder.levels):
        listed.ladder.size(range(listed.ladder.entries), level)
    assert listed.names
    assert not listed.containers


@pytest.mark.parametrize(("count", "words"), [(2, 10), (16, 10), (64, 10), (100, 100), (400, 20)])
def test_the_estimated_memory_of_tools_is_that_of_all_that_is_found_out_of_them(
    count: int, words: int
) -> None:
    other, tools = ToolList(made(1, 1)), made(count, words)
    work_on(other)
    known: set[int] = set()
    memory_of(other, known)
    listed = ToolList(tools)
    work_on(listed)
    estimated = weigh_tools(len(json.dumps(tools)), count)
    assert estimated / 2 <= memory_of(listed, known) <= estimated * 1.5


def test_nothing_of_a_list_is_found_out_twice() -> None:
    listed = ToolList(made(3, 5))
    work_on(listed)
    assert listed.index is listed.index
    assert listed.ladder is listed.ladder
    assert listed.names == ["weigh_0", "weigh_1", "weigh_2"]
