"""Shadow mode at a context read: which parts are in it, and the record of what they would have done."""

import random
import time
from dataclasses import dataclass
from functools import cache
from secrets import token_bytes
from threading import Lock
from typing import Any
from uuid import UUID, uuid4

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.window.account import remember_use
from api.window.trial import Asking, Laid, lay_trials
from context.certificate import Certificate
from context.shadow.facts import compare_facts, names_in, pack
from context.shadow.parts import EVERY_PART, Part, applied_beside, trials
from models.conversation import find_session, hold_generation
from models.counting import Counted, count
from models.row_security import keep_to
from models.session import Transaction, hinting, reading
from models.shadow import MOST_SALT_BYTES, ReadState, find_switch, record_reads
from models.shadow_settings import shadow_settings
from models.work import WorkKind, want

log = structlog.get_logger()

JUDGE = "reads"
"""The key of the work that judges a tenant's records."""


class ShadowCache:
    """What tenants had in shadow a moment ago: a request needs no query for its own."""

    def __init__(self, most: int = 10_000) -> None:
        """Hold at most so many tenants."""
        self._known: dict[UUID, tuple[float, frozenset[Part]]] = {}
        self._most = most
        self._lock = Lock()

    def find(self, tenant_id: UUID) -> frozenset[Part]:
        """The parts in shadow, as they were at most `shadow_cache_s` ago."""
        until, parts = self._known.get(tenant_id, (0.0, None))
        if parts is not None and time.monotonic() < until:
            return parts
        settings = shadow_settings()
        with reading() as db:
            parts = find_switch(db, tenant_id, default=settings.shadow_parts).parts
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[tenant_id] = (time.monotonic() + settings.shadow_cache_s, parts)
        return parts

    def forget(self) -> None:
        """Ask again at the next request."""
        with self._lock:
            self._known.clear()


shadows = ShadowCache()


@dataclass(frozen=True)
class Shadow:
    """Shadow mode of one read.

    Attributes:
        parts: What is computed and not used.
        is_recorded: Whether this read is one of the sample.
    """

    parts: frozenset[Part] = frozenset()
    is_recorded: bool = False

    @property
    def applied(self) -> frozenset[Part]:
        """What is used."""
        return applied_beside(self.parts) if self.parts else EVERY_PART

    def tries(self, part: Part) -> bool:
        """Whether a window with this part is made beside the one that is served."""
        return self.is_recorded and part in self.parts

    @property
    def members(self) -> dict[str, Any] | None:
        """What the answer says; None where nothing is in shadow."""
        if not self.parts:
            return None
        return {"parts": [part for part in Part if part in self.parts], "recorded": self.is_recorded}


def shadow_of(tenant_id: UUID) -> Shadow:
    """What is in shadow for a read of a tenant, and whether it is recorded."""
    parts = shadows.find(tenant_id)
    return Shadow(parts, bool(parts) and random.random() < shadow_settings().shadow_share)  # noqa: S311 - a sample


def record_shadow(asking: Asking, served: Laid, shadow: Shadow) -> None:
    """Make the windows that were not served, and write down how they differ; its loss is harmless."""
    tenant_id = asking.tenant_id
    keep_to(tenant_id)
    try:
        laid = lay_trials(asking, trials(shadow.parts))
        rows = rows_of(asking, served, laid)
        with hinting() as db:
            recorded = rows if rows and _holds(db, asking) else []
            if recorded:
                record_reads(db, tenant_id, recorded)
                want(db, tenant_id, WorkKind.SHADOW, JUDGE, delay_s=shadow_settings().shadow_judge_s)
        for row in recorded:
            count(Counted.SHADOW_TOKENS, row["part"], "sent", by=row["served_tokens"])
            count(Counted.SHADOW_TOKENS, row["part"], "would", by=row["would_tokens"])
        _prepare_artifacts(asking, laid.get(Part.EXTRACTS))
    except SQLAlchemyError as error:
        log.warning("shadow_record_lost", session_id=asking.session_id, error=type(error).__name__)


def _holds(db: Transaction, asking: Asking) -> bool:
    """Hold the session as it was read: nothing is recorded of one that was erased or changed meanwhile."""
    standing = asking.standing
    if standing is None:
        return find_session(db, asking.tenant_id, asking.session_id) is None
    return hold_generation(db, asking.tenant_id, asking.session_id, standing.session.generation)


def _prepare_artifacts(asking: Asking, laid: Laid | None) -> None:
    """Ask for the summaries of artifacts as a request does that may use them."""
    if laid is None or asking.standing is None:
        return
    shelved = laid.filled.window.shelved
    if shelved.execution.records:
        session = asking.standing.session
        remember_use(
            asking.tenant_id,
            session,
            laid.filled.shelving,
            shelved,
            session_id=asking.session_id,
            model=asking.request.model,
        )


def rows_of(asking: Asking, served: Laid, laid: dict[str, Laid]) -> list[dict[str, Any]]:
    """The records of one read: numbers, and digests of facts and tools until the turn has come."""
    session = asking.standing.session if asking.standing else None
    read_id, salt = uuid4(), token_bytes(MOST_SALT_BYTES)
    history, names_of = served.history, cache(names_in)
    rows = []
    for name, other in laid.items():
        facts = compare_facts(history, other.history, find=names_of)
        gone = set(other.hidden) - set(served.hidden)
        rows.append(
            {
                "read_id": read_id,
                "part": name,
                "session_id": asking.session_id,
                "generation": session.generation if session else 1,
                "after_seq": session.last_seq if session else 0,
                "new_messages": len(asking.given.new),
                "model": asking.request.model,
                "served_tokens": _tokens(served),
                "would_tokens": _tokens(other),
                "served": numbers_of(served),
                "would": numbers_of(other),
                "hidden_tools": len(gone),
                "state": ReadState.WAITING,
                "salt": salt,
                "held": pack(facts.both, salt),
                "lacking": pack(facts.lacking, salt),
                "hidden": pack(gone, salt),
            }
        )
    return rows


def _tokens(laid: Laid) -> int:
    return laid.filled.window.certificate.input_tokens


def numbers_of(laid: Laid) -> dict[str, Any]:
    """A window's certificate in numbers: sizes by region and ranges, no name and no text."""
    certificate: Certificate = laid.filled.window.certificate
    regions: dict[str, int] = {}
    for block in certificate.blocks:
        regions[block.source] = regions.get(block.source, 0) + block.tokens
    return {
        "fits": certificate.fits,
        "input_tokens": certificate.input_tokens,
        "budget": certificate.budget,
        "context_window": certificate.context_window,
        "summary_covers": certificate.summary_covers,
        "tail": certificate.tail,
        "tail_contiguous": certificate.tail_contiguous,
        "tool_pairs_intact": certificate.tool_pairs_intact,
        "regions": regions,
        "excluded": len(certificate.excluded),
        "tools": len(laid.given.chosen.tools or ()),
    }
