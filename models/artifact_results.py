"""The results that were taken out of certain messages, and of no others: what may be put back into them."""

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
    """A content that stood in a message.

    Attributes:
        content: The whole text.
        count: What it costs.
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
    """The contents that were taken out of the messages `[from_seq, to_seq]` of a session.

    By what was stored with the messages, never by what stands in them: a text that is written like a pointer
    leads to nothing that was not its own.

    Args:
        db: A transaction.
        tenant_id: Whose session.
        session_id: Which one.
        from_seq: First message.
        to_seq: Last message, both included.

    Returns:
        For each message with such results, they by artifact id, as `restore_results` takes them.
    """
    found: dict[int, dict[str, TakenResult]] = {}
    cells = Cells(db, tenant_id)
    asked = {"tenant_id": tenant_id, "session_id": session_id, "from_seq": from_seq, "to_seq": to_seq}
    for seq, artifact_id, content, tokens, wide in db.execute(_RESULTS, asked):
        whole = open_content(cells, artifact_id, content)
        found.setdefault(seq, {})[artifact_id] = TakenResult(whole, Count(tokens, wide))
    return dict(found)
