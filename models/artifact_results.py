"""Tool results taken out of certain messages, to be put back into the same messages only."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from context.tokens import Count
from models.artifact import open_content
from models.session import Transaction
from models.text_keys import Cells


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
    db: Transaction, tenant_id: UUID, session_id: str, *, from_seq: int, to_seq: int
) -> dict[int, Mapping[str, TakenResult]]:
    """Load the contents taken out of the messages `[from_seq, to_seq]` of a session.

    The stored uses decide, never the text of a message: a text written like a pointer cannot reach a foreign
    content.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session_id: The session.
        from_seq: First message.
        to_seq: Last message, included.

    Returns:
        {message number: {artifact id: result}} for messages with such results, as taken by `restore_results`.
    """
    found: dict[int, dict[str, TakenResult]] = {}
    cells = Cells(db, tenant_id)
    asked = {"tenant_id": tenant_id, "session_id": session_id, "from_seq": from_seq, "to_seq": to_seq}
    for seq, artifact_id, content, tokens, wide in db.execute(_RESULTS, asked):
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


def result_sizes(
    db: Transaction, tenant_id: UUID, session_id: str, *, from_seq: int, to_seq: int
) -> dict[int, int]:
    """Count the tokens of results taken out of messages, by message, without reading the results.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session_id: The session.
        from_seq: First message.
        to_seq: Last message, included.
    """
    asked = {"tenant_id": tenant_id, "session_id": session_id, "from_seq": from_seq, "to_seq": to_seq}
    return {row.seq: row.tokens for row in db.execute(_SIZES, asked)}
