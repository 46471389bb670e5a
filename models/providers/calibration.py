"""Token calibration of each tenant's models, learned from reported usage, and the reports to learn from."""

import json
import re
from collections import defaultdict
from datetime import datetime
from itertools import takewhile
from typing import Any

from sqlalchemy import CheckConstraint, Double, Text, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.providers.usage import MessageSize, ReportedTurn, model_key
from context.tokens import UNCALIBRATED, Calibration, Count
from context.types import Role
from models.base import Base, TenantKey
from models.encryption.keys import TextCipher
from models.scope import Scope

MOST_TURNS, MOST_MESSAGES = 16, 300
"""Number of turns and messages compared: more reports would hardly change the result."""


class StoredCalibration(Base):
    """Ratio of a tenant's usage reports for a model to our estimates; uncalibrated without a row."""

    __tablename__ = "calibration"
    __table_args__ = (
        CheckConstraint("factor between 0.5 and 2.5", name="factor_is_bounded"),
        CheckConstraint("observations >= 1", name="observations_count_from_1"),
        CheckConstraint("spread >= 0", name="spread_is_not_negative"),
    )

    tenant_id: Mapped[TenantKey]
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    factor: Mapped[float] = mapped_column(Double)
    observations: Mapped[int]
    spread: Mapped[float] = mapped_column(Double)
    updated_at: Mapped[datetime]


def find_calibration(scope: Scope, model: str) -> Calibration:
    """Find the calibration of a model, under any name of the model; uncalibrated without a row."""
    key = model_key(model)
    row = scope.db.execute(
        select(StoredCalibration.factor, StoredCalibration.observations, StoredCalibration.spread).where(
            StoredCalibration.tenant_id == scope.tenant_id, StoredCalibration.model == key
        )
    ).one_or_none()
    return Calibration(key, row.factor, row.observations, row.spread) if row else UNCALIBRATED


def keep_calibration(scope: Scope, seen: Calibration, learned: Calibration) -> bool:
    """Store a learned calibration, by compare-and-set.

    The commit does not wait for the disk: a crash may lose the last lessons, and nothing depends on the
    lessons.

    Args:
        scope: A separate transaction of the tenant; the row is held until its end.
        seen: The calibration known before learning.
        learned: The calibration after learning.

    Returns:
        True when stored; False: another process learned meanwhile, and this observation is dropped.
    """
    scope.db.execute(text("set local synchronous_commit = off"))
    values = {
        "factor": learned.factor,
        "observations": learned.observations,
        "spread": learned.spread,
        "updated_at": func.now(),
    }
    row = insert(StoredCalibration).values(tenant_id=scope.tenant_id, model=learned.model, **values)
    kept = scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[StoredCalibration.tenant_id, StoredCalibration.model],
            set_=values,
            where=StoredCalibration.observations == seen.observations,
        ).returning(StoredCalibration.observations)
    )
    return kept.one_or_none() is not None


MEDIA = re.compile(r'"type":\s*"[a-z_]*(image|audio|video|file|document|screenshot)')
"""Pattern used by the statement below for unsealed texts."""

_MESSAGES = text(
    r"""
    select turn_index, seq, role, tokens + coalesce(saved, 0) as tokens,
        tokens_wide + coalesce(saved_wide, 0) as tokens_wide,
        coalesce(cardinality(call_ids), 0) as calls, (:served and saved is not null) as is_taken_out,
        case when starts_with(body, E'\x02') then body end as sealed,
        case when strpos(body, '"type"') > 0
            then body ~ '"type":\s*"[a-z_]*(image|audio|video|file|document|screenshot)' else false
        end as has_media
    from message
    left join (
        select seq, sum(saved_tokens) as saved, sum(saved_tokens_wide) as saved_wide from artifact_use
        where tenant_id = :tenant_id and session_id = :session_id and seq between :first_seq and :last_seq
            and artifact_id is not null
        group by seq
    ) as taken_out using (seq)
    where tenant_id = :tenant_id and session_id = :session_id and seq between :first_seq and :last_seq
    order by seq desc limit :most
    """
)
"""A large result counts with the size sent. A session with requests made of our windows no longer sends the
result in the next request, so a turn with such a result measures nothing: like a turn with media.
"""

_TURNS = text(
    """
    select turn_index, turn_id, first_seq, last_seq, generation, model, usage, context_window, exists (
        select from summary
        where summary.tenant_id = :tenant_id and summary.session_id = :session_id
            and activated_at > coalesce(before, '-infinity') and activated_at <= received_at
    ) as swapped
    from (
        select turn.*, lag(received_at) over (order by turn_index) as before from turn
        where tenant_id = :tenant_id and session_id = :session_id
            and turn_index between :last_index - :most and :last_index
    ) as turn
    where turn_index > :last_index - :most
    order by turn_index
    """
)
"""The summary of a request is known when no summary came into force between the arrivals of two turns."""


def load_reported_turns(
    scope: Scope, session_id: str, turn_index: int, *, served: bool = False
) -> list[ReportedTurn]:
    """Read the newest turns up to a given turn, whole turns only, with reports and sizes.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        turn_index: The last turn to read.
        served: True if the session's requests are made of our windows, with pointers for old results.

    Returns:
        Consecutive turns, oldest first; empty when even the last turn is too large.
    """
    turns = scope.execute(_TURNS, session_id=session_id, last_index=turn_index, most=MOST_TURNS).all()
    if not turns:
        return []
    span = {"first_seq": turns[0].first_seq, "last_seq": turns[-1].last_seq}
    messages = scope.execute(
        _MESSAGES, session_id=session_id, **span, most=MOST_MESSAGES, served=served
    ).all()
    said, cells = defaultdict(list), scope.cells
    for message in reversed(messages):
        said[message.turn_index].append(_said(cells, session_id, message))
    whole = takewhile(
        lambda turn: len(said[turn.turn_index]) == turn.last_seq - turn.first_seq + 1, reversed(turns)
    )
    return [
        ReportedTurn(
            generation=turn.generation,
            messages=said[turn.turn_index],
            model=turn.model,
            usage=_usage(cells, session_id, turn),
            context_window=turn.context_window,
            swapped=turn.swapped,
        )
        for turn in whole
    ][::-1]


def _usage(cells: TextCipher, session_id: str, turn: Any) -> dict[str, Any] | None:
    if not isinstance(turn.usage, str):
        return turn.usage  # type: ignore[no-any-return]
    return json.loads(cells.open("turn.usage", turn.usage, session_id, turn.turn_id))  # type: ignore[no-any-return]


def _said(cells: TextCipher, session_id: str, row: Any) -> MessageSize:
    has_media = row.has_media
    if row.sealed is not None:
        has_media = MEDIA.search(cells.open("message.body", row.sealed, session_id, row.seq)) is not None
    count = Count(row.tokens, row.tokens_wide, 1, row.calls)
    return MessageSize(Role(row.role), count, has_media or row.is_taken_out)
