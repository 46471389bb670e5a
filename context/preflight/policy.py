"""Needs of each category: tools, share of memory, level of thought."""

from context.preflight.types import THINKING_ORDER, Category, MemoryParams, ThinkingLevel

_TOOLS = {
    Category.CASUAL: "message",
    Category.RESEARCH: "exec web_fetch web_search message read",
    Category.CODING: "exec read write edit apply_patch process message",
    Category.CRYPTO: "exec message web_fetch web_search",
    Category.MEDIA: "exec message",
    Category.MONITORING: "exec message",
    Category.MEMORY: "memory_search memory_get message",
}
TOOLS = {category: tuple(names.split()) for category, names in _TOOLS.items()}
"""Tools by category, without `complex`, which needs all of them."""

KNOWN_TOOLS = frozenset(name for names in TOOLS.values() for name in names)
"""The tools named in the table."""

FULL_MEMORY = MemoryParams(15, 500)
MEMORY = {
    Category.CASUAL: MemoryParams(0, 0),
    Category.RESEARCH: MemoryParams(10, 400),
    Category.CODING: MemoryParams(5, 200),
    Category.CRYPTO: MemoryParams(8, 300),
    Category.MEDIA: MemoryParams(3, 150),
    Category.MONITORING: MemoryParams(3, 150),
    Category.MEMORY: MemoryParams(25, 1000),
    Category.COMPLEX: FULL_MEMORY,
}

DEFAULT_THINKING = ThinkingLevel.LOW
THINKING = {
    Category.CASUAL: ThinkingLevel.OFF,
    Category.RESEARCH: ThinkingLevel.LOW,
    Category.CODING: ThinkingLevel.MEDIUM,
    Category.CRYPTO: ThinkingLevel.MEDIUM,
    Category.MEDIA: ThinkingLevel.OFF,
    Category.MONITORING: ThinkingLevel.OFF,
    Category.MEMORY: ThinkingLevel.LOW,
    Category.COMPLEX: ThinkingLevel.HIGH,
}


def highest(levels: list[ThinkingLevel]) -> ThinkingLevel:
    """The highest of several levels; the default of none."""
    return max(levels, key=THINKING_ORDER.index, default=DEFAULT_THINKING)


def widest(params: list[MemoryParams]) -> MemoryParams:
    """Return the most permissive of several parameters, each number for itself; full memory for none."""
    if not params:
        return FULL_MEMORY
    found = MemoryParams(0, 0)
    for one in params:
        found = found.widest(one)
    return found
