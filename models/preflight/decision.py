"""The record of preflight decisions: categories, kept and hidden tools, and the tools called by the turn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Double,
    Index,
    Text,
    and_,
    func,
    select,
    text,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from context.conversation.tool_calls import read_calls
from context.preflight.config import KNOWN_TOOLS
from context.preflight.replay import PastDecision, past_categories
from context.preflight.types import Evidence, Preflight, Previous
from context.text.sanitize import MAX_TOOL_NAME_CHARS
from context.types import JsonObject, Message, Role, Wire
from models.base import Base, CreatedAt, TenantKey, run_after_create
from models.conversations.log import TurnRow
from models.database import Transaction
from models.encryption.keys import TextCipher
from models.scope import Scope

PAGE = 500
"""Number of decisions read or joined at a time."""

MOST_NAMES = 200
"""Maximum number of tool names kept with a decision, names known to preflight first."""
LEFT_OUT = "record.names_left_out."
"""Prefix of the reason with the number of names left out of a decision."""


class PreflightDecisionRow(Base):
    """A decision. The session may have no turn yet; a trigger deletes the decision with the session."""

    __tablename__ = "preflight_decision"
    __table_args__ = (
        Index(None, "tenant_id", "decided_at"),
        Index(
            None,
            "tenant_id",
            "session_id",
            "turn_index",
            postgresql_where=text("session_id is not null"),
        ),
        CheckConstraint("confidence between 0 and 1", name="confidence_is_a_share"),
        CheckConstraint("turn_index is null or session_id is not null", name="a_turn_has_a_session"),
        CheckConstraint("(used is null) = (joined_at is null)", name="what_is_joined_was_used"),
        CheckConstraint("(relabelled is null) = (relabelled_at is null)", name="labels_have_a_time"),
        CheckConstraint("chars >= 0", name="chars_are_counted"),
    )

    tenant_id: Mapped[TenantKey]
    decision_id: Mapped[UUID] = mapped_column(primary_key=True, server_default=text("uuidv7()"))
    session_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    turn_index: Mapped[int | None]
    policy_version: Mapped[int]
    categories: Mapped[list[str]] = mapped_column(ARRAY(Text))
    scores: Mapped[dict[str, Any]]
    features: Mapped[dict[str, Any]]
    chars: Mapped[int]
    confidence: Mapped[float] = mapped_column(Double)
    previous: Mapped[dict[str, Any] | None]
    reasons: Mapped[list[str]] = mapped_column(ARRAY(Text))
    kept: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    hidden: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    pinned: Mapped[list[str]] = mapped_column(ARRAY(Text))
    decided_at: Mapped[CreatedAt]
    used: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    joined_at: Mapped[datetime | None]
    relabelled: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    relabelled_at: Mapped[datetime | None]


# A decision comes before the first turn of the session, so no foreign key can bind decision and session.
run_after_create(
    """
create function forget_preflight_decisions() returns trigger language plpgsql as $$
begin
    delete from preflight_decision where tenant_id = old.tenant_id and session_id = old.session_id;
    return null;
end
$$
""",
    """
create trigger forget_preflight_decisions after delete on session
    for each row execute function forget_preflight_decisions()
""",
)


@dataclass(frozen=True)
class Made:
    """A new decision, with the inputs.

    Attributes:
        found: The decision.
        session_id: The session; None without a session.
        turn_index: The following turn, >= 1; None without a session.
        previous: The session's previous topic.
        tools: The caller's tools; None when not given.
        pinned: Tools that had to stay.
    """

    found: Preflight
    session_id: str | None
    turn_index: int | None
    previous: Previous | None
    tools: Sequence[str] | None
    pinned: Sequence[str]


_KINDS = {
    "turn_index": "integer",
    "policy_version": "integer",
    "categories": "text[]",
    "scores": "jsonb",
    "features": "jsonb",
    "chars": "integer",
    "confidence": "float8",
    "previous": "jsonb",
    "reasons": "text[]",
    "kept": "text[]",
    "hidden": "text[]",
    "pinned": "text[]",
}
DECISION_SQL = f"""
    insert into preflight_decision (tenant_id, session_id, {", ".join(_KINDS)})
    select :tenant_id, :session_id, d.* from json_to_recordset(cast(:decision as json))
        as d ({", ".join(f"{name} {kind}" for name, kind in _KINDS.items())})
