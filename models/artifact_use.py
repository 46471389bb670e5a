"""Where artifacts are used: which tool result of which message, and what the call read or wrote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

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
from models.artifact import ArtifactFacts, artifact_value, read_facts
from models.base import Base, CreatedAt, TenantPart
from models.conversation import SESSION_KEY
from models.session import Transaction
from models.text_keys import Cells

ARTIFACT_KEY = ["artifact.tenant_id", "artifact.artifact_id"]


class ArtifactUse(Base):
    """A tool result that is an artifact, or a small one of a call that wrote something others had read."""

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
    """A tool result's place in a turn that is not stored yet.

    Attributes:
        message: Index of its message in the turn, >= 0.
        place: Its place among the results of that message, >= 0.
        artifact_id: The artifact that it is; None for a small result of a call that writes.
        tool: The tool that was called; empty where it is not known.
        subject: What the call reads or writes; empty where it is not known.
        writes: Whether the call changes the subject.
        source: Such as `step_1:web_scraper`.
        saved: By how much its message is smaller than it was sent, in the canonical and the wide count.
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
    """A use and the turn that it came with."""

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


def add_uses(db: Transaction, tenant_id: UUID, uses: Iterable[PlacedUse]) -> None:
    """Record where artifacts are used, in the transaction that stores the messages."""
    cells = Cells(db, tenant_id)
    rows = [_row(cells, placed) for placed in uses]
    if rows:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        db.execute(_ADD, {"tenant_id": tenant_id, **columns})


def _row(cells: Cells, placed: PlacedUse) -> dict[str, object]:
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
    """A use as it is stored.

    Attributes:
        seq: The message.
        place: The place among its results.
        turn_index: The turn.
        tool: The tool that was called.
        subject: What the call read or wrote.
        writes: Whether it wrote.
        artifact: The result without its content; None for a small result of a call that wrote.
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
        """The same for `find_superseded`."""
        subject = parse_subject(self.subject, writes=self.writes)
        return Access(self.seq, subject, self.artifact.artifact_id if self.artifact else None)


_OF_SESSION = text(
    """
    select u.seq, u.place, u.turn_index, u.tool, u.subject, u.writes, u.source, u.created_at, a.artifact_id,
        a.artifact_type, a.kind, a.title, a.media_type, a.size_chars, a.size_bytes, a.tokens, a.tokens_wide,
        a.preview, a.language, a.created_at, a.last_used_at, a.indexed_with
    from (
        select * from artifact_use
        where tenant_id = :tenant_id and session_id = :session_id and seq > :after_seq
        order by seq desc, place desc limit :newest
    ) u
    left join artifact a on a.tenant_id = u.tenant_id and a.artifact_id = u.artifact_id
    order by u.seq, u.place
    """
)
_USE_COLUMNS = 8


def load_uses(db: Transaction, tenant_id: UUID, session_id: str, *, after_seq: int, newest: int) -> list[Use]:
    """The newest uses of a session, small results of writing calls included, oldest first.

    Args:
        db: A transaction.
        tenant_id: Whose session.
        session_id: Which one.
        after_seq: Only uses after this message: 0, or where the session's present life begins.
        newest: The most uses, >= 1.
    """
    asked = {"tenant_id": tenant_id, "session_id": session_id, "after_seq": after_seq, "newest": newest}
    cells = Cells(db, tenant_id)
    return [_use(cells, session_id, row) for row in db.execute(_OF_SESSION, asked)]


def load_session_artifacts(
    db: Transaction, tenant_id: UUID, session_id: str, *, after_seq: int, newest: int
) -> list[Artifact]:
    """The artifacts of a session's newest uses, oldest first, without their contents.

    An artifact that was used twice stands there twice: that the later read makes the earlier one superfluous
    is for a plan to say. Each is `historical`, and names its `tool`, `subject`, `seq`, `place`, `turn_index`
    and `writes`; see `load_uses` for the bounds.
    """
    uses = load_uses(db, tenant_id, session_id, after_seq=after_seq, newest=newest)
    return [use.artifact for use in uses if use.artifact is not None]


def _use(cells: Cells, session_id: str, row: Any) -> Use:
    seq, place, turn_index, tool, subject, writes, source, created_at = row[:_USE_COLUMNS]
    subject = cells.open("artifact_use.subject", subject, session_id, seq, place)
    use = Use(seq, place, turn_index, tool, subject, writes, None)
    if row.artifact_id is None:
        return use
    facts = read_facts(cells, row[_USE_COLUMNS:])
    return replace(use, artifact=_historical(facts, use, source, created_at))


def _historical(facts: ArtifactFacts, use: Use, source: str, created_at: datetime) -> Artifact:
    """The stored source names the step of its turn; seen from later, what counts is the message."""
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
    """Which artifacts a later use made old, and by what; the uses in the order of the log."""
    return superseded_artifacts([use.access for use in uses])


_DROP = text(
    """
    delete from artifact_use
    where tenant_id = :tenant_id and session_id = :session_id and seq between :from_seq and :to_seq
    returning artifact_id
    """
)


def drop_uses(
    db: Transaction, tenant_id: UUID, session_id: str, *, from_seq: int, to_seq: int
) -> tuple[int, list[str]]:
    """Forget the uses in messages that are erased.

    Returns:
        How many uses are gone, and the artifacts that they named, for `drop_unused` in the same transaction.
    """
    asked = {"tenant_id": tenant_id, "session_id": session_id, "from_seq": from_seq, "to_seq": to_seq}
    gone = list(db.execute(_DROP, asked).scalars())
    return len(gone), sorted({artifact_id for artifact_id in gone if artifact_id is not None})
