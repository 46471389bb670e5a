"""Earlier messages as the newest window showed them, while the provider keeps that window's beginning."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from api.context.artifact_question import Room
from api.context.reported_usage import caches
from api.turns.large_results import restore_messages
from context.artifact_plans.needs_plan import canonical_tokens
from context.artifact_plans.strategies import EXTRACT_TOKENS
from context.artifacts.split import choose_in_place, pointed_artifacts
from context.conversation.turns import NOT_STORED
from context.providers.prompt_cache import is_other_model
from context.tokens.budget import Budget
from context.types import Message
from context.window.activation import Moment, is_cold
from context.window.assemble import Unread
from models.artifacts.use import result_sizes
from models.conversations.session_state import SessionState
from models.conversations.settings import compression_settings
from models.conversations.standing import SessionSnapshot
from models.read_ahead import ReadAhead
from models.scope import Scope

FREE_SHARE = 0.9
"""Share of results in place in the room left by history; recall has the rest."""


def put_in_place(
    tenant_id: UUID,
    session: SessionState,
    before: Sequence[Message],
    room: Room,
    ahead: ReadAhead | None = None,
) -> tuple[Sequence[Message], tuple[str, ...]]:
    """Put results back into the turns before the present turn, as far as cheap.

    A usual turn of the session needs room too, and so do extracts of the results left out.

    Args:
        tenant_id: The session's tenant.
        session: The session.
        before: The raw messages of earlier turns, oldest first.
        room: Room for artifacts beside the messages.
        ahead: Rows of the session that were read ahead; None for none.

    Returns:
        As many messages, and the shown artifacts.
    """
    pointing = [message.seq for message in before if message.answer_ids and pointed_artifacts(message)]
    if not pointing:
        return before, ()
    usual_turn = session.history_tokens // max(session.last_turn_index, 1)
    most = int((room.whole - room.raw - usual_turn) * FREE_SHARE)
    if room.has_attachments:
        most = min(most, room.for_artifacts)
    session_id = session.session_id
    bounds = {"from_seq": pointing[0], "to_seq": pointing[-1]}
    with Scope.read(tenant_id) as scope:
        sizes = ahead.result_sizes(**bounds) if ahead else None
        if sizes is None:
            sizes = result_sizes(scope, session_id, **bounds)
        known = {seq: sizes[seq] for seq in pointing if seq in sizes}
        chosen = choose_in_place(known, most_tokens=most, room_tokens=room.whole)
        behind = sum(min(tokens, EXTRACT_TOKENS) for seq, tokens in known.items() if seq not in chosen)
        if behind:
            chosen = choose_in_place(known, most_tokens=most - behind, room_tokens=room.whole)
        if not chosen:
            return before, ()
        wanted = [message for message in before if message.seq in chosen]
        restored = restore_messages(scope, session_id, wanted)
    whole = {message.seq: message for message in restored}
    shown = dict.fromkeys(one for message in wanted for one in pointed_artifacts(message))
    return [whole.get(message.seq, message) for message in before], tuple(shown)


FITS_AGAIN = 0.75
"""Share of the room that a session may fill for its hidden history to come back; more is cut again soon."""


@dataclass(frozen=True)
class ShownBefore:
    """Messages shown by a session's newest window.

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
    cold, a new summary is in force, or all of it fits with room for the next turns.

    Args:
        tenant_id: The session's tenant.
        standing: The session's state; None for an unstored session.
        model: The answering model.
        budget: The window.
        turn: The open turn so far, the new messages included.
    """
    if standing is None or budget.is_narrowed:
        return ShownBefore()
    if not caches(tenant_id, model, most_tokens=budget.input_tokens):
        return ShownBefore()
    session = standing.session
    goes_on = any(message.answer_ids for message in turn)
    settings = compression_settings().activation_settings
    if is_other_model(model, session.model) or session.left_out:
        return ShownBefore()
    if goes_on:
        return ShownBefore(session.shown_from, session.bare_from == opening_seq(turn, session.last_seq))
    needed = session.load.input_tokens + sum(message.tokens for message in turn)
    room = canonical_tokens(budget.history_room(budget.input_tokens), model)
    fits_again = needed <= room * FITS_AGAIN
    if fits_again or is_cold(Moment(model, standing.idle_s), settings):
        return ShownBefore()
    return ShownBefore(session.shown_from)


def opening_seq(turn: Sequence[Message], last_seq: int) -> int:
    """Name a turn by the place of its first message, stored or not."""
    first = turn[0].seq if turn else NOT_STORED
    return last_seq + 1 if first == NOT_STORED else first
