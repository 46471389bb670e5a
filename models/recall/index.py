"""Recall index of older turns: passages, frequencies of terms, and the end of the index."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    BindParameter,
    CheckConstraint,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from context.recall.passages import Passage
from models.base import SESSION_KEY, Base, TenantKey
from models.conversations.log import StoredMessage
from models.conversations.session import Session
from models.conversations.session_state import SessionState
from models.database import Transaction
from models.encryption.cipher import TextKey, has_masters
from models.encryption.keys import TextCipher
from models.recall.settings import recall_settings
from models.recall.user import UserKey, users_of_turns
from models.scope import Scope


class RecallPassage(Base):
    """A piece of a message, with the keys of the terms."""

    __tablename__ = "recall_passage"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        Index(None, "tenant_id", "session_id", "seq"),
        Index(None, "keys", postgresql_using="gin", postgresql_with={"fastupdate": "off"}),
        Index(
            None,
            "user_keys",
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
            postgresql_where=text("user_keys is not null"),
        ),
        CheckConstraint("tokens >= 1", name="tokens_are_counted"),
        CheckConstraint("0 <= part and part < parts", name="part_is_one_of_the_parts"),
    )

    tenant_id: Mapped[TenantKey]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    start_seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    start: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    seq: Mapped[int] = mapped_column(BigInteger)
    turn_index: Mapped[int]
    line: Mapped[int]
    part: Mapped[int]
    parts: Mapped[int]
    speaker: Mapped[str]
    body: Mapped[str]
    tokens: Mapped[int]
    keys: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    user_keys: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))


class RecallTerm(Base):
    """Number of a session's passages with a term; the term itself is stored only as a key."""

    __tablename__ = "recall_term"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        CheckConstraint("passages >= 0", name="passages_are_counted"),
    )

    tenant_id: Mapped[TenantKey]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    start_seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    key: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    passages: Mapped[int]


class RecallProgress(Base):
    """Progress of a session's index."""

    __tablename__ = "recall_progress"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        CheckConstraint("through_seq >= 0", name="through_seq_counts_from_0"),
    )

    tenant_id: Mapped[TenantKey]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    start_seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    through_seq: Mapped[int] = mapped_column(BigInteger)
    passages: Mapped[int]
    tokens: Mapped[int] = mapped_column(BigInteger)
    keyed: Mapped[bool] = mapped_column(server_default=text("false"))


@dataclass(frozen=True)
class RecallKey:
    """Key of an index: a session since the last reset.

    Attributes:
        tenant_id: The tenant of the session.
        session_id: The session.
        start_seq: The session's `start_seq`: a reset begins a new index, an erase keeps the index.
    """

    tenant_id: UUID
    session_id: str
    start_seq: int = 0

    def of(self, table: type[RecallPassage | RecallTerm | RecallProgress]) -> ColumnElement[bool]:
        """Return the condition for rows of the index in a table."""
        return and_(
            table.tenant_id == self.tenant_id,
            table.session_id == self.session_id,
            table.start_seq == self.start_seq,
        )

    def columns(self) -> dict[str, Any]:
        """Return the key as a row's first columns."""
        return {
            "tenant_id": self.tenant_id,
            "session_id": self.session_id,
            "start_seq": self.start_seq,
        }

    def term_keys(self, terms: Iterable[str], secret: TextKey | None = None) -> dict[str, int]:
        """Compute the key of each term: the index's half first, so that a session's keys lie together.

        Args:
            terms: Terms to look for.
            secret: The tenant's key, for an index made with the key.
        """
        index = blake2b(
            f"{self.tenant_id}/{self.start_seq}/{self.session_id}".encode(), digest_size=4
        ).digest()
        return {
            term: int.from_bytes(
                index
                + (
                    secret.hash_term(term, size=4)
                    if secret
                    else blake2b(term.encode(), digest_size=4).digest()
                ),
                signed=True,
            )
            for term in terms
        }


