"""Reading the log: ranges of a session's messages, and whole turns."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from sqlalchemy import ARRAY, BigInteger, and_, bindparam, func, select, text

from context.types import Message, Role, Wire
from models.base import read_time
from models.conversations.log import StoredMessage, TurnRow
from models.encryption.cipher import MARK, has_masters
from models.encryption.keys import TextCipher
from models.scope import Scope

_MESSAGE_COLUMNS = (
    StoredMessage.seq,
    StoredMessage.role,
    StoredMessage.tokens,
    StoredMessage.body,
    StoredMessage.call_ids,
    StoredMessage.answer_ids,
    StoredMessage.wire,
    StoredMessage.speaker,
    StoredMessage.tokens_wide,
)
_COMPLETED_AT = 10
_OF_SESSION = (
    select(*_MESSAGE_COLUMNS, TurnRow.model, TurnRow.completed_at, StoredMessage.compaction)
    .outerjoin(
        TurnRow,
        and_(
            TurnRow.tenant_id == StoredMessage.tenant_id,
            TurnRow.session_id == StoredMessage.session_id,
            TurnRow.turn_index == StoredMessage.turn_index,
        ),
    )
    .where(
        StoredMessage.tenant_id == bindparam("tenant_id"), StoredMessage.session_id == bindparam("session_id")
    )
)
"""Messages with the turn's model and end; content signed by a model must not go to other models."""

_NEWEST_FIRST = (
    _OF_SESSION.where(StoredMessage.seq > bindparam("after_seq"), StoredMessage.seq <= bindparam("up_to_seq"))
    .order_by(StoredMessage.seq.desc())
    .limit(bindparam("most"))
)
_CHOSEN = _OF_SESSION.where(
    StoredMessage.seq == func.any(bindparam("seqs", type_=ARRAY(BigInteger)))
).order_by(StoredMessage.seq)
_OLDEST_FIRST = (
    _OF_SESSION.where(StoredMessage.seq > bindparam("after_seq"), StoredMessage.seq <= bindparam("up_to_seq"))
    .order_by(StoredMessage.seq)
    .limit(bindparam("most"))
)


def load_newest(scope: Scope, session_id: str, *, after_seq: int, up_to_seq: int, most: int) -> list[Message]:
    """Load the newest messages of `(after_seq, up_to_seq]`, at most `most`, oldest first."""
    rows = scope.execute(
        _NEWEST_FIRST, session_id=session_id, after_seq=after_seq, up_to_seq=up_to_seq, most=most
    ).all()
    return _messages(scope, session_id, reversed(rows))


NEWEST_SQL = """(
    select json_agg(json_build_array(message.seq, message.role, message.tokens, message.body,
        message.call_ids, message.answer_ids, message.wire, message.speaker, message.tokens_wide, turn.model,
        turn.completed_at, message.compaction) order by message.seq)
    from (
        select * from message
        where message.tenant_id = session.tenant_id and message.session_id = session.session_id
            and message.seq > {after_seq} and message.seq <= session.last_seq
        order by message.seq desc limit {most}
    ) message
    left join turn on turn.tenant_id = message.tenant_id and turn.session_id = message.session_id
        and turn.turn_index = message.turn_index
)"""
"""The newest messages of `session` as JSON, oldest first; see `read_newest`."""


def read_newest(cells: TextCipher, session_id: str, rows: Iterable[Sequence[Any]]) -> list[Message]:
    """Read the messages of `NEWEST_SQL`."""
    return [
        _message(cells, session_id, (*row[:_COMPLETED_AT], read_time(row[_COMPLETED_AT]), row[-1]))
        for row in rows
    ]


def load_oldest(scope: Scope, session_id: str, *, after_seq: int, up_to_seq: int, most: int) -> list[Message]:
    """Load the oldest messages of `(after_seq, up_to_seq]`, at most `most`, oldest first."""
    rows = scope.execute(
        _OLDEST_FIRST, session_id=session_id, after_seq=after_seq, up_to_seq=up_to_seq, most=most
    )
    return _messages(scope, session_id, rows)


def load_messages(scope: Scope, session_id: str, seqs: Collection[int]) -> list[Message]:
    """Load single messages, oldest first; missing messages are passed over."""
    if not seqs:
        return []
    rows = scope.execute(_CHOSEN, session_id=session_id, seqs=sorted(seqs))
    return _messages(scope, session_id, rows)


def _messages(scope: Scope, session_id: str, rows: Iterable[Any]) -> list[Message]:
    cells = scope.cells
    return [_message(cells, session_id, row) for row in rows]


def _message(cells: TextCipher, session_id: str, row: Any) -> Message:
    return Message(
        row[0],
        Role(row[1]),
        row[2],
        cells.open("message.body", row[3], session_id, row[0]),
        tuple(row[4]) if row[4] else (),
        tuple(row[5]) if row[5] else (),
        Wire(row[6]),
        cells.open_if("message.speaker", row[7], session_id, row[0]),
        row[8],
        row[9],
        row[10].astimezone(UTC).date() if row[10] else None,
        tuple(row[11] or ()),
    )


