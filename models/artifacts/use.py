"""Uses of artifacts by messages, and the results that may be put back into messages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    SmallInteger,
    Text,
    false,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from context.artifacts.subjects import parse_subject
from context.artifacts.superseded import Access, Superseded, superseded_artifacts
from context.artifacts.types import Artifact
from context.tokens import Count
from models.artifacts.artifact import ArtifactFacts, artifact_value, open_content, read_facts
from models.base import SESSION_KEY, Base, CreatedAt, TenantPart, read_time
from models.encryption.keys import TextCipher
from models.scope import Scope

ARTIFACT_KEY = ["artifact.tenant_id", "artifact.artifact_id"]


class ArtifactUse(Base):
    """A tool result stored as an artifact, or a small result of a call that wrote a subject read before."""

    __tablename__ = "artifact_use"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["tenant_id", "artifact_id"], ARTIFACT_KEY, deferrable=True, initially="DEFERRED"
        ),
        Index(None, "tenant_id", "artifact_id"),
        CheckConstraint("place >= 0", name="place_counts_from_0"),
        CheckConstraint("artifact_id is not null or writes", name="no_artifact_only_for_a_write"),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    place: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    artifact_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    turn_index: Mapped[int]
    tool: Mapped[str] = mapped_column(server_default=text("''"))
    subject: Mapped[str] = mapped_column(server_default=text("''"))
    writes: Mapped[bool] = mapped_column(server_default=false())
    source: Mapped[str]
    saved_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    saved_tokens_wide: Mapped[int] = mapped_column(server_default=text("0"))
    created_at: Mapped[CreatedAt]


@dataclass(frozen=True)
class NewUse:
    """A tool result's place in a turn not stored yet.

    Attributes:
        message: Index of the message in the turn, >= 0.
        place: Place among the results of the message, >= 0.
        artifact_id: The artifact; None for a small result of a writing call.
        tool: The called tool; empty when unknown.
        subject: The subject read or written by the call; empty when unknown.
        writes: True if the call changes the subject.
        source: Source, such as `step_1:web_scraper`.
        saved: Tokens saved in the message compared with the sent message, canonical and wide.
    """

    message: int
    place: int
    artifact_id: str | None
    source: str
    tool: str = ""
    subject: str = ""
    writes: bool = False
    saved: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class PlacedUse:
    """A use and the turn of the use."""

    session_id: str
    turn_index: int
    first_seq: int
    use: NewUse


_ADD = text(
    """
    insert into artifact_use (tenant_id, session_id, seq, place, artifact_id, turn_index, tool, subject,
        writes, source, saved_tokens, saved_tokens_wide)
    select :tenant_id, u.* from unnest(
        cast(:session_id as text[]), cast(:seq as bigint[]), cast(:place as smallint[]),
        cast(:artifact_id as text[]), cast(:turn_index as int[]), cast(:tool as text[]),
        cast(:subject as text[]), cast(:writes as boolean[]), cast(:source as text[]),
        cast(:saved_tokens as int[]), cast(:saved_tokens_wide as int[])) as u
    """
)


def add_uses(scope: Scope, uses: Iterable[PlacedUse]) -> None:
    """Record uses of artifacts, in the transaction that stores the messages."""
    cells = scope.cells
    rows = [_row(cells, placed) for placed in uses]
    if rows:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        scope.execute(_ADD, **columns)


def _row(cells: TextCipher, placed: PlacedUse) -> dict[str, object]:
    use = placed.use
    place = (placed.session_id, placed.first_seq + use.message, use.place)
    return {
        "session_id": placed.session_id,
        "seq": placed.first_seq + use.message,
        "place": use.place,
        "artifact_id": use.artifact_id,
        "turn_index": placed.turn_index,
        "tool": use.tool,
        "subject": cells.seal("artifact_use.subject", use.subject, *place),
        "writes": use.writes,
        "source": use.source,
        "saved_tokens": use.saved[0],
        "saved_tokens_wide": use.saved[1],
    }


@dataclass(frozen=True)
class Use:
    """A stored use.

    Attributes:
        seq: The message.
        place: Place among the results of the message.
        turn_index: The turn.
        tool: The called tool.
        subject: The subject read or written by the call.
        writes: True if the call wrote.
        artifact: The result without content; None for a small result of a writing call.
    """

    seq: int
    place: int
    turn_index: int
    tool: str
    subject: str
    writes: bool
    artifact: Artifact | None

    @property
    def access(self) -> Access:
        """The use as an access for `find_superseded`."""
        subject = parse_subject(self.subject, writes=self.writes)
        return Access(self.seq, subject, self.artifact.artifact_id if self.artifact else None)


_COLUMNS_SQL = """
    u.seq, u.place, u.turn_index, u.tool, u.subject, u.writes, u.source, u.created_at, a.artifact_id,
        a.artifact_type, a.kind, a.title, a.media_type, a.size_chars, a.size_bytes, a.tokens, a.tokens_wide,
        a.preview, a.language, a.created_at, a.last_used_at, a.indexed_with