@dataclass(frozen=True)
class Progress:
    """Progress of an index: last message, number of passages and of tokens."""

    through_seq: int = 0
    passages: int = 0
    tokens: int = 0

    def after(self, added: Sequence[Passage], through_seq: int) -> "Progress":
        """Compute the progress after adding passages."""
        tokens = sum(passage.tokens for passage in added)
        return Progress(through_seq, self.passages + len(added), self.tokens + tokens)


_ERASE = text("""
    with gone as (
        delete from recall_passage
        where tenant_id = :tenant_id and session_id = :session_id and seq between :from_seq and :to_seq
        returning start_seq, keys
    ), lost as (
        select start_seq, key, count(*) as times from gone, unnest(keys) key group by start_seq, key
    ), counted as (
        update recall_term term set passages = term.passages - lost.times from lost
        where term.tenant_id = :tenant_id and term.session_id = :session_id
            and term.start_seq = lost.start_seq and term.key = lost.key
    )
    select count(*) from gone
""")


def find_progress(db: Transaction, index: RecallKey) -> Progress:
    """Find the progress of the index; the empty progress before the first passage."""
    row = db.execute(
        select(RecallProgress.through_seq, RecallProgress.passages, RecallProgress.tokens).where(
            index.of(RecallProgress)
        )
    ).one_or_none()
    return Progress(*row) if row else Progress()


def is_indexed(scope: Scope, session: SessionState, *, through_seq: int) -> bool:
    """Check whether recall knows every message up to a point: only then may a summary hide the messages."""
    index = RecallKey(scope.tenant_id, session.session_id, session.start_seq)
    return not recall_settings().recall_is_on or find_progress(scope.db, index).through_seq >= through_seq


def find_turns(scope: Scope, session_id: str, *, after_seq: int, up_to_seq: int) -> dict[int, int]:
    """Map each message of `(after_seq, up_to_seq]` to the turn."""
    rows = scope.db.execute(
        select(StoredMessage.seq, StoredMessage.turn_index).where(
            StoredMessage.tenant_id == scope.tenant_id,
            StoredMessage.session_id == session_id,
            StoredMessage.seq > after_seq,
            StoredMessage.seq <= up_to_seq,
        )
    )
    return {row.seq: row.turn_index for row in rows}


def lock_source(db: Transaction, index: RecallKey, *, generation: int) -> bool:
    """Lock a session until the transaction ends, so that nobody erases messages about to be indexed.

    Returns:
        False for a session no longer of this generation: data read before may be gone.
    """
    found = db.execute(
        select(Session.generation)
        .where(Session.tenant_id == index.tenant_id, Session.session_id == index.session_id)
        .with_for_update(key_share=True)
    ).scalar_one_or_none()
    return found == generation


def add_passages(
    db: Transaction, index: RecallKey, passages: Sequence[Passage], *, base: Progress, through_seq: int
) -> bool:
    """Append passages, made on `base`.

    Returns:
        False when another worker moved the index on from `base` first: nothing is added.
    """
    keyed = _move_on(db, index, base, base.after(passages, through_seq))
    if keyed is None:
        return False
    cells = TextCipher(db, index.tenant_id)
    secret = cells.reading_key() if keyed else None
    rows = [_row(cells, index, passage, secret) for passage in passages]
    if rows:
        _add_user_keys(db, index, rows)
        db.execute(insert(RecallPassage), rows)
        _count_terms(db, index, Counter(key for row in rows for key in row["keys"]))
    return True


