"""Tools that a message asks for by name are found in any list, and lists cost no memory for long."""

import tracemalloc

from context.preflight.choose_tools import choose_tools, named_tools
from context.preflight.config import PreflightRules


def test_a_tool_that_is_asked_for_by_name_is_found_in_a_long_list() -> None:
    tools = [f"other_{number}" for number in range(5_000)]
    assert named_tools([*tools, "book-Berth"], ["please", "book", "berth"]) == ["book-Berth"]


def _kept_bytes(calls: int, names: int, chars: int) -> int:
    """How much memory lists of names, none of them twice, leave behind."""
    tracemalloc.start()
    try:
        for call in range(calls):
            named_tools([f"t_{call}_{number}_".ljust(chars, "x") for number in range(names)], ["hey"])
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_long_lists_are_not_kept() -> None:
    assert _kept_bytes(calls=10, names=2_000, chars=60) < 100_000


def test_long_names_are_not_kept() -> None:
    assert _kept_bytes(calls=10, names=400, chars=340) < 100_000


def test_the_same_call_names_its_tools_in_the_same_order_in_every_process() -> None:
    """Sets of words and of pinned names are ordered by each process's own hashes."""
    pinned, names = [f"pinned_{number}" for number in range(50)], [f"w{number}_x" for number in range(50)]
    chosen, _ = choose_tools(["wanted"], None, pinned=set(pinned), config=PreflightRules())
    assert chosen == ("wanted", *sorted(pinned))
    words = [word for name in names for word in name.split("_")]
    assert named_tools(names[::-1], words) == names
