"""Shadow mode at a context read: trial windows, never sent, and the record of their effect."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from secrets import token_bytes
from typing import Any
from uuid import UUID, uuid4

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.cache import FreshCache
from api.context.fill import FilledWindow, Tail, WindowQuery, fill_window, load_tail
from api.context.prepare import RequestPlace, prepare
from api.context.request import ContextRequest, ParsedRequest, WindowLimits, budget_of
from api.context.usage_report import UseOfArtifacts, remember_use
from context.certificate import Certificate
from context.errors import AfterturnError
from context.shadow.facts import compare_facts, names_in, pack, texts_of
from context.shadow.verdict import EVERY_PART, ShadowPart, applied_beside, trials
from context.types import Message
from models.conversations.session import find_session, hold_generation
from models.conversations.standing import SessionSnapshot
from models.database import Transaction, best_effort_transaction, read_transaction
from models.due_work.queue import WorkKind, enqueue
from models.shadow.reads import MOST_SALT_BYTES, ReadState, find_switch, record_reads, shadow_settings
from models.telemetry.counters import Counted, count
from models.tenants.row_security import keep_to


@dataclass(frozen=True)
class VariantQuery:
    """A context request with all inputs of its windows.

    Attributes:
        tenant_id: The caller's tenant.
        session_id: The session's id.
        request: The request.
        given: The parsed request, without any choice yet.
        standing: The session's true state; None for an unstored session.
        limits: Limits of the windows from other sources.
    """

    tenant_id: UUID
    session_id: str
    request: ContextRequest
    given: ParsedRequest
    standing: SessionSnapshot | None
    limits: WindowLimits


@dataclass(frozen=True)
class BuiltWindow:
    """A window, with its prepared request."""

    given: ParsedRequest
    filled: FilledWindow

    @property
    def history(self) -> list[str]:
        """Texts of all parts outside of the request's own: notes, turns, artifacts, recall."""
        own = {message.raw for message in (*self.given.new, *self.given.said)}
        return texts_of(message for message in self.filled.window.messages if not _is_own(message, own))

    @property
    def hidden(self) -> Sequence[str]:
        """Tools left out of the request."""
        return (*self.given.chosen.filtered, *self.given.chosen.hidden)


def _is_own(message: Message, own: set[str]) -> bool:
    return message.seq == 0 and message.raw in own


def as_shown(standing: SessionSnapshot | None, applied: frozenset[ShadowPart]) -> SessionSnapshot | None:
    """Return the session's state for a window with the given parts; without summaries all is raw.

    A provider's compaction is the provider's own, and stays.
    """
    if standing is None or ShadowPart.SUMMARIES in applied or standing.compacted:
        return standing
    return replace(standing, session=standing.session.unsummarized, summary=None)


def lay_window(asking: VariantQuery, applied: frozenset[ShadowPart]) -> BuiltWindow:
    """Make a window with the given parts, without counting, recording or activating anything.

    Raises:
        AfterturnError: The required parts are too large for the window.
    """
    request = asking.request.model_copy(update={"wait_ms": 0})
    budget = budget_of(request, asking.limits)
    standing = as_shown(asking.standing, applied)
    tail: Tail = load_tail(asking.tenant_id, standing, request.model, budget)
    place = RequestPlace(asking.tenant_id, asking.session_id, tail.messages)
    given = prepare(place, request, asking.given, budget, applied, is_trial=True)
    sought = WindowQuery(asking.tenant_id, request, given, standing, budget, applied)
    return BuiltWindow(given, fill_window(sought, tail))


def lay_trials(asking: VariantQuery, wanted: Mapping[str, frozenset[ShadowPart]]) -> dict[str, BuiltWindow]:
    """Make several windows; a failing window is left out."""
    laid = {}
    for name, applied in wanted.items():
        try:
            laid[name] = lay_window(asking, applied)
        except AfterturnError:
            continue
    return laid


log = structlog.get_logger()

JUDGE = "reads"
"""Key of the work of judging a tenant's records."""


shadows = FreshCache[UUID, frozenset[ShadowPart]](lambda: shadow_settings().shadow_cache_s)
"""Parts in shadow of the tenants."""


