"""A list of tools, with all that is found out of its definitions: once, as long as the list is kept."""

from collections.abc import Callable, Sequence
from functools import cached_property

from context.catalog.tools import ToolLadder, ToolSizes, containers
from context.ranking.index import RankingIndex, index_tools
from context.types import JsonObject

TEXT_COPIES = 10
"""Memory of definitions and all that is found out of them, against the bytes of their text."""

TOOL_BYTES = 2_000
"""Memory of a tool beside that of its text."""

LIST_BYTES = 30_000
"""Memory of a list beside that of its tools."""


def weigh_tools(text_bytes: int, tools: int) -> int:
    """Estimate the memory of a number of tools, in bytes, with index, levels of brevity and sizes.

    Measured: 240 kB for 64 tools of 14 kB, .8 MB for 100 of 77 kB, 5.8 MB for 739 of 570 kB.
    """
    return LIST_BYTES + TEXT_COPIES * text_bytes + TOOL_BYTES * tools


class ToolList:
    """Tool definitions of a request or a catalog, never changed."""

    def __init__(
        self,
        tools: Sequence[JsonObject],
        index: Callable[[], RankingIndex] | None = None,
        sizes: Callable[[], ToolSizes | None] = lambda: None,
    ) -> None:
        """Take the definitions.

        Args:
            tools: The definitions.
            index: Finds their index; None to make it of the definitions.
            sizes: Finds their sizes; None if they were not measured before.
        """
        self.tools = tools
        self._find_index, self._find_sizes = index, sizes

    @cached_property
    def index(self) -> RankingIndex:
        """The ranking index."""
        return self._find_index() if self._find_index else index_tools(self.tools)

    @cached_property
    def ladder(self) -> ToolLadder:
        """The definitions at every level of brevity, with the sizes that were measured before."""
        return ToolLadder(self.tools, self._find_sizes())

    @cached_property
    def names(self) -> list[str]:
        """Names of the tools, without nameless tools."""
        return [name for name in self.ladder.names if name]

    @cached_property
    def containers(self) -> frozenset[str]:
        """Names of tools with other tools inside."""
        return containers(self.tools)
