"""What a request sees again of the turns that its window leaves out; it neither waits nor fails by it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog

from context.budget import Budget
from context.certificate import Certificate
from context.preflight.policy import FULL_MEMORY
from context.preflight.types import MemoryParams
from context.recall.selection import RecallBlock, choose_blocks
from context.tokens import count_text
from models.conversation import SessionState
from models.recall import RecallKey
from models.recall_search import find_passages
from models.session import Transaction, reading_briefly
from models.settings import recall_settings

log = structlog.get_logger()


def recall(
    tenant_id: UUID,
    session: SessionState,
    question: str,
    budget: Budget,
    memory: MemoryParams | None = None,
) -> Sequence[RecallBlock] | None:
    """Find stretches of the turns that windows leave out, as far as they bear on a question.

    Args:
        tenant_id: Whose session.
        session: Which one.
        question: What is asked.
        budget: The window.
        memory: How much preflight wants recalled; the settings hold for what it calls full.

    Returns:
        The stretches, in the order of the conversation; None where the search failed or took too long.
    """
    settings = recall_settings()
    wanted = memory or FULL_MEMORY
    most = settings.recall_max_tokens * wanted.max_tokens // FULL_MEMORY.max_tokens
    facts = settings.recall_max_facts * wanted.max_facts // FULL_MEMORY.max_facts
    most = min(most, int(budget.input_tokens * settings.recall_max_share))
    if not settings.recall_is_on or not question or not facts or session.tail_from <= session.start_seq:
        return ()
    try:
        with reading_briefly(settings.recall_timeout_ms) as db:
            return _search(db, tenant_id, session, question, max_tokens=most, max_facts=facts)
    except Exception as error:  # noqa: BLE001 (whatever is wrong with recall, the window is right without it)
        log.warning("recall_failed", session_id=session.session_id, error=type(error).__name__)
        return None


def _search(
    db: Transaction,
    tenant_id: UUID,
    session: SessionState,
    question: str,
    *,
    max_tokens: int,
    max_facts: int,
) -> list[RecallBlock]:
    index = RecallKey(tenant_id, session.session_id, session.start_seq)
    found = find_passages(db, index, question, through_seq=session.tail_from, max_tokens=max_tokens)
    kept = session.left_out.kept_seq if session.left_out else None
    return choose_blocks(
        [passage for passage in found.passages if passage.seq != kept],
        found.weights,
        max_tokens=max_tokens,
        max_facts=max_facts,
        count=count_text,
    )


def recall_report(certificate: Certificate) -> dict[str, Any]:
    """Whether anything was recalled, how much of the window it takes, and where not, why not."""
    tokens = sum(block.tokens for block in certificate.blocks if block.source == "recall")
    missing = [excluded.why for excluded in certificate.excluded if excluded.what.startswith("recall")]
    silence = "nothing-found" if recall_settings().recall_is_on else "off"
    return {"status": "shown" if tokens else next(iter(missing), silence), "tokens": tokens}
