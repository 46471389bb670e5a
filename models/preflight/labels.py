"""Labels of preflight decisions, joined with what turns used."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from context.preflight.decide import TOO_UNSURE
from context.types import Message, Role, Wire
from models.scope import Scope

_JOINED_THROUGH = text(
    "select cast(extract(epoch from max(joined_at)) * 1000000 as bigint) from preflight_decision"
    " where tenant_id = :tenant_id"
)


def joined_through(scope: Scope) -> int:
    """Find the time of the last join of a decision, by any process.

    Returns:
        Microseconds since 1970; 0 before the first join.
    """
    return scope.execute(_JOINED_THROUGH).scalar() or 0


LABEL_CONFIDENCE = 0.8
"""Confidence of a session's topic labelled by a model."""


@dataclass(frozen=True)
class Unsure:
    """An unsure decision.

    Attributes:
        decision_id: Id of the decision.
        decided_at: Time of the decision.
        age_s: Age of the decision, in seconds.
        said: The user's messages of the following turn; empty before the turn.
    """

    decision_id: UUID
    decided_at: datetime
    age_s: float
    said: Sequence[Message]


_NEWEST = text(
    """
    select decision_id, turn_index, decided_at, extract(epoch from now() - decided_at) as age_s
    from preflight_decision
    where tenant_id = :tenant_id and session_id = :session_id and relabelled_at is null
        and decided_at > now() - interval '1 day'
        and (cardinality(categories) = 0 or :too_unsure = any(reasons))
    order by decision_id desc
    limit 1
    """
)

_SAID = text(
    """
    select seq, body, wire from message
    where tenant_id = :tenant_id and session_id = :session_id and turn_index = :turn_index
        and role = 'user' and answer_ids is null
    order by seq
    limit 5
    """
)


def find_unsure(scope: Scope, session_id: str) -> Unsure | None:
    """Find the newest unsure decision of a session without a label; returns None without such a decision."""
    place: dict[str, Any] = {"tenant_id": scope.tenant_id, "session_id": session_id}
    row = scope.db.execute(_NEWEST, {**place, "too_unsure": TOO_UNSURE}).one_or_none()
    if row is None:
        return None
    cells = scope.cells
    said = scope.db.execute(_SAID, {**place, "turn_index": row.turn_index})
    bodies = [(one, cells.open("message.body", one.body, session_id, one.seq)) for one in said]
    messages = [Message(one.seq, Role.USER, 0, body, wire=Wire(one.wire)) for one, body in bodies]
    return Unsure(row.decision_id, row.decided_at, float(row.age_s), messages)


_LABEL = text(
    """
    update preflight_decision set relabelled = :labels, relabelled_at = now()
    where tenant_id = :tenant_id and decision_id = :decision_id
    """
)

_TOPIC = text(
    """
    insert into preflight_session (tenant_id, session_id, categories, confidence, decided_at)
    select tenant_id, session_id, :labels, :confidence, :decided_at from session
    where tenant_id = :tenant_id and session_id = :session_id
    on conflict (tenant_id, session_id) do update set categories = excluded.categories,
        confidence = excluded.confidence
    where preflight_session.decided_at <= excluded.decided_at
    """
)


def keep_labels(scope: Scope, session_id: str, unsure: Unsure, labels: Sequence[str]) -> None:
    """Store a model's labels of a decision; the session's topic follows unless a newer message set the topic.

    Nothing is stored for a decision erased meanwhile.
    """
    values = {"labels": list(labels)}
    kept = scope.execute(_LABEL, **values, decision_id=unsure.decision_id).rowcount
    if labels and kept:
        scope.execute(
            _TOPIC, **values, session_id=session_id, confidence=LABEL_CONFIDENCE, decided_at=unsure.decided_at
        )