def shadow_parts(tenant_id: UUID) -> frozenset[ShadowPart]:
    """Return the parts in shadow, at most `shadow_cache_s` old."""

    def read() -> frozenset[ShadowPart]:
        with read_transaction() as db:
            return find_switch(db, tenant_id, default=shadow_settings().shadow_parts).parts

    return shadows.find(tenant_id, read)


@dataclass(frozen=True)
class Shadow:
    """Shadow mode of a read.

    Attributes:
        parts: Parts computed without use.
        is_recorded: True if the read is part of the sample.
    """

    parts: frozenset[ShadowPart] = frozenset()
    is_recorded: bool = False

    @property
    def applied(self) -> frozenset[ShadowPart]:
        """Parts in use."""
        return applied_beside(self.parts) if self.parts else EVERY_PART

    def tries(self, part: ShadowPart) -> bool:
        """Tell whether a window with the part is made beside the served window."""
        return self.is_recorded and part in self.parts

    @property
    def members(self) -> dict[str, Any] | None:
        """Return the answer's section; None without shadow parts."""
        if not self.parts:
            return None
        return {"parts": [part for part in ShadowPart if part in self.parts], "recorded": self.is_recorded}


def shadow_of(tenant_id: UUID) -> Shadow:
    """Return a tenant's shadow mode for a read, with the choice of recording."""
    parts = shadow_parts(tenant_id)
    return Shadow(parts, bool(parts) and random.random() < shadow_settings().shadow_share)  # noqa: S311 - a sample


def record_shadow(asking: VariantQuery, served: BuiltWindow, shadow: Shadow) -> None:
    """Make the unserved windows, and record the differences; a lost record is harmless."""
    tenant_id = asking.tenant_id
    keep_to(tenant_id)
    try:
        laid = lay_trials(asking, _comparable(asking, shadow))
        rows = rows_of(asking, served, laid)
        with best_effort_transaction() as db:
            recorded = rows if rows and _holds(db, asking) else []
            if recorded:
                record_reads(db, tenant_id, recorded)
                enqueue(db, tenant_id, WorkKind.SHADOW, JUDGE, delay_s=shadow_settings().shadow_judge_s)
        for row in recorded:
            count(Counted.SHADOW_TOKENS, row["part"], "sent", by=row["served_tokens"])
            count(Counted.SHADOW_TOKENS, row["part"], "would", by=row["would_tokens"])
        _prepare_artifacts(asking, laid.get(ShadowPart.EXTRACTS))
    except SQLAlchemyError as error:
        log.warning("shadow_record_lost", session_id=asking.session_id, error=type(error).__name__)


def _comparable(asking: VariantQuery, shadow: Shadow) -> Mapping[str, frozenset[ShadowPart]]:
    """Choose the windows to compare: after an emergency, no cut history stands for all raw turns."""
    wanted = trials(shadow.parts)
    shown = as_shown(asking.standing, shadow.applied)
    if ShadowPart.SUMMARIES in shadow.applied or shown is None or shown.session.left_out is None:
        return wanted
    return {name: applied for name, applied in wanted.items() if ShadowPart.SUMMARIES not in applied}


def _holds(db: Transaction, asking: VariantQuery) -> bool:
    """Lock the session as read: a session erased or changed meanwhile is not recorded."""
    standing = asking.standing
    if standing is None:
        return find_session(db, asking.tenant_id, asking.session_id) is None
    return hold_generation(db, asking.tenant_id, asking.session_id, standing.session.generation)


def _prepare_artifacts(asking: VariantQuery, laid: BuiltWindow | None) -> None:
    """Queue the summaries of artifacts, as a request with use of summaries would."""
    if laid is None or asking.standing is None:
        return
    shelved = laid.filled.window.shelved
    if shelved.execution.records:
        session, model = asking.standing.session, asking.request.model
        use = UseOfArtifacts(session, asking.session_id, model, laid.filled.shelving, shelved)
        remember_use(asking.tenant_id, use)


def rows_of(asking: VariantQuery, served: BuiltWindow, laid: dict[str, BuiltWindow]) -> list[dict[str, Any]]:
    """Build the records of a read: numbers, and digests of facts and tools until the next turn."""
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


def _tokens(laid: BuiltWindow) -> int:
    return laid.filled.window.certificate.input_tokens


def numbers_of(laid: BuiltWindow) -> dict[str, Any]:
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
