"""The append-only log: turns and messages, each stored once."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Text,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from context.types import Message
from models.artifacts.artifact import NewArtifact, store_artifacts
from models.artifacts.use import NewUse, PlacedUse, add_uses
from models.base import SESSION_KEY, Base, CreatedAt, TenantPart, json_of
from models.conversations.session_state import SessionState
from models.encryption.cipher import seals
from models.encryption.keys import TextCipher
from models.scope import Scope

CHANGED = b""
"""Digest of a turn after an edit or erasure: no fingerprint of erased data stays.

A second delivery of the turn by a sender unaware of the change is a duplicate and changes nothing.
"""


OPEN = b"\x01"
"""Mark in place of the digest of a turn that is not complete: its messages come one by one."""


class TurnRow(Base):
    """An accepted turn-completion event; the id makes a second delivery harmless."""

    __tablename__ = "turn"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        Index(None, "tenant_id", "session_id", "turn_id", unique=True),
        Index(None, "tenant_id", "user_id", "session_id", postgresql_where=text("user_id is not null")),
        CheckConstraint("first_seq <= last_seq", name="range_is_ordered"),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    turn_index: Mapped[int] = mapped_column(primary_key=True)
    turn_id: Mapped[str] = mapped_column(Text(collation="C"))
    body_sha256: Mapped[bytes] = mapped_column(LargeBinary)
    generation: Mapped[int]
    first_seq: Mapped[int] = mapped_column(BigInteger)
    last_seq: Mapped[int] = mapped_column(BigInteger)
    tokens: Mapped[int] = mapped_column(BigInteger)
    model: Mapped[str | None]
    context_window: Mapped[int | None]
    usage: Mapped[dict[str, Any] | None]
    plan: Mapped[dict[str, Any] | None]
    user_id: Mapped[str | None]
    completed_at: Mapped[datetime | None]
    received_at: Mapped[CreatedAt]


class StoredMessage(Base):
    """A message as sent, with the facts needed by later reads, found once."""

    __tablename__ = "message"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        Index(
            "ix_message_compaction",
            "tenant_id",
            "session_id",
            "seq",
            postgresql_where=text("compaction is not null"),
        ),
        CheckConstraint("seq >= 1", name="seq_counts_from_1"),
        CheckConstraint("tokens >= 0", name="tokens_are_counted"),
        CheckConstraint("role in ('system', 'user', 'assistant', 'tool')", name="role_is_known"),
        CheckConstraint("wire in ('openai', 'anthropic', 'responses')", name="wire_is_known"),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    turn_index: Mapped[int]
    role: Mapped[str]
    wire: Mapped[str]
    speaker: Mapped[str | None]
    tokens: Mapped[int]
    tokens_wide: Mapped[int]
    call_ids: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    answer_ids: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    body: Mapped[str]
    compaction: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))


@dataclass(frozen=True)
class NewTurn:
    """A validated turn event, ready to be stored. The messages have no `seq` yet."""

    session_id: str
    turn_id: str
    body_sha256: bytes
    messages: Sequence[Message]
    model: str | None = None
    context_window: int | None = None
    usage: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None
    user_id: str | None = None
    completed_at: datetime | None = None
    artifacts: Sequence[NewArtifact] = ()
    uses: Sequence[NewUse] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return sum(message.tokens for message in self.messages)


@dataclass(frozen=True)
class AcceptedTurn:
    """Place of a turn in the log.

    `conflict`: the id belongs to a turn with another body. `erased`: messages of the turn were erased.
    """

    session_id: str
    turn_id: str
    turn_index: int
    first_seq: int
    last_seq: int
    duplicate: bool = False
    conflict: bool = False
    erased: bool = False


INSERT_MESSAGES = """
        insert into message (tenant_id, session_id, seq, turn_index, role, wire, speaker, tokens,
            tokens_wide, body, call_ids, answer_ids, compaction)
        select :tenant_id, m.* from json_to_recordset(cast(:messages as json)) as m (
            session_id text, seq bigint, turn_index int, role text, wire text, speaker text, tokens int,
            tokens_wide int, body text, call_ids text[], answer_ids text[], compaction bigint[])
        """
"""Insertion of messages, given as JSON; a part of a statement.