def _move_on(db: Transaction, index: RecallKey, base: Progress, after: Progress) -> bool | None:
    """Compare and set: replace the progress `base` by `after`, or change nothing and return None.

    Returns whether the terms of the index are hashed with the tenant's key, as decided at the beginning of
    the index. An index rewound to the very beginning has a row with the same meaning as no row.
    """
    is_base = (RecallProgress.through_seq == base.through_seq, RecallProgress.passages == base.passages)
    if base == Progress():
        begun = {**asdict(after), "keyed": TextCipher(db, index.tenant_id).writing_key() is not None}
        new = upsert(RecallProgress).values(**index.columns(), **begun)
        new = new.on_conflict_do_update(index_elements=[*index.columns()], set_=begun, where=and_(*is_base))
        return db.execute(new.returning(RecallProgress.keyed)).scalar_one_or_none()
    moved = update(RecallProgress).where(index.of(RecallProgress), *is_base)
    return db.execute(moved.values(asdict(after)).returning(RecallProgress.keyed)).scalar_one_or_none()


def find_secret(db: Transaction, index: RecallKey) -> TextKey | None:
    """Find the hashing key of an index's terms; returns None for terms hashed without a key."""
    if not has_masters():
        return None
    keyed = db.execute(select(RecallProgress.keyed).where(index.of(RecallProgress))).scalar_one_or_none()
    return TextCipher(db, index.tenant_id).reading_key() if keyed else None


def passage_row(index: RecallKey, start: int) -> tuple[object, ...]:
    """Return the key of a passage, without the tenant."""
    return index.session_id, index.start_seq, start


def _row(cells: TextCipher, index: RecallKey, passage: Passage, secret: TextKey | None) -> dict[str, Any]:
    place = passage_row(index, passage.start)
    return {
        **index.columns(),
        "start": passage.start,
        "seq": passage.seq,
        "turn_index": passage.turn_index,
        "line": passage.line,
        "part": passage.part,
        "parts": passage.parts,
        "speaker": cells.seal("recall_passage.speaker", passage.speaker, *place),
        "body": cells.seal("recall_passage.body", passage.text, *place),
        "tokens": passage.tokens,
        "keys": sorted(index.term_keys(passage.terms, secret).values()),
    }


def _add_user_keys(db: Transaction, index: RecallKey, rows: Sequence[dict[str, Any]]) -> None:
    """Add the user keys to passages of turns with a user, for recall from the user's other sessions."""
    users = users_of_turns(Scope(db, index.tenant_id), index.session_id, {row["turn_index"] for row in rows})
    for row in rows:
        user_id = users.get(row["turn_index"])
        user = UserKey(index.tenant_id, user_id) if user_id else None
        row["user_keys"] = user.keys_of(row["keys"], start=row["start"]) if user else None


def _count_terms(db: Transaction, index: RecallKey, counts: Mapping[int, int]) -> None:
    """Count terms in the order of the keys, so that two transactions cannot deadlock."""
    keys = sorted(counts)
    fresh: Any = select(
        *(bindparam(name, value) for name, value in index.columns().items()),
        func.unnest(big_array(keys)),
        func.unnest(big_array([counts[key] for key in keys])),
    )
    statement = upsert(RecallTerm).from_select([*index.columns(), "key", "passages"], fresh)
    db.execute(
        statement.on_conflict_do_update(
            index_elements=[*index.columns(), "key"],
            set_={"passages": RecallTerm.passages + statement.excluded.passages},
        )
    )


def erase_passages(scope: Scope, session_id: str, *, from_seq: int, to_seq: int) -> int:
    """Erase the messages of a range from every index of the session, and correct the counts of terms.

    Returns:
        Number of removed passages. An index does not go back: the range is not read again.
    """
    removed = scope.execute(_ERASE, session_id=session_id, from_seq=from_seq, to_seq=to_seq).scalar_one()
    if removed:
        scope.db.execute(
            delete(RecallTerm).where(
                RecallTerm.tenant_id == scope.tenant_id,
                RecallTerm.session_id == session_id,
                RecallTerm.passages == 0,
            )
        )
    return int(removed)


def big_array(keys: Sequence[int]) -> BindParameter[Any]:
    """Build a parameter of 64-bit keys, typed like the column."""
    return bindparam(None, list(keys), ARRAY(BigInteger))
