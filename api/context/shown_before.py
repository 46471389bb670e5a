"""History as the newest window showed it, while the provider keeps that window's beginning."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from api.context.beside import canonical_room
from api.context.reported_usage import caches
from context.conversation.turns import NOT_STORED
from context.providers.prompt_cache import is_other_model
from context.tokens.budget import Budget
from context.types import Message
from context.window.activation import Moment, is_cold
from context.window.assemble import Unread
from models.conversations.standing import SessionSnapshot
from models.conversations.summary_settings import compression_settings

FITS_AGAIN = 0.5
"""Share of the room that a session may fill for its hidden history to come back."""

LEAST_TURNS, MESSAGES_OF_STEPS = 2, 4
"""Turns that tell of the next one, and their mean messages in a session of an agent: calls and results."""


@dataclass(frozen=True)
class ShownBefore:
    """What a session's newest window showed.

    Attributes:
        from_seq: The first raw message; 0 for all of them.
        is_bare: True if the open turn has outgrown its beginning: recall and artifacts are gone.
    """

    from_seq: int = 0
    is_bare: bool = False

    def hide(
        self, messages: Sequence[Message], unread: Unread | None
    ) -> tuple[Sequence[Message], Unread | None]:
        """Hide what the window hid: older messages count as unread."""
        kept = [message for message in messages if message.seq >= self.from_seq]
        gone = messages[: len(messages) - len(kept)]
        if not gone:
            return messages, unread
        tokens = sum(message.tokens for message in gone)
        known = unread.tokens if unread else 0
        first = unread.from_seq if unread else gone[0].seq
        return kept, Unread(first, gone[-1].seq, None if known is None else known + tokens)


def shown_before(
    tenant_id: UUID, standing: SessionSnapshot | None, model: str, budget: Budget, turn: Sequence[Message]
) -> ShownBefore:
    """Find what the newest window showed, if its beginning is worth keeping.

    History that comes back changes the beginning as much as history that goes: it waits until the cache is
    cold, a new summary is in force, or all of it takes half of the room.

    Args:
        tenant_id: The session's tenant.
        standing: The session's state; None for an unstored session.
        model: The answering model.
        budget: The window.
        turn: The open turn so far, the new messages included.
    """
    if standing is None or budget.is_narrowed or not caches(tenant_id, model):
        return ShownBefore()
    session = standing.session
    goes_on = any(message.answer_ids for message in turn)
    settings = compression_settings().activation_settings
    if is_other_model(model, session.model) or session.left_out:
        return ShownBefore()
    if goes_on:
        return ShownBefore(session.shown_from, session.bare_from == opening_seq(turn, session.last_seq))
    needed = session.load.input_tokens + sum(message.tokens for message in turn)
    fits_again = needed <= canonical_room(budget, model) * FITS_AGAIN
    if fits_again or is_cold(Moment(model, standing.idle_s), settings):
        return ShownBefore()
    return ShownBefore(session.shown_from)


def expects_steps(standing: SessionSnapshot | None) -> bool:
    """Expect a turn of steps in a session whose turns have as many messages."""
    session = standing.session if standing else None
    if session is None or session.last_turn_index < LEAST_TURNS:
        return False
    return session.last_seq >= MESSAGES_OF_STEPS * session.last_turn_index


def opening_seq(turn: Sequence[Message], last_seq: int) -> int:
    """Name a turn by the place of its first message, stored or not."""
    first = turn[0].seq if turn else NOT_STORED
    return last_seq + 1 if first == NOT_STORED else first
