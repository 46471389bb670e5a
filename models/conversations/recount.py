"""Correcting token counts of old sessions: an earlier revision passed over some fields of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, text, update

from context.errors import AfterturnError
from context.tokens.message import counted_now
from context.types import Message
from models.conversations.history import load_oldest
from models.conversations.session import Session, lock_existing
from models.conversations.session_state import COUNTS_REVISION, SessionState
from models.database import Transaction, read_transaction, transaction
from models.scope import Scope

STEP_MESSAGES = 500
"""Number of a session's messages read at once."""

MOST_SESSIONS = 500
MOST_MESSAGES = 10_000
"""Number of messages checked in a run; the next run goes on."""


@dataclass(frozen=True)
class _Place:
    tenant_id: UUID
    session_id: str
    generation: int
    last_seq: int


def recount_old_sessions(most_messages: int = MOST_MESSAGES) -> int:
    """Correct the counts of some old sessions; each session is locked only for the writing of the counts.

    Safe to run twice and at once: a message's count changes only from the count read before.

    Args:
        most_messages: After this number of messages no further session is begun.

    Returns:
        Number of corrected sessions.
    """
    done = messages = 0
    for place in _waiting():
        if messages >= most_messages:
            break
        try:
            changed, seen = _changes(place)
        except AfterturnError:
            changed, seen = {}, 0  # nobody can read it any more: there is nothing to count
        messages += seen
        with transaction() as db:
            done += _settle(db, place, changed)
    return done


def _waiting() -> Sequence[_Place]:
    with read_transaction() as db:
        rows = db.execute(
            select(Session.tenant_id, Session.session_id, Session.generation, Session.last_seq)
            .where(Session.counts_revision < COUNTS_REVISION)
            .order_by(Session.tenant_id, Session.session_id)
            .limit(MOST_SESSIONS)
        )
        return [_Place(*row) for row in rows]


def _changes(place: _Place) -> tuple[dict[int, tuple[Message, Message]], int]:
    """Recount a session's messages. Returns old and new for changed counts, and the number of messages."""
    changed: dict[int, tuple[Message, Message]] = {}
    after = seen = 0
    while after < place.last_seq:
        with Scope.read(place.tenant_id) as scope:
            part = load_oldest(
                scope,
                place.session_id,
                after_seq=after,
                up_to_seq=place.last_seq,
                most=STEP_MESSAGES,
            )
        for old in part:
            new = counted_now(old)
            if (new.tokens, new.tokens_wide) != (old.tokens, old.tokens_wide):
                changed[old.seq] = old, new
        seen += len(part)
        after = part[-1].seq if len(part) == STEP_MESSAGES else place.last_seq
    return changed, seen


def _settle(db: Transaction, place: _Place, changed: Mapping[int, tuple[Message, Message]]) -> bool:
    """Write the counts of a session, unless changed or erased since: the next run looks again."""
    session = lock_existing(Scope(db, place.tenant_id), [place.session_id]).get(place.session_id)
    if session is None or session.generation != place.generation:
        return False
    values: dict[str, object] = {"counts_revision": COUNTS_REVISION}
    if changed:
        values |= _grown(session, _rewrite(db, place, changed))
    db.execute(
        update(Session)
        .where(Session.tenant_id == place.tenant_id, Session.session_id == place.session_id)
        .values(values)
    )
    return True


_REWRITE = text(
    """
    update message set tokens = n.tokens, tokens_wide = n.wide
    from unnest(cast(:seqs as bigint[]), cast(:before as int[]), cast(:tokens as int[]), cast(:wide as int[]))
        as n (seq, before, tokens, wide)
    where tenant_id = :tenant_id and session_id = :session_id and message.seq = n.seq
        and message.tokens = n.before
    returning message.seq, message.turn_index, n.tokens - n.before
    """
)
_TURNS = text(
    """
    update turn set tokens = turn.tokens + g.growth
    from unnest(cast(:indexes as int[]), cast(:growths as bigint[])) as g (turn_index, growth)
    where tenant_id = :tenant_id and session_id = :session_id and turn.turn_index = g.turn_index
    """
)


def _rewrite(
    db: Transaction, place: _Place, changed: Mapping[int, tuple[Message, Message]]
) -> dict[int, int]:
    """Write the counts of messages and turns. Returns the growth of each message."""
    where = {"tenant_id": place.tenant_id, "session_id": place.session_id}
    counts = {
        "seqs": list(changed),
        "before": [old.tokens for old, _ in changed.values()],
        "tokens": [new.tokens for _, new in changed.values()],
        "wide": [new.tokens_wide or new.tokens for _, new in changed.values()],
    }
    rows = db.execute(_REWRITE, where | counts).all()
    turns: dict[int, int] = {}
    for _, turn_index, growth in rows:
        turns[turn_index] = turns.get(turn_index, 0) + growth
    if turns:
        db.execute(_TURNS, where | {"indexes": list(turns), "growths": list(turns.values())})
    return {seq: growth for seq, _, growth in rows}


def _grown(session: SessionState, growth: Mapping[int, int]) -> dict[str, object]:
    """Compute a session's sums after a growth of messages: tokens shown, and tokens covered by summaries."""

    def grown(tokens: int, through_seq: int) -> int:
        covered = range(session.start_seq + 1, through_seq + 1)
        return max(tokens + sum(by for seq, by in growth.items() if seq in covered), 0)

    return {
        "history_tokens": grown(session.history_tokens, session.last_seq),
        "summarized_tokens": grown(session.summarized_tokens, session.summarized_seq),
        "prepared_tokens": grown(session.prepared_tokens, session.prepared_seq),
    }
