"""Shadow mode at a context read: trial windows, never sent, and the record of their effect."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from secrets import token_bytes
from typing import Any
from uuid import UUID, uuid4

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.cache import FreshCache
from api.context.fill import FilledWindow, build_window
from api.context.prepare import prepare
from api.context.session_request import LoadedRequest, WindowVariant
from api.context.usage_report import UseOfArtifacts, remember_use
from context.certificate import Certificate
from context.errors import AfterturnError
from context.shadow.facts import compare_facts, names_in, pack, texts_of
from context.shadow.verdict import EVERY_PART, ShadowPart, applied_beside, trials
from models.conversations.session import find_session, hold_generation
from models.database import Transaction, best_effort_transaction
from models.due_work.queue import WorkKind, enqueue
from models.scope import Scope
from models.shadow.reads import MOST_SALT_BYTES, ReadState, find_switch, record_reads
from models.shadow.settings import shadow_settings
from models.telemetry.counters import Counted, count
from models.tenants.row_security import keep_to


def history_of(filled: FilledWindow) -> list[str]:
    """List the texts of all parts outside of the request's own: notes, turns, artifacts, recall."""
    given = filled.prepared.given
    own = {message.raw for message in (*given.new, *given.said)}
    return texts_of(
        message for message in filled.window.messages if message.seq != 0 or message.raw not in own
    )


def hidden_tools(filled: FilledWindow) -> Sequence[str]:
    """Name the tools left out of the request."""
    chosen = filled.prepared.given.chosen
    return (*chosen.filtered, *chosen.hidden)


def try_variant(loaded: LoadedRequest, applied: frozenset[ShadowPart]) -> FilledWindow:
    """Make a window with the given parts, without counting, recording or activating anything.

    Raises:
        AfterturnError: The required parts are too large for the window.
    """
    return build_window(prepare(loaded.varied(WindowVariant(applied, records=False))))


def try_variants(
    loaded: LoadedRequest, wanted: Mapping[str, frozenset[ShadowPart]]
) -> dict[str, FilledWindow]:
    """Make several windows; a failing window is left out."""
    tried = {}
    for name, applied in wanted.items():
        try:
            tried[name] = try_variant(loaded, applied)
        except AfterturnError:
            continue
    return tried


log = structlog.get_logger()

JUDGE = "reads"
"""Key of the work of judging a tenant's records."""


shadows = FreshCache[UUID, frozenset[ShadowPart]](lambda: shadow_settings().shadow_cache_s)
"""Parts in shadow of the tenants."""


def shadow_parts(tenant_id: UUID) -> frozenset[ShadowPart]:
    """Return the parts in shadow, at most `shadow_cache_s` old."""

    def read() -> frozenset[ShadowPart]:
        with Scope.read(tenant_id) as scope:
            return find_switch(scope, default=shadow_settings().shadow_parts).parts

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


def record_shadow(served: FilledWindow, shadow: Shadow) -> None:
    """Make the unserved windows, and record the differences; a lost record is harmless."""
    loaded = served.prepared.loaded
    tenant_id = loaded.tenant_id
    keep_to(tenant_id)
    try:
        tried = try_variants(loaded, _comparable(served, shadow))
        rows = rows_of(served, tried)
        with best_effort_transaction() as db:
            scope = Scope(db, tenant_id)
            recorded = rows if rows and _holds(db, loaded) else []
            if recorded:
                record_reads(scope, recorded)
                enqueue(scope, WorkKind.SHADOW, JUDGE, delay_s=shadow_settings().shadow_judge_s)
        for row in recorded:
            count(Counted.SHADOW_TOKENS, row["part"], "sent", by=row["served_tokens"])
            count(Counted.SHADOW_TOKENS, row["part"], "would", by=row["would_tokens"])
        _prepare_artifacts(tried.get(ShadowPart.EXTRACTS))
    except SQLAlchemyError as error:
        log.warning("shadow_record_lost", session_id=loaded.session_id, error=type(error).__name__)


def _comparable(served: FilledWindow, shadow: Shadow) -> Mapping[str, frozenset[ShadowPart]]:
    """Choose the windows to compare: after an emergency, no cut history stands for all raw turns."""
    wanted, shown = trials(shadow.parts), served.prepared.standing
    if ShadowPart.SUMMARIES in shadow.applied or shown is None or shown.session.left_out is None:
        return wanted
    return {name: applied for name, applied in wanted.items() if ShadowPart.SUMMARIES not in applied}


def _holds(db: Transaction, loaded: LoadedRequest) -> bool:
    """Lock the session as read: a session erased or changed meanwhile is not recorded."""
    scope = Scope(db, loaded.tenant_id)
    if loaded.standing is None:
        return find_session(scope, loaded.session_id) is None
    generation = loaded.standing.session.generation
    return hold_generation(scope, loaded.session_id, generation)


def _prepare_artifacts(tried: FilledWindow | None) -> None:
    """Queue the summaries of artifacts, as a request with use of summaries would."""
    if tried is None or tried.prepared.loaded.standing is None:
        return
    loaded, shelved = tried.prepared.loaded, tried.window.shelved
    if shelved.execution.records and loaded.standing:
        session, model = loaded.standing.session, loaded.request.model
        use = UseOfArtifacts(session, loaded.session_id, model, tried.shelving, shelved)
        remember_use(loaded.tenant_id, use)


def rows_of(served: FilledWindow, tried: Mapping[str, FilledWindow]) -> list[dict[str, Any]]:
    """Build the records of a read: numbers, and digests of facts and tools until the next turn."""
    loaded = served.prepared.loaded
    session = loaded.standing.session if loaded.standing else None
    read_id, salt = uuid4(), token_bytes(MOST_SALT_BYTES)
    history, names_of = history_of(served), cache(names_in)
    rows = []
    for name, other in tried.items():
        facts = compare_facts(history, history_of(other), find=names_of)
        gone = set(hidden_tools(other)) - set(hidden_tools(served))
        rows.append(
            {
                "read_id": read_id,
                "part": name,
                "session_id": loaded.session_id,
                "generation": session.generation if session else 1,
                "after_seq": session.last_seq if session else 0,
                "new_messages": len(loaded.parsed.new),
                "model": loaded.request.model,
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


def _tokens(filled: FilledWindow) -> int:
    return filled.window.certificate.input_tokens


def numbers_of(filled: FilledWindow) -> dict[str, Any]:
    """A window's certificate in numbers: sizes by region and ranges, no name and no text."""
    certificate: Certificate = filled.window.certificate
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
        "tools": len(filled.prepared.given.chosen.tools or ()),
    }
