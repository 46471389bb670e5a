"""Judging records of unused windows by the turns that followed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, exists, func, select, update

from context.shadow.facts import Needs, count_blocked, count_loss, needs_of
from context.types import Message
from models.conversations.history import load_oldest
from models.conversations.session import Session
from models.scope import Scope
from models.shadow.reads import ReadState, ShadowRead, open_salt

MOST_OF_A_TURN = 400
"""Number of a turn's messages to judge: needed facts show at the beginning."""


@dataclass(frozen=True)
class Waiting:
    """A record with an arrived turn."""

    read_id: UUID
    part: str
    session_id: str
    after_seq: int
    new_messages: int
    salt: bytes
    held: bytes
    lacking: bytes
    hidden: bytes


@dataclass(frozen=True)
class TurnLosses:
    """Needs of a turn, and the needs missing in the unused window; 0 <= lost, 0 <= blocked.

    Attributes:
        part: Part of the unused window.
        needed: Number of needed facts.
        lost: Number of needed facts missing in the window, at most `needed`.
        calls: Number of tool calls.
        blocked: Number of calls of hidden tools, at most `calls`.
    """

    part: str
    needed: int
    lost: int
    calls: int
    blocked: int


_COLUMNS = (
    ShadowRead.read_id,
    ShadowRead.part,
    ShadowRead.session_id,
    ShadowRead.after_seq,
    ShadowRead.new_messages,
    ShadowRead.salt,
    ShadowRead.held,
    ShadowRead.lacking,
    ShadowRead.hidden,
)
_GOES_ON = and_(
    Session.tenant_id == ShadowRead.tenant_id,
    Session.session_id == ShadowRead.session_id,
    Session.generation == ShadowRead.generation,
    Session.last_seq > ShadowRead.after_seq,
)


def take_waiting(scope: Scope, *, most: int) -> list[Waiting]:
    """Lock records with an arrived turn, the oldest first; rows locked by others are passed over."""
    rows: Sequence[Any] = scope.db.execute(
        select(*_COLUMNS)
        .join(Session, _GOES_ON)
        .where(ShadowRead.tenant_id == scope.tenant_id, ShadowRead.state == ReadState.WAITING)
        .order_by(ShadowRead.made_at, ShadowRead.read_id)
        .limit(most)
        .with_for_update(of=ShadowRead, skip_locked=True)
    ).all()
    cells, waiting = scope.cells, [Waiting(*row) for row in rows]
    return [replace(one, salt=open_salt(cells, one.salt, one.read_id, one.part)) for one in waiting]


def judge(scope: Scope, waiting: Sequence[Waiting]) -> list[TurnLosses]:
    """Count the needs of the turns in each window; the digests go, the numbers stay.

    Returns:
        The result of each record, in the same order.
    """
    found: list[TurnLosses] = []
    needs: dict[tuple[str, int, int], Needs] = {}
    for one in waiting:
        place = (one.session_id, one.after_seq, one.new_messages)
        if place not in needs:
            needs[place] = needs_of(_turn(scope, one), new=one.new_messages)
        found.append(_found(one, needs[place]))
        _store(scope, one, found[-1])
    return found


def _turn(scope: Scope, one: Waiting) -> list[Message]:
    """Load the messages after the read, up to the start of the turn after the next turn."""
    messages = load_oldest(
        scope,
        one.session_id,
        after_seq=one.after_seq,
        up_to_seq=one.after_seq + MOST_OF_A_TURN,
        most=MOST_OF_A_TURN,
    )
    further = [
        place
        for place, message in enumerate(messages)
        if message.starts_turn and place >= max(one.new_messages, 1)
    ]
    return messages[: further[0]] if further else messages


def _found(one: Waiting, needs: Needs) -> TurnLosses:
    loss = count_loss(needs.facts, both=one.held, lacking=one.lacking, salt=one.salt)
    blocked = count_blocked(needs.tools, hidden=one.hidden, salt=one.salt)
    return TurnLosses(one.part, loss.needed, loss.lost, len(needs.tools), blocked)


_NO_DIGESTS: Mapping[str, Any] = {"salt": None, "held": None, "lacking": None, "hidden": None}


def _store(scope: Scope, one: Waiting, found: TurnLosses) -> None:
    scope.db.execute(
        update(ShadowRead)
        .where(
            ShadowRead.tenant_id == scope.tenant_id,
            ShadowRead.read_id == one.read_id,
            ShadowRead.part == one.part,
        )
        .values(
            state=ReadState.JUDGED,
            judged_at=func.now(),
            needed=found.needed,
            lost=found.lost,
            calls=found.calls,
            blocked=found.blocked,
            **_NO_DIGESTS,
        )
    )


def lapse_old(scope: Scope, *, wait: timedelta) -> int:
    """Lapse records without a turn for too long, or with a restarted session. Returns the record count."""
    began_anew = exists().where(
        Session.tenant_id == ShadowRead.tenant_id,
        Session.session_id == ShadowRead.session_id,
        Session.generation > ShadowRead.generation,
    )
    return scope.db.execute(
        update(ShadowRead)
        .where(
            ShadowRead.tenant_id == scope.tenant_id,
            ShadowRead.state == ReadState.WAITING,
            (ShadowRead.made_at < func.now() - wait) | began_anew,
        )
        .values(state=ReadState.LAPSED, **_NO_DIGESTS)
    ).rowcount


def any_waiting(scope: Scope) -> bool:
    """Check whether a record still waits for a turn."""
    waiting = select(
        exists().where(ShadowRead.tenant_id == scope.tenant_id, ShadowRead.state == ReadState.WAITING)
    )
    return bool(scope.db.execute(waiting).scalar_one())
