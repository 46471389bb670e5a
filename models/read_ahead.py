"""Rows of a session that a context read needs in any case, in one statement and of one moment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import ARRAY, Double, Integer, Text, Uuid, bindparam, literal_column, select, true
from sqlalchemy.types import TypeEngine

from context.types import Message
from models.artifacts.summary_lookup import (
    FOR_QUESTION_SQL,
    QuestionKeys,
    StoredForQuestion,
    read_for_question,
)
from models.artifacts.use import USED_SQL, Use, read_use
from models.base import read_rows
from models.conversations.history import NEWEST_SQL, read_newest
from models.conversations.standing import STANDING_QUERY, SessionSnapshot, read_standing
from models.database import Transaction
from models.driver_statement import DriverStatement
from models.encryption.keys import TextCipher, TextUnavailableError
from models.preflight.policy import TOPIC_COLUMNS, TOPIC_OF_SESSION, PreflightSession, Topic, read_topic
from models.providers.context_limit import names_of
from models.scope import Scope


@dataclass(frozen=True)
class Steps:
    """Sessions that are left to their steps: their artifacts are not read ahead.

    Attributes:
        least_turns: Fewest turns of such a session.
        messages: Fewest messages a turn, on average.
    """

    least_turns: int
    messages: int


@dataclass(frozen=True)
class AheadQuery:
    """The rows wanted of a session.

    Attributes:
        tenant_id: The tenant of the session.
        session_id: The session.
        model: The answering model, for its learned limit.
        message_tokens: Tokens of the wanted raw messages, by their average.
        least_messages: Fewest wanted messages.
        most_messages: Most wanted messages.
        newest_uses: Most wanted uses of artifacts.
        question: Keys of the question for artifacts.
        unless: Sessions whose artifacts are not wanted; None for none.
    """

    tenant_id: UUID
    session_id: str
    model: str
    message_tokens: float
    least_messages: int
    most_messages: int
    newest_uses: int
    question: QuestionKeys
    unless: Steps | None = None


@dataclass(frozen=True)
class NewestMessages:
    """The newest raw messages of a session, oldest first.

    Attributes:
        after_seq: The message before the first raw one.
        up_to_seq: The last message.
        messages: The messages.
        is_all: True if no raw message is missing.
    """

    after_seq: int
    up_to_seq: int
    messages: Sequence[Message]
    is_all: bool

    def find(self, *, after_seq: int, up_to_seq: int, most: int) -> list[Message] | None:
        """Find the newest messages of `(after_seq, up_to_seq]`, at most `most`; None if not all were read."""
        if (after_seq, up_to_seq) != (self.after_seq, self.up_to_seq):
            return None
        return list(self.messages[-most:]) if self.is_all or len(self.messages) >= most else None


@dataclass(frozen=True)
class ReadAhead:
    """Rows of a session, of one moment.

    Attributes:
        standing: The session's state.
        topic: The session's last topic.
        newest: The newest raw messages.
        uses: The newest uses of artifacts, oldest first; None if not read.
        has_all_uses: True if no older use is missing.
        stored: Summaries and plans for the question about these artifacts; None if not read.
    """

    standing: SessionSnapshot
    topic: Topic
    newest: NewestMessages
    uses: Sequence[Use] | None = None
    has_all_uses: bool = False
    stored: StoredForQuestion | None = None

    def result_sizes(self, *, from_seq: int, to_seq: int) -> dict[int, int] | None:
        """Count the tokens of results taken out of messages, by message; None if not all were read."""
        if self.uses is None or not (self.has_all_uses or (self.uses and self.uses[0].seq < from_seq)):
            return None
        sizes: dict[int, int] = {}
        for use in self.uses:
            if use.artifact and from_seq <= use.seq <= to_seq:
                sizes[use.seq] = sizes.get(use.seq, 0) + use.artifact.tokens
        return sizes


_PARAMETERS: dict[str, TypeEngine[Any]] = {
    **dict.fromkeys(
        ("least_messages", "most_messages", "newest_uses", "least_turns", "step_messages"), Integer()
    ),
    **dict.fromkeys(("focus_keys", "question_keys"), ARRAY(Text(collation="C"))),
    "message_tokens": Double(),
    "tenant_id": Uuid(),
    "session_id": Text(collation="C"),
}
_ASKED = select(*(bindparam(name, type_=of_type).label(name) for name, of_type in _PARAMETERS.items())).cte(
    "asked"
)
_RAW_FROM = "greatest(session.start_seq, session.summarized_seq)"
# At least as many as the window may take by the average of the raw messages.
_MOST = f"""(1 + least(asked.most_messages, greatest(asked.least_messages, cast(
    asked.message_tokens / greatest(1.0,
        cast(session.history_tokens - session.summarized_tokens as double precision)
        / greatest(session.last_seq - {_RAW_FROM}, 1)) as bigint))))"""
_NEWEST = NEWEST_SQL.format(after_seq=f"greatest({_RAW_FROM}, session.cut_seq)", most=_MOST)
_USED = USED_SQL.format(
    tenant_id="session.tenant_id",
    session_id="session.session_id",
    after_seq="session.start_seq",
    newest="asked.newest_uses",
)
_ARTIFACTS = f"""case when asked.step_messages is null or session.last_turn_index < asked.least_turns
    or session.last_seq < asked.step_messages * session.last_turn_index
    then (
        with used as ({_USED})
        select json_build_array((select json_agg(use order by seq, place) from used), {FOR_QUESTION_SQL})
    ) end"""  # noqa: S608 (parts of our own)
_OWN_COLUMNS = 3
QUERY = (
    STANDING_QUERY.join(PreflightSession, TOPIC_OF_SESSION, isouter=True)
    .join(_ASKED, true())
    .add_columns(
        *TOPIC_COLUMNS,
        literal_column(_MOST).label("most"),
        *(
            literal_column(f"cast({sql} as text)", Text()).label(name)
            for name, sql in {"newest": _NEWEST, "artifacts": _ARTIFACTS}.items()
        ),
    )
)
_STATEMENT = DriverStatement.of(QUERY)


def read_ahead(db: Transaction, query: AheadQuery) -> ReadAhead | None:
    """Read the rows; returns None when no turn of the session was ever accepted.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    cells = TextCipher(db, query.tenant_id)
    own = ("tenant_id", "session_id", "message_tokens", "least_messages", "most_messages", "newest_uses")
    asked = {
        **{name: getattr(query, name) for name in own},
        **names_of(query.model),
        **_forms(query.question, cells),
        "least_turns": query.unless.least_turns if query.unless else None,
        "step_messages": query.unless.messages if query.unless else None,
    }
    rows = _STATEMENT.rows(db, asked)
    if not rows:
        return None
    [row] = rows
    topic_from = len(row) - _OWN_COLUMNS - len(TOPIC_COLUMNS)
    standing = read_standing(Scope(db, query.tenant_id), query.session_id, row[:topic_from])
    most, newest, artifacts = row[-_OWN_COLUMNS:]
    messages = read_newest(cells, query.session_id, read_rows(newest))
    session = standing.session
    found = ReadAhead(
        standing,
        read_topic(row[topic_from:-_OWN_COLUMNS]),
        NewestMessages(session.tail_from, session.last_seq, messages, len(messages) < most),
    )
    return _with_artifacts(found, cells, query, artifacts) if artifacts else found


def _forms(question: QuestionKeys, cells: TextCipher) -> dict[str, list[str]]:
    """Return the stored forms of the keys; none if the tenant has a key that is not available."""
    try:
        return question.forms(cells)
    except TextUnavailableError:
        return {name: [] for name in ("focus_keys", "question_keys")}


def _with_artifacts(found: ReadAhead, cells: TextCipher, query: AheadQuery, artifacts: str) -> ReadAhead:
    used, stored = orjson.loads(artifacts)
    uses = [read_use(cells, query.session_id, row) for row in used or ()]
    ids = {use.artifact.artifact_id for use in uses if use.artifact}
    return replace(
        found,
        uses=uses,
        has_all_uses=len(uses) < query.newest_uses,
        stored=read_for_question(cells, query.question, ids, stored),
    )