A driver writes an array for PostgreSQL value by value; JSON is written at once.
"""

_APPEND = text(
    f"""
    with new_turns as (
        insert into turn (tenant_id, session_id, turn_index, turn_id, body_sha256, generation, first_seq,
            last_seq, tokens, model, context_window, usage, plan, user_id, completed_at)
        select :tenant_id, t.session_id, t.turn_index, t.turn_id, t.body_sha256, t.generation, t.first_seq,
            t.last_seq, t.tokens, t.model, t.context_window, cast(t.usage as jsonb), cast(t.plan as jsonb),
            t.user_id, t.completed_at
        from json_to_recordset(cast(:turns as json)) as t (
            session_id text, turn_index int, turn_id text, body_sha256 bytea, generation int,
            first_seq bigint, last_seq bigint, tokens bigint, model text, context_window int, usage text,
            plan text, user_id text, completed_at timestamptz)
    ), new_messages as (
        {INSERT_MESSAGES}
    )
    update session set last_seq = s.last_seq, last_turn_index = s.last_turn_index,
        history_tokens = s.history_tokens, model = s.model, context_window = s.context_window,
        last_turn_at = now()
    from json_to_recordset(cast(:sessions as json)) as s (
        session_id text, last_seq bigint, last_turn_index int, history_tokens bigint, model text,
        context_window int)
    where session.tenant_id = :tenant_id and session.session_id = s.session_id
    """  # noqa: S608 (a part of ours)
)
"""Turns, messages and session progress in one statement: one round trip for any number."""


def append_turns(
    scope: Scope,
    fresh: Sequence[tuple[NewTurn, AcceptedTurn, int]],
    sessions: Iterable[SessionState],
) -> None:
    """Store placed turns with their messages and results, and the progress of their sessions.

    Args:
        scope: The tenant's transaction; the caller holds the sessions' rows.
        fresh: Each turn with its place and generation, at least one.
        sessions: The states of the sessions afterwards.
    """
    cells = scope.cells
    messages = [row for turn, accepted, _ in fresh for row in message_rows(cells, turn, accepted)]
    given = {
        "turns": json_of([_turn_row(cells, *entry) for entry in fresh]),
        "messages": json_of(messages),
        "sessions": json_of([_session_row(session) for session in sessions]),
    }
    scope.execute(_APPEND, **given)
    _keep_results(scope, fresh)


def _keep_results(scope: Scope, fresh: Sequence[tuple[NewTurn, AcceptedTurn, int]]) -> None:
    """Store the contents taken out of the messages; most turns have no such contents and cost nothing."""
    store_artifacts(scope, [new for turn, _, _ in fresh for new in turn.artifacts])
    placed = [
        PlacedUse(turn.session_id, accepted.turn_index, accepted.first_seq, use)
        for turn, accepted, _ in fresh
        for use in turn.uses
    ]
    add_uses(scope, placed)


def _turn_row(cells: TextCipher, turn: NewTurn, accepted: AcceptedTurn, generation: int) -> dict[str, Any]:
    return {
        "session_id": turn.session_id,
        "turn_index": accepted.turn_index,
        "turn_id": turn.turn_id,
        "body_sha256": r"\x" + (OPEN if turn.body_sha256 == OPEN else cells.digest(turn.body_sha256)).hex(),
        "generation": generation,
        "first_seq": accepted.first_seq,
        "last_seq": accepted.last_seq,
        "tokens": turn.tokens,
        "model": turn.model,
        "context_window": turn.context_window,
        "usage": _object(cells, turn, "turn.usage", turn.usage),
        "plan": _object(cells, turn, "turn.plan", turn.plan),
        "user_id": turn.user_id,
        "completed_at": turn.completed_at,
    }


def _object(cells: TextCipher, turn: NewTurn, column: str, value: dict[str, Any] | None) -> str | None:
    """Write an object as JSON; a sealed object becomes a JSON string."""
    if value is None:
        return None
    written = json.dumps(value)
    return json.dumps(cells.seal(column, written, turn.session_id, turn.turn_id)) if seals() else written


def message_rows(cells: TextCipher, turn: NewTurn, accepted: AcceptedTurn) -> Iterator[dict[str, Any]]:
    """Write the rows of a turn's messages; a message with a number keeps the number."""
    for next_seq, message in enumerate(turn.messages, accepted.first_seq):
        seq = message.seq or next_seq
        yield {
            "session_id": turn.session_id,
            "seq": seq,
            "turn_index": accepted.turn_index,
            "role": message.role.value,
            "wire": message.wire.value,
            "speaker": cells.seal_if("message.speaker", message.speaker, turn.session_id, seq),
            "tokens": message.tokens,
            "tokens_wide": message.tokens if message.tokens_wide is None else message.tokens_wide,
            "body": cells.seal("message.body", message.raw, turn.session_id, seq),
            "call_ids": message.call_ids or None,
            "answer_ids": message.answer_ids or None,
            "compaction": window_places(message, seq) or None,
        }


def window_places(message: Message, seq: int) -> list[int]:
    """Number the messages of a compacted window: 0 is the message itself, and -1 the message before."""
    return [place if place > 0 else seq + place for place in message.compaction]


def _session_row(session: SessionState) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "last_seq": session.last_seq,
        "last_turn_index": session.last_turn_index,
        "history_tokens": session.history_tokens,
        "model": session.model,
        "context_window": session.context_window,
    }