def tokens_between(scope: Scope, session_id: str, *, after_seq: int, up_to_seq: int) -> int:
    """Sum the tokens of the messages of `(after_seq, up_to_seq]`."""
    return scope.db.execute(
        select(func.coalesce(func.sum(StoredMessage.tokens), 0)).where(
            StoredMessage.tenant_id == scope.tenant_id,
            StoredMessage.session_id == session_id,
            StoredMessage.seq > after_seq,
            StoredMessage.seq <= up_to_seq,
        )
    ).scalar_one()


PAUSE_TURNS = 50
"""Number of a session's newest turns searched for a pause."""

_PAUSES = text(
    """
    select coalesce(bool_or(pause > make_interval(secs => :longer_than_s)), false) from (
        select received_at - lag(received_at) over (order by turn_index) as pause from (
            select turn_index, received_at from turn
            where tenant_id = :tenant_id and session_id = :session_id
            order by turn_index desc limit :most
        ) as newest
    ) as pauses
    """
)


def has_pauses(scope: Scope, session_id: str, *, longer_than_s: float) -> bool:
    """Check whether any of a session's newest turns came in after a longer pause."""
    asked = {"longer_than_s": longer_than_s, "most": PAUSE_TURNS}
    found = scope.execute(_PAUSES, session_id=session_id, **asked)
    return bool(found.scalar_one())


@dataclass(frozen=True)
class LoggedTurn:
    """A stored turn.

    Attributes:
        turn_index: Place in the session, from 1.
        turn_id: The platform's id of the turn.
        generation: Generation of the session; a reset begins another.
        first_seq: First message of the turn.
        last_seq: Last message of the turn.
        model: The answering model, if known.
        completed_at: End of the turn, if known.
        messages: Stored messages of the turn, in order.
    """

    turn_index: int
    turn_id: str
    generation: int
    first_seq: int
    last_seq: int
    model: str | None
    completed_at: datetime | None
    messages: Sequence[Message] = ()

    @property
    def length(self) -> int:
        """Number of messages at the time of storing."""
        return self.last_seq - self.first_seq + 1


_TURNS_TOUCHING = text(
    """
    select turn_index, turn_id, generation, first_seq, last_seq, model, completed_at from turn
    where tenant_id = :tenant_id and session_id = :session_id
        and turn_index >= coalesce((
            select turn_index from message
            where tenant_id = :tenant_id and session_id = :session_id and seq <= :from_seq
            order by seq desc limit 1), 0)
        and turn_index <= coalesce((
            select turn_index from message
            where tenant_id = :tenant_id and session_id = :session_id and seq >= :to_seq
            order by seq limit 1), 2147483647)
        and last_seq >= :from_seq and first_seq <= :to_seq
    order by turn_index limit :most
    """
)
"""The messages at both ends name the turns between: three index scans for any length of the log."""

_SIZES = """
    select turn_index, sum({size}) from message
    where tenant_id = :tenant_id and session_id = :session_id and seq between :from_seq and :to_seq
    group by turn_index
    """
_AS_WRITTEN = "octet_length(body)"
_BEFORE_SEALING = f"""case when body ~ '^{MARK}[0-9]' then split_part(substr(body, 2, 11), '.', 1)::bigint
    else octet_length(body) end"""
"""A sealed text names the original length, so that pages are as long as without sealing."""


def load_turns(
    scope: Scope,
    session_id: str,
    *,
    from_seq: int,
    to_seq: int,
    most_messages: int,
    most_bytes: int,
) -> tuple[list[LoggedTurn], int | None]:
    """Read the whole turns that touch `[from_seq, to_seq]`, oldest first, of every generation.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        from_seq: First message of the range.
        to_seq: Last message of the range, included.
        most_messages: Maximum number of messages; later turns stay out, the first turn never does.
        most_bytes: The same for the size of the messages' text.

    Returns:
        The turns, and the place to read on: the first message of the first omitted turn, or None.
    """
    bounds = {"from_seq": from_seq, "to_seq": to_seq, "most": most_messages + 1}
    turns = [LoggedTurn(*row) for row in scope.execute(_TURNS_TOUCHING, session_id=session_id, **bounds)]
    if not turns:
        return [], None
    chosen = turns[: _fitting([turn.length for turn in turns], most_messages)]
    ends = {"from_seq": chosen[0].first_seq, "to_seq": chosen[-1].last_seq}
    statement = _SIZES.format(size=_BEFORE_SEALING if has_masters() else _AS_WRITTEN)
    sizes = {row[0]: int(row[1]) for row in scope.execute(text(statement), session_id=session_id, **ends)}
    chosen = chosen[: _fitting([sizes.get(turn.turn_index, 0) for turn in chosen], most_bytes)]
    left = turns[len(chosen) :]
    return _with_messages(scope, session_id, chosen), left[0].first_seq if left else None


def _fitting(sizes: Sequence[int], most: int) -> int:
    """Count the leading items within a total; the first item always counts."""
    totals = accumulate(sizes)
    return max(sum(1 for total in totals if total <= most), 1)


def _with_messages(scope: Scope, session_id: str, turns: Sequence[LoggedTurn]) -> list[LoggedTurn]:
    first, last = turns[0].first_seq, turns[-1].last_seq
    messages = load_oldest(scope, session_id, after_seq=first - 1, up_to_seq=last, most=last - first + 1)
    seqs = [message.seq for message in messages]
    return [
        replace(
            turn, messages=messages[bisect_left(seqs, turn.first_seq) : bisect_right(seqs, turn.last_seq)]
        )
        for turn in turns
    ]