"""  # noqa: S608 (names of our own)
"""Store a decision, without any word of the message."""


def decision_json(made: Made) -> JsonObject:
    """Write a decision for `DECISION_SQL`."""
    found, previous = made.found, made.previous
    names = _names(made)
    left_out = [f"{LEFT_OUT}{names.left_out}"] if names.left_out else []
    return {
        "turn_index": made.turn_index,
        "policy_version": found.policy_version,
        "categories": [str(category) for category in found.categories],
        "scores": {str(category): round(score, 4) for category, score in found.scores.items()},
        "features": dict(found.evidence.features),
        "chars": found.evidence.chars,
        "confidence": found.confidence,
        "previous": _previous_json(previous) if previous else None,
        "reasons": [*found.reasons, *left_out],
        "kept": names.kept,
        "hidden": names.hidden,
        "pinned": names.pinned,
    }


@dataclass(frozen=True)
class _Names:
    kept: list[str] | None
    hidden: list[str] | None
    pinned: list[str]
    left_out: int


def _names(made: Made) -> _Names:
    """Bound the names of a decision; names known to preflight come first, as needed for a replay."""
    allowed, tools = made.found.tool_allowlist, made.tools
    kept = tools if allowed is None else allowed
    stays = set(kept or ())
    hidden = None if tools is None else [name for name in tools if name not in stays]
    there = dict.fromkeys([*made.pinned, *(kept or ()), *(hidden or ())])
    short = sorted((name for name in there if len(name) <= MAX_TOOL_NAME_CHARS), key=_is_unknown)
    named = set(short[:MOST_NAMES])
    return _Names(
        None if kept is None else [name for name in dict.fromkeys(kept) if name in named],
        None if hidden is None else [name for name in dict.fromkeys(hidden) if name in named],
        [name for name in made.pinned if name in named],
        len(there) - len(named),
    )


def _is_unknown(name: str) -> bool:
    return name not in KNOWN_TOOLS


def _previous_json(previous: Previous) -> dict[str, Any]:
    return {
        "categories": [str(category) for category in previous.categories],
        "age_s": previous.age_s,
        "confidence": previous.confidence,
    }


def join_decisions(scope: Scope, *, most: int = PAGE) -> int:
    """Join decisions to the tools called by the following turns. Safe to call twice, also concurrently.

    Args:
        scope: The tenant's transaction; joined rows are locked until its end.
        most: Maximum number of joined decisions.

    Returns:
        Number of joined decisions; 0 when no further turn has followed.
    """
    waiting = scope.db.execute(
        select(
            PreflightDecisionRow.decision_id, PreflightDecisionRow.session_id, PreflightDecisionRow.turn_index
        )
        .join(
            TurnRow,
            and_(
                TurnRow.tenant_id == PreflightDecisionRow.tenant_id,
                TurnRow.session_id == PreflightDecisionRow.session_id,
                TurnRow.turn_index == PreflightDecisionRow.turn_index,
            ),
        )
        .where(PreflightDecisionRow.tenant_id == scope.tenant_id, PreflightDecisionRow.joined_at.is_(None))
        .order_by(PreflightDecisionRow.decision_id)
        .limit(most)
        .with_for_update(of=PreflightDecisionRow, skip_locked=True)
    ).all()
    used = _tools_of(scope, {(row.session_id, row.turn_index) for row in waiting})
    for row in waiting:
        scope.db.execute(
            update(PreflightDecisionRow)
            .where(
                PreflightDecisionRow.tenant_id == scope.tenant_id,
                PreflightDecisionRow.decision_id == row.decision_id,
            )
            .values(used=used.get((row.session_id, row.turn_index), []), joined_at=func.now())
        )
    return len(waiting)


_CALLING = text(
    """
    select m.session_id, m.turn_index, m.seq, m.role, m.wire, m.body, m.call_ids, m.answer_ids
    from unnest(cast(:session_ids as text[]), cast(:turn_indexes as integer[])) as t (session_id, turn_index)
    join message as m on m.tenant_id = :tenant_id and m.session_id = t.session_id
        and m.turn_index = t.turn_index
    join turn on turn.tenant_id = m.tenant_id and turn.session_id = m.session_id
        and turn.turn_index = m.turn_index and m.seq between turn.first_seq and turn.last_seq
    where m.call_ids is not null
    order by m.session_id, m.turn_index, m.seq
    """
)


def _tools_of(scope: Scope, turns: set[tuple[str, int]]) -> Mapping[tuple[str, int], list[str]]:
    """Find the names of the tools called by turns, each once, in order."""
    if not turns:
        return {}
    cells, places = scope.cells, sorted(turns)
    rows = scope.execute(
        _CALLING,
        session_ids=[session_id for session_id, _ in places],
        turn_indexes=[turn_index for _, turn_index in places],
    ).all()
    return {
        place: _called([_message(cells, row) for row in said])
        for place, said in groupby(rows, key=lambda row: (row.session_id, row.turn_index))
    }


def _called(messages: Sequence[Message]) -> list[str]:
    return list(dict.fromkeys(call.name for call in read_calls(messages).values() if call.name))


def _message(cells: TextCipher, row: Any) -> Message:
    return Message(
        row.seq,
        Role(row.role),
        0,
        cells.open("message.body", row.body, row.session_id, row.seq),
        call_ids=tuple(row.call_ids or ()),
        answer_ids=tuple(row.answer_ids or ()),
        wire=Wire(row.wire),
    )


def load_decisions(scope: Scope, *, since: datetime | None = None) -> Iterator[PastDecision]:
    """Read the record, oldest first, a page at a time."""
    after: UUID | None = None
    while True:
        wanted = select(PreflightDecisionRow.__table__).where(
            PreflightDecisionRow.tenant_id == scope.tenant_id
        )
        if since is not None:
            wanted = wanted.where(PreflightDecisionRow.decided_at >= since)
        if after is not None:
            wanted = wanted.where(PreflightDecisionRow.decision_id > after)
        rows = scope.db.execute(wanted.order_by(PreflightDecisionRow.decision_id).limit(PAGE)).all()
        yield from map(_past, rows)
        if len(rows) < PAGE:
            return
        after = rows[-1].decision_id


def _past(row: Any) -> PastDecision:
    previous = row.previous
    return PastDecision(
        evidence=Evidence(row.features, row.chars),
        previous=Previous(past_categories(previous["categories"]), previous["age_s"], previous["confidence"])
        if previous
        else None,
        tools=None if row.hidden is None else [*(row.kept or ()), *row.hidden],
        pinned=row.pinned,
        hidden=len(row.hidden or ()),
        used=row.used,
    )


_FORGET = text(
    """
    delete from preflight_decision as d using (
        select old.tenant_id, old.decision_id from tenant cross join lateral (
            select tenant_id, decision_id from preflight_decision
            where tenant_id = tenant.tenant_id and decided_at < now() - make_interval(secs => :keep_s)
            order by decided_at limit :most
        ) as old
    ) as old
    where d.tenant_id = old.tenant_id and d.decision_id = old.decision_id
    """
)


def forget_old_decisions(db: Transaction, *, keep: timedelta, most: int = 10 * PAGE) -> int:
    """Delete the oldest decisions of every tenant beyond an age, a bounded number for each tenant.

    Returns:
        Number of deleted decisions.
    """
    return db.execute(_FORGET, {"keep_s": keep.total_seconds(), "most": most}).rowcount
