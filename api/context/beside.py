"""Room for a request's tools beside the system prompt, the new messages and their open turn."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.context.tools import ToolRoom
from api.settings import api_settings
from context.artifact_plans.needs_plan import canonical_tokens
from context.conversation.turns import opening_of
from context.tokens.budget import Budget
from context.tokens.tools import TOOLS_OVERHEAD
from context.types import Message
from context.window.ending import shortest_tokens


@dataclass(frozen=True)
class Beside:
    """Parts beside a request's tools, in stored tokens.

    Attributes:
        budget: The window.
        model: The answering model.
        system_tokens: The system prompt.
        turn: The new messages, after the stored messages of their turn.
    """

    budget: Budget
    model: str
    system_tokens: int
    turn: Sequence[Message]

    @property
    def whole(self) -> int:
        """Room beside the system prompt."""
        return max(canonical_room(self.budget, self.model) - self.system_tokens, 0)

    @property
    def at_first(self) -> int:
        """Room at the turn's beginning: results can be shortened later, while tools stay."""
        return max(self.whole - sum(message.tokens for message in opening_of(self.turn)), 0)

    @property
    def at_least(self) -> int:
        """Room after shortening a continued turn as far as possible."""
        tokens = sum(message.tokens for message in self.turn)
        return max(self.whole - (tokens if tokens * 2 <= self.whole else shortest_tokens(self.turn)), 0)

    def room_for_tools(self, *, whole: bool) -> ToolRoom:
        """Compute the room for tools: all the rest if uncompacted, otherwise at most `tools_max_share`."""
        most = max(self.at_least - TOOLS_OVERHEAD, 0)
        share = int(self.at_first * api_settings().tools_max_share)
        return ToolRoom(most if whole else min(share, most), most, whole)


def canonical_room(budget: Budget, model: str) -> int:
    """Convert a window's input tokens to stored tokens."""
    return canonical_tokens(budget.input_tokens, model)
