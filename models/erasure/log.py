"""Changes of the log: new words, or removal with the paired half, and the receipt of the effects."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ARRAY, BigInteger, delete, func, literal, text, update

from context.artifacts.positions import read_results
from context.conversation.erasing import Removal, plan_removal, trim
from context.types import Message, Role, Wire
from context.wire.parts import without_compaction
from models.conversations.history import load_messages
from models.conversations.log import CHANGED, StoredMessage, window_places
from models.conversations.standing import load_compactions
from models.due_work.queue import WorkKind
from models.encryption.keys import TextCipher
from models.scope import Scope

PRIMARY = frozenset({"session", "turn", "message", "artifact", "artifact_use", "artifact_attachment"})
"""Tables with data sent by people and platforms; other tables hold derived data or data about the primary."""


@dataclass
class Receipt:
    """A receipt, filled during a transaction.

    Attributes:
        rows: Number of deleted or anonymized rows, by table.
        asked: The work requested again, each piece once.
    """

    rows: Counter[str] = field(default_factory=Counter)
    asked: set[tuple[WorkKind, str]] = field(default_factory=set)

    def count(self, table: str, rows: int) -> None:
        """Count rows of a table."""
        if rows:
            self.rows[table] += rows

    def add(self, other: "Receipt") -> None:
        """Add another receipt."""
        self.rows += other.rows
        self.asked |= other.asked

    @property
    def is_empty(self) -> bool:
        """True when nothing was changed."""
        return not (self.rows or self.asked)

    def as_json(self) -> dict[str, Any]:
        """Return the receipt as JSON for the answer, tables ordered by name."""
        ordered = sorted(self.rows.items())
        return {
            "removed": {table: rows for table, rows in ordered if table in PRIMARY},
            "invalidated": {table: rows for table, rows in ordered if table not in PRIMARY},
            "requeued": len(self.asked),
        }


REACH = 2_000
"""Search distance for other halves around a turn, in messages: a result may come with a later turn."""


@dataclass(frozen=True)
class LogChange:
    """Changes in a session's log.

    Attributes:
        gone: The deleted messages.
        rewritten: The rewritten messages.
        turns: The changed turns: ids by index.
        first_seq: First message of the first changed turn.
        growth: Growth of each changed message in tokens; a loss is negative.
        lost_places: Results taken out of remaining messages: the message and the place in the message.
    """

    gone: frozenset[int]
    rewritten: frozenset[int]
    turns: Mapping[int, str]
    first_seq: int
    growth: Mapping[int, int] = field(default_factory=dict)
    lost_places: Sequence[tuple[int, int]] = ()

    @property
    def seqs(self) -> list[int]:
        """All deleted and rewritten messages, ascending."""
        return sorted(self.gone | self.rewritten)

    def joined(self, other: "LogChange") -> "LogChange":
        """Join two changes of one log, made one after the other."""
        growth = {
            seq: self.growth.get(seq, 0) + other.growth.get(seq, 0) for seq in {*self.growth, *other.growth}
        }
        gone = self.gone | other.gone
        return LogChange(
            gone,
            (self.rewritten | other.rewritten) - gone,
            {**self.turns, **other.turns},
            min(self.first_seq, other.first_seq),
            growth,
            [*self.lost_places, *other.lost_places],
        )

    def growth_after(self, seq: int) -> int:
        """Sum the growth of the log after a message, in tokens."""
        return sum(growth for at, growth in self.growth.items() if at > seq)


@dataclass(frozen=True)
class PairedStretch:
    """Messages of a log, reduced to the parts needed for pairing, and the turn index by seq."""

    messages: Sequence[Message]
    turn_of: Mapping[int, int]


_PAIRS = text(
    """
    select seq, turn_index, role, wire, call_ids, answer_ids,
        case when wire = 'responses' and (strpos(body, '"reasoning"') > 0 or starts_with(body, E'\\x02'))
            then body else '{}' end as body
    from message
    where tenant_id = :tenant_id and session_id = :session_id and seq between :from_seq and :to_seq
    order by seq
    """
)
"""Columns needed for pairing; bodies only of possible reasoning items."""


def remove_from_log(
    scope: Scope, session_id: str, seqs: Collection[int], *, reach: int = REACH
) -> LogChange | None:
    """Delete messages, and the other halves of calls and results. The caller holds the session's row.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        seqs: The messages.
        reach: Search distance for the other halves, in messages.

    Returns:
        The changes; None when none of the messages exists.
    """
    span = {"from_seq": min(seqs) - reach, "to_seq": max(seqs) + reach}
    place = {"tenant_id": scope.tenant_id, "session_id": session_id}
    cells = scope.cells
    rows = scope.db.execute(_PAIRS, {**place, **span}).all()
    targets = {row.seq for row in rows}.intersection(seqs)
    if not targets:
        return None
    stretch = PairedStretch(
        [_bare(cells, session_id, row) for row in rows], {row.seq: row.turn_index for row in rows}
    )
    removal, before, after = _plan(scope, session_id, stretch, targets)
    removed = _delete(scope, session_id, removal.gone)
    turn_of = {row.seq: row.turn_index for row in removed}
    growth = {row.seq: -row.tokens for row in removed}
    for seq, message in after.items():
        turn_of[seq] = rewrite(scope, session_id, message)
        growth[seq] = message.tokens - before[seq].tokens
    turns, first_seq = touch_turns(scope, session_id, _by_turn(turn_of, growth))
    places = [place for message in before.values() for place in _lost_places(message, removal)]
    return LogChange(removal.gone, frozenset(after), turns, first_seq, growth, places)


def drop_compactions(scope: Scope, session_id: str, *, after_seq: int, start_seq: int) -> LogChange | None:
    """Remove the compactions of providers after a changed message: they hold the former words.

    A message that is a compaction alone goes; of another message the rest stays.

    Args:
        scope: The tenant's transaction; the caller holds the session's row.
        session_id: The session.
        after_seq: The first changed message.
        start_seq: The last message before the last reset: no later compaction covers an earlier message.

    Returns:
        The changes; None without such a compaction.
    """
    found = load_compactions(scope, session_id, after_seq=after_seq, most=None)
    covering = [one.seq for one in found if after_seq > start_seq or one.seq <= start_seq]
    messages = load_messages(scope, session_id, covering)
    if not messages:
        return None
    rests = [(message, without_compaction(message)) for message in messages]
    removed = _delete(scope, session_id, [message.seq for message, rest in rests if rest is None])
    turn_of = {row.seq: row.turn_index for row in removed}
    growth = {row.seq: -row.tokens for row in removed}
    kept = [(message, rest) for message, rest in rests if rest is not None]
    for message, rest in kept:
        turn_of[message.seq] = rewrite(scope, session_id, rest)
        growth[message.seq] = rest.tokens - message.tokens
    turns, first_seq = touch_turns(scope, session_id, _by_turn(turn_of, growth))
    gone = frozenset(row.seq for row in removed)
    return LogChange(gone, frozenset(turn_of) - gone, turns, first_seq, growth)


def _bare(cells: TextCipher, session_id: str, row: Any) -> Message:
    body = cells.open("message.body", row.body, session_id, row.seq)
    body = body if '"reasoning"' in body else "{}"
    calls, answers = tuple(row.call_ids or ()), tuple(row.answer_ids or ())
    return Message(row.seq, Role(row.role), 0, body, calls, answers, Wire(row.wire))


def _plan(
    scope: Scope, session_id: str, stretch: PairedStretch, targets: set[int]
) -> tuple[Removal, dict[int, Message], dict[int, Message]]:
    """Plan the removal, with trimmed messages before and after; a message trimmed to nothing is removed."""
    while True:
        removal = plan_removal(stretch.messages, targets, turn_of=stretch.turn_of)
        before = {message.seq: message for message in load_messages(scope, session_id, removal.trimmed)}
        after = {seq: trim(message, removal) for seq, message in before.items()}
        empty = {seq for seq, message in after.items() if message is None}
        if not empty:
            return removal, before, {seq: message for seq, message in after.items() if message is not None}
        targets = {*removal.gone, *empty}


def _lost_places(message: Message, removal: Removal) -> Iterable[tuple[int, int]]:
    lost = removal.answers.get(message.seq, frozenset())
    return [(message.seq, result.place) for result in read_results(message) if result.call_id in lost]


def _by_turn(turn_of: Mapping[int, int], growth: Mapping[int, int]) -> dict[int, int]:
    turns: Counter[int] = Counter()
    for seq, turn_index in turn_of.items():
        turns[turn_index] += growth[seq]
    return dict(turns)


def _delete(scope: Scope, session_id: str, seqs: Collection[int]) -> Sequence[Any]:
    gone = delete(StoredMessage).where(
        StoredMessage.tenant_id == scope.tenant_id,
        StoredMessage.session_id == session_id,
        StoredMessage.seq == func.any(literal(sorted(seqs), ARRAY(BigInteger))),
    )
    return scope.db.execute(
        gone.returning(StoredMessage.seq, StoredMessage.turn_index, StoredMessage.tokens)
    ).all()


def rewrite(scope: Scope, session_id: str, message: Message) -> int:
    """Replace the words of a message. Returns the index of the turn."""
    cells, row = scope.cells, (session_id, message.seq)
    turn_index: int = scope.db.execute(
        update(StoredMessage)
        .where(
            StoredMessage.tenant_id == scope.tenant_id,
            StoredMessage.session_id == session_id,
            StoredMessage.seq == message.seq,
        )
        .values(
            body=cells.seal("message.body", message.raw, *row),
            speaker=cells.seal_if("message.speaker", message.speaker, *row),
            tokens=message.tokens,
            tokens_wide=message.tokens if message.tokens_wide is None else message.tokens_wide,
            call_ids=list(message.call_ids) or None,
            answer_ids=list(message.answer_ids) or None,
            compaction=window_places(message, message.seq) or None,
        )
        .returning(StoredMessage.turn_index)
    ).scalar_one()
    return turn_index


_TOUCH = text(
    """
    update turn set tokens = tokens + g.growth, plan = null, usage = null, body_sha256 = :changed
    from unnest(cast(:indexes as int[]), cast(:growths as bigint[])) as g (turn_index, growth)
    where tenant_id = :tenant_id and session_id = :session_id and turn.turn_index = g.turn_index
    returning turn.turn_index, turn.turn_id, turn.first_seq
    """
)


def touch_turns(scope: Scope, session_id: str, growth: Mapping[int, int]) -> tuple[dict[int, str], int]:
    """Correct the token counts of turns, and clear plan and usage, possible copies of erased words.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        growth: Growth of each turn in tokens, by index.

    Returns:
        Turn ids by index, and the first message of the first turn.
    """
    rows = scope.execute(
        _TOUCH, session_id=session_id, changed=CHANGED, indexes=list(growth), growths=list(growth.values())
    ).all()
    return {row.turn_index: row.turn_id for row in rows}, min(row.first_seq for row in rows)
