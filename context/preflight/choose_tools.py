"""Choice among the caller's tools: tools needed by the categories, and tools that must stay."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from context.preflight.by_category import TOOLS
from context.preflight.config import PreflightConfig
from context.preflight.types import Category

_CALLING = frozenset({"use", "using", "call", "calling", "run", "with", "via", "through", "invoke", "tool"})
_LISTS_KEPT = 64
_MOST_KEPT = 500
_MOST_CHARS_KEPT = 20_000
"""Length of the longest cached list of tools, so that callers do not decide the memory taken."""


def wanted_tools(categories: Sequence[Category], config: PreflightConfig) -> tuple[str, ...]:
    """List the tools needed by the categories, the tenant's additions, and the tools that always stay."""
    wanted: dict[str, None] = {}
    for category in categories:
        wanted.update(dict.fromkeys(TOOLS.get(category, ())))
    for category in categories:
        if category in config.categories:
            wanted.update(dict.fromkeys(config.categories[category].extra_tools))
    wanted.update(dict.fromkeys(config.always_include))
    return tuple(wanted)


def choose_tools(
    wanted: Sequence[str],
    tools: Sequence[str] | None,
    *,
    pinned: Collection[str],
    config: PreflightConfig,
) -> tuple[tuple[str, ...] | None, str]:
    """Choose among the caller's tools, never adding any.

    Args:
        wanted: The tools needed by the categories.
        tools: The caller's names, in order; None if not given.
        pinned: Names that stay for any message.
        config: The policy.

    Returns:
        The names that stay, in the caller's order, or None if all stay; and the reason.
    """
    if tools is None:
        return tuple(dict.fromkeys([*wanted, *pinned])), "tools.by_category"
    judged = config.known_tools.intersection(tools)
    if not judged:
        return None, "tools.not_in_the_table"
    needed = set(wanted)
    if judged.isdisjoint(needed) and not needed.issubset(config.always_include):
        return None, "tools.none_of_those_needed"
    needed.update(pinned)
    return tuple(name for name in tools if name in needed), "tools.by_category"


def named_tools(tools: Sequence[str], words: Sequence[str]) -> list[str]:
    """List the tools requested by name in a message; `words` are the message's words, folded, in order."""
    is_kept = len(tools) <= _MOST_KEPT and sum(map(len, tools)) <= _MOST_CHARS_KEPT
    by_head = (_by_head if is_kept else _by_head.__wrapped__)(tuple(tools))
    return [name for head in by_head.keys() & set(words) for name in by_head[head] if is_named(name, words)]


@lru_cache(_LISTS_KEPT)
def _by_head(tools: tuple[str, ...]) -> dict[str, list[str]]:
    """The same tools come with request after request."""
    found: dict[str, list[str]] = {}
    for name in tools:
        found.setdefault(_folded(name).partition("_")[0], []).append(name)
    return found


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def is_named(name: str, words: Sequence[str]) -> bool:
    """Tell whether a message requests a tool by name.

    Args:
        name: The tool's name.
        words: The message's words, folded, in order.

    Returns:
        True if all words of a longer name stand together, or a single word follows "use", "call", "with the".
    """
    parts = tuple(_folded(name).split("_"))
    for place, word in enumerate(words):
        if word == parts[0] and tuple(words[place : place + len(parts)]) == parts:
            before = [one for one in words[max(place - 2, 0) : place] if one != "the"]
            if len(parts) > 1 or (before and before[-1] in _CALLING):
                return True
    return False