"""
_NEWEST_SQL = """
    from (
        select * from artifact_use
        where tenant_id = {tenant_id} and session_id = {session_id} and seq > {after_seq}
        order by seq desc, place desc limit {newest}
    ) u
    left join artifact a on a.tenant_id = u.tenant_id and a.artifact_id = u.artifact_id
"""
_OF_SESSION = text(
    "select"
    + _COLUMNS_SQL
    + _NEWEST_SQL.format(
        tenant_id=":tenant_id", session_id=":session_id", after_seq=":after_seq", newest=":newest"
    )
    + "order by u.seq, u.place"
)
USED_SQL = f"select u.seq, u.place, a.artifact_id, json_build_array({_COLUMNS_SQL}) as use {_NEWEST_SQL}"
"""The newest uses of a session: their place, the artifact, and the whole as JSON; see `read_use`."""
_USE_COLUMNS = 8
_ARTIFACT_ID = 8
_TIMES = (7, 19, 20)


def load_uses(scope: Scope, session_id: str, *, after_seq: int, newest: int) -> list[Use]:
    """Load the newest uses of a session, small results of writing calls included, oldest first.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        after_seq: Only uses after this message: 0, or the start of the session's present life.
        newest: Maximum number of uses, >= 1.
    """
    asked = {"session_id": session_id, "after_seq": after_seq, "newest": newest}
    cells = scope.cells
    return [_use(cells, session_id, row) for row in scope.execute(_OF_SESSION, **asked)]


def read_use(cells: TextCipher, session_id: str, row: Sequence[Any]) -> Use:
    """Read a use of `USED_SQL`."""
    values = list(row)
    for place in _TIMES:
        values[place] = read_time(values[place])
    return _use(cells, session_id, values)


def _use(cells: TextCipher, session_id: str, row: Any) -> Use:
    seq, place, turn_index, tool, subject, writes, source, created_at = row[:_USE_COLUMNS]
    subject = cells.open("artifact_use.subject", subject, session_id, seq, place)
    use = Use(seq, place, turn_index, tool, subject, writes, None)
    if row[_ARTIFACT_ID] is None:
        return use
    facts = read_facts(cells, row[_USE_COLUMNS:])
    return replace(use, artifact=_historical(facts, use, source, created_at))


def _historical(facts: ArtifactFacts, use: Use, source: str, created_at: datetime) -> Artifact:
    """Build the artifact of an earlier message: the new source names the message, not the step."""
    metadata: Mapping[str, object] = {
        "historical": True,
        "tool": use.tool,
        "subject": use.subject,
        "seq": use.seq,
        "place": use.place,
        "turn_index": use.turn_index,
        "writes": use.writes,
        "step": source,
    }
    name = use.tool or "tool"
    return artifact_value(facts, source=f"history:msg_{use.seq}:{name}", at=created_at, **metadata)


def find_old(uses: Sequence[Use]) -> dict[str, Superseded]:
    """Find the artifacts made old by a later use, with the superseding use; takes uses in log order."""
    return superseded_artifacts([use.access for use in uses])


@dataclass(frozen=True)
class TakenResult:
    """A content taken out of a message.

    Attributes:
        content: The whole text.
        count: Tokens of the whole text.
    """

    content: str
    count: Count


_RESULTS = text(
    """
    select u.seq, a.artifact_id, a.content, a.tokens, a.tokens_wide
    from artifact_use u
    join artifact a on a.tenant_id = u.tenant_id and a.artifact_id = u.artifact_id
    where u.tenant_id = :tenant_id and u.session_id = :session_id and u.seq between :from_seq and :to_seq
    """
)


def load_results(
    scope: Scope, session_id: str, *, from_seq: int, to_seq: int
) -> dict[int, Mapping[str, TakenResult]]:
    """Load the contents taken out of the messages `[from_seq, to_seq]` of a session.

    The stored uses decide, never the text of a message: a text written like a pointer cannot reach a foreign
    content.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        from_seq: First message.
        to_seq: Last message, included.

    Returns:
        {message number: {artifact id: result}} for messages with such results, as taken by `restore_results`.
    """
    found: dict[int, dict[str, TakenResult]] = {}
    cells = scope.cells
    asked = {"session_id": session_id, "from_seq": from_seq, "to_seq": to_seq}
    for seq, artifact_id, content, tokens, wide in scope.execute(_RESULTS, **asked):
        whole = open_content(cells, artifact_id, content)
        found.setdefault(seq, {})[artifact_id] = TakenResult(whole, Count(tokens, wide))
    return dict(found)


_SIZES = text(
    """
    select u.seq, sum(a.tokens)::int as tokens
    from artifact_use u
    join artifact a on a.tenant_id = u.tenant_id and a.artifact_id = u.artifact_id
    where u.tenant_id = :tenant_id and u.session_id = :session_id and u.seq between :from_seq and :to_seq
    group by u.seq order by u.seq
    """
)


def result_sizes(scope: Scope, session_id: str, *, from_seq: int, to_seq: int) -> dict[int, int]:
    """Count the tokens of results taken out of messages, by message, without reading the results.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        from_seq: First message.
        to_seq: Last message, included.
    """
    asked = {"session_id": session_id, "from_seq": from_seq, "to_seq": to_seq}
    return {row.seq: row.tokens for row in scope.execute(_SIZES, **asked)}
