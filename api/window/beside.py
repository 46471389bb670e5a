"""The room of a request's tools: beside its system prompt, its new messages and the turn they go on with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from api.settings import api_settings
from api.window.tools import ToolRoom
from context.budget import Budget
from context.catalog.fit import CatalogOverBudgetError
from context.ending import shortest_tokens
from context.errors import FixedPartOverBudgetError
from context.planning.room import canonical_tokens
from context.tokens.tools import TOOLS_OVERHEAD
from context.turns import opening_of
from context.types import Message


@dataclass(frozen=True)
class Beside:
    """What stands beside the tools of a request, in stored tokens.

    Attributes:
        budget: The window.
        model: Whose window it is.
        system_tokens: The system prompt.
        turn: The new messages, after the stored ones of the turn they go on with.
    """

    budget: Budget
    model: str
    system_tokens: int
    turn: Sequence[Message]

    @property
    def whole(self) -> int:
        """What is left beside the system prompt."""
        return max(canonical_room(self.budget, self.model) - self.system_tokens, 0)

    @property
    def at_first(self) -> int:
        """What was left when the turn began: its results can be shortened, and its tools stay."""
        return max(self.whole - sum(message.tokens for message in opening_of(self.turn)), 0)

    @property
    def at_least(self) -> int:
        """What is left once a turn that goes on is as short as it can be."""
        tokens = sum(message.tokens for message in self.turn)
        return max(self.whole - (tokens if tokens * 2 <= self.whole else shortest_tokens(self.turn)), 0)

    def room_for_tools(self, *, whole: bool) -> ToolRoom:
        """Say what tools may take; those that are not compacted, all that is left."""
        most = max(self.at_least - TOOLS_OVERHEAD, 0)
        share = int(self.at_first * api_settings().tools_max_share)
        return ToolRoom(most if whole else min(share, most), most, whole)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the new messages where tools do not fit that would fit without them.

        Raises:
            CatalogOverBudgetError: The tools are too much even so.
            FixedPartOverBudgetError: The new messages, or the turn they go on with, leave no room.
        """
        try:
            yield
        except CatalogOverBudgetError as error:
            tools = error.needed.tokens + TOOLS_OVERHEAD
            if tools > self.whole:
                raise
            goes_on = any(message.answer_ids for message in self.turn)
            parts = {
                "system_prompt": self.system_tokens,
                "tools": tools,
                "open_turn" if goes_on else "new_messages": shortest_tokens(self.turn),
            }
            budget = canonical_room(self.budget, self.model)
            raise FixedPartOverBudgetError(parts=parts, budget_tokens=budget) from None


def canonical_room(budget: Budget, model: str) -> int:
    """What a window's input takes, in stored tokens instead of the model's own."""
    return canonical_tokens(budget.input_tokens, model)
