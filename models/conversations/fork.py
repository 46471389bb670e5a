"""Fork of a session: a new session with a copy of the history up to a turn."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select, text

from context.types import Message
from models.artifacts.use import ArtifactUse, NewUse, PlacedUse, add_uses
from models.conversations.accept import StoredTurn
from models.conversations.log import CHANGED, AcceptedTurn, NewTurn, append_turns
from models.conversations.session import lock_existing
from models.conversations.session_state import SessionState
from models.conversations.summary import NewSummary, SummaryState, list_summaries, store_summary
from models.scope import Scope


@dataclass(frozen=True)
class Fork:
    """A session and the copy of its history.

    Attributes:
        session: The state of the new session.
        summary_version: The copied summary in force; None without one.
        users: True if a copied turn names a user.
    """

    session: SessionState
    summary_version: int | None
    users: bool


_TURNS = text(
    """
    select turn_id, turn_index, first_seq, last_seq, model, context_window, user_id, completed_at
    from turn where tenant_id = :tenant_id and session_id = :source
        and first_seq > :start_seq and last_seq <= :last_seq
    order by turn_index
    """
)
_KEEP_TIMES = text(
    """
    update turn t set body_sha256 = s.body_sha256, received_at = s.received_at
    from turn s
    where t.tenant_id = :tenant_id and t.session_id = :target
        and s.tenant_id = t.tenant_id and s.session_id = :source and s.turn_index = t.turn_index
    """
)
_BEGIN = text(
    """
    update session t set start_seq = :start_seq, max_history_tokens = s.max_history_tokens,
        max_tokens = s.max_tokens, system_tokens = s.system_tokens, tools_tokens = s.tools_tokens,
        unsigned_seq = least(s.unsigned_seq, :last_seq), most_images = s.most_images,
        counts_revision = s.counts_revision,
        removed_seqs = s.removed_seqs * int8multirange(int8range(null, :last_seq, '[]'))
    from session s
    where t.tenant_id = :tenant_id and t.session_id = :target
        and s.tenant_id = t.tenant_id and s.session_id = :source
    """
)


def fork_session(
    scope: Scope,
    source: SessionState,
    begun: SessionState,
    *,
    last: StoredTurn,
    messages: Sequence[Message],
) -> Fork:
    """Begin a session with a copy of another session's history since the last reset.

    Messages keep their numbers and turns their ids, so that the summary in force, or the newest summary below
    without a later message, is copied as it is. Everything else that is derived is made anew.

    Args:
        scope: The tenant's transaction; the caller holds the source's row.
        source: The session to copy.
        begun: The new session, locked, without any turn.
        last: The last turn to copy.
        messages: The messages up to the end of the turn, at least one.
    """
    target_id = begun.session_id
    state = replace(
        begun,
        start_seq=source.start_seq,
        last_seq=last.last_seq,
        last_turn_index=last.turn_index,
        history_tokens=sum(message.tokens for message in messages),
        model=source.model,
        context_window=source.context_window,
    )
    copied = {"source": source.session_id, "target": target_id}
    span = {"start_seq": source.start_seq, "last_seq": last.last_seq}
    rows = scope.execute(_TURNS, **copied, **span).all()
    turns = [_copied(target_id, row, messages) for row in rows]
    fresh = [(turn, place, begun.generation) for turn, place in turns if turn.messages]
    append_turns(scope, fresh, [state])
    scope.execute(_KEEP_TIMES, **copied)
    scope.execute(_BEGIN, **copied, **span)
    _copy_uses(scope, source, target_id, last)
    version = _copy_summary(scope, source, begun, last)
    after = lock_existing(scope, [target_id])[target_id]
    return Fork(after, version, any(row.user_id for row in rows))


def _copied(target_id: str, row: Any, messages: Sequence[Message]) -> tuple[NewTurn, AcceptedTurn]:
    seqs = [message.seq for message in messages]
    mine = messages[bisect_left(seqs, row.first_seq) : bisect_right(seqs, row.last_seq)]
    turn = NewTurn(
        session_id=target_id,
        turn_id=row.turn_id,
        body_sha256=CHANGED,
        messages=mine,
        model=row.model,
        context_window=row.context_window,
        user_id=row.user_id,
        completed_at=row.completed_at,
    )
    return turn, AcceptedTurn(target_id, row.turn_id, row.turn_index, row.first_seq, row.last_seq)


def _copy_uses(scope: Scope, source: SessionState, target_id: str, last: StoredTurn) -> None:
    """Copy the places of large results: the contents belong to both sessions from now on."""
    rows = scope.db.execute(
        select(ArtifactUse.__table__).where(
            ArtifactUse.tenant_id == scope.tenant_id,
            ArtifactUse.session_id == source.session_id,
            ArtifactUse.seq > source.start_seq,
            ArtifactUse.seq <= last.last_seq,
        )
    ).all()
    cells = scope.cells
    uses = [
        NewUse(
            message=0,
            place=row.place,
            artifact_id=row.artifact_id,
            source=row.source,
            tool=row.tool,
            subject=cells.open("artifact_use.subject", row.subject, source.session_id, row.seq, row.place),
            writes=row.writes,
            saved=(row.saved_tokens, row.saved_tokens_wide),
        )
        for row in rows
    ]
    placed = [PlacedUse(target_id, row.turn_index, row.seq, use) for row, use in zip(rows, uses, strict=True)]
    add_uses(scope, placed)


def _copy_summary(scope: Scope, source: SessionState, begun: SessionState, last: StoredTurn) -> int | None:
    """Put the newest summary of the source without a later message in force in the new session."""
    versions = {summary.version: summary for summary in list_summaries(scope, source.session_id)}
    found = next((one for one in versions.values() if one.state == SummaryState.ACTIVE), None)
    while found is not None and found.to_seq > last.last_seq:
        found = versions.get(found.base_version or 0)
    if found is None or found.generation != source.generation:
        return None
    new = NewSummary(
        generation=begun.generation,
        base_version=None,
        **{name: getattr(found, name) for name in _COPIED},
    )
    return store_summary(scope, begun.session_id, new, activate=True)


_COPIED = (
    "from_seq",
    "to_seq",
    "text",
    "tokens",
    "covered_tokens",
    "model",
    "method",
    "prompt_version",
    "language",
    "tainted",
)
