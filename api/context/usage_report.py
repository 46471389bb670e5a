"""Report of an answer's artifacts and tools, and counts after sending."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.context.artifacts import ArtifactSelection
from api.context.tools import ChosenTools
from api.hints import leave
from context.artifact_plans.strategies import EXTRACT_TOKENS
from context.artifact_plans.utilization import (
    ArtifactUsageRecord,
    ContextPlanningCost,
    ContextUtilizationMetadata,
    cache_stats,
)
from context.artifacts.types import Artifact, ProcessingStrategy, ReadingForm
from context.catalog.fit import FIND_TOOLS_HINT
from context.certificate import Exclusion
from context.focus import Focus, SizeClass, normalise
from context.focus.similarity import SIZE_TOKENS
from context.precompute.predict import HITS, REPEATED, FocusOrigin, ReadingCost
from context.precompute.worth import Guess, SpeculationPurpose, worth_making
from context.window.types import ShownArtifacts
from models.artifacts.settings import artifact_settings, planning_settings
from models.artifacts.summary import UNDECIDED, ReadingState, SummaryKey, Wish, want_summary
from models.artifacts.summary_cache import UseOfSummary
from models.artifacts.summary_lookup import is_settled
from models.conversations.session import hold_generation
from models.conversations.session_state import SessionState
from models.database import Transaction, best_effort_transaction
from models.due_work.queue import WorkKind, enqueue
from models.hints import NO_HINTS, Hints
from models.learning.speculation import What, find_record, note_used, price_share
from models.ledger.by_day import find_prices
from models.scope import Scope

log = structlog.get_logger()

NAME_TOOLS_HINT = "{count} more tools are not shown here; a message that names one gets it"
"""Hint about the request's own tools left out for lack of room."""

SIZE = SizeClass.MEDIUM
"""Size of a summary requested by a context request."""


def artifact_members(
    tenant_id: UUID, shelving: ArtifactSelection, shelved: ShownArtifacts, *, model: str
) -> dict[str, Any]:
    """Report the artifacts in use, the kind of use, the planner, and the cost of other models' calls."""
    records = shelved.execution.records
    planned = shelving.planned
    metadata = ContextUtilizationMetadata(
        model_name=model,
        strategy="",
        artifacts_processed=records,
        llm_planning_used=planned.by_model,
        planning_reason=planned.choice.reason,
        planning_fallback=planned.fallback,
        planning_cost=_cost(tenant_id, shelving, shelved),
        cache_stats=cache_stats(records) if records else None,
    )
    return metadata.artifact_members()


def _cost(
    tenant_id: UUID, shelving: ArtifactSelection, shelved: ShownArtifacts
) -> ContextPlanningCost | None:
    """Sum the ledger's cost of the plan's calls and of the calls behind shown summaries."""
    planner = tuple(shelving.planned.call_ids)
    summarizer = tuple(UUID(call) for one in shelved.execution.used for call in one.reading.call_ids)
    if not planner and not summarizer:
        return None
    prices = {call: shelving.prices[call] for call in (*planner, *summarizer) if call in shelving.prices}
    unknown = {*planner, *summarizer} - prices.keys()
    if unknown:
        with Scope.read(tenant_id) as scope:
            prices |= find_prices(scope, unknown)
    cost = ContextPlanningCost.of_calls(
        planner=_priced(planner, prices), summarizer=_priced(dict.fromkeys(summarizer), prices)
    )
    return replace(cost, call_ids=tuple(str(call) for call in dict.fromkeys((*planner, *summarizer))))


def _priced(calls: Iterable[UUID], prices: dict[UUID, Decimal | None]) -> list[Decimal | None]:
    return [prices.get(call) for call in calls]


MOST_NAMED = 20
"""Most tools left out for one reason that an answer names, unless the request asks for all."""


def tool_members(chosen: ChosenTools, *, explain: bool) -> dict[str, Any] | None:
    """Report the outcome for the tools; None for a request without tools.

    Args:
        chosen: The tools.
        explain: True to name all tools left out, and not the first alone.
    """
    if chosen.tools is None:
        return None
    renamed = {name: entry for name, entry in chosen.entry_ids.items() if name != entry}
    sent = set(map(_name, chosen.tools)) if renamed else ()
    return {
        "sent": len(chosen.tools),
        "filtered": list(_named(chosen.filtered, explain=explain)),
        "filtered_count": len(chosen.filtered),
        "hidden": list(_named(chosen.hidden, explain=explain)),
        "hidden_count": len(chosen.hidden),
        "compaction": chosen.compaction,
        "hint": _hint(chosen),
        "gap_warning": chosen.gap_warning,
        "entry_ids": {name: entry for name, entry in renamed.items() if name in sent},
    }


def _hint(chosen: ChosenTools) -> str | None:
    """Write how to reach the hidden tools; None if none is hidden."""
    if not chosen.hidden:
        return None
    return FIND_TOOLS_HINT if chosen.entry_ids else NAME_TOOLS_HINT.format(count=len(chosen.hidden))


def _name(tool: dict[str, Any]) -> str | None:
    function = tool.get("function")
    name = (function if isinstance(function, dict) else tool).get("name")
    return name if isinstance(name, str) else None


def _named(names: Sequence[str], *, explain: bool) -> Sequence[str]:
    return names if explain else names[:MOST_NAMED]


def tool_exclusions(chosen: ChosenTools, *, explain: bool) -> list[Exclusion]:
    """List the tools and skills left out of a request, as named in the certificate, and count the others.

    Args:
        chosen: The tools.
        explain: True to name each.
    """
    left_out = (
        ("tool", "not-wanted-by-preflight", chosen.filtered),
        ("tool", "no-room-for-tools", chosen.hidden),
        ("pipeline", "not-a-tool", chosen.pipelines),
        ("skill", "not-wanted-by-preflight", chosen.skills),
    )
    found = []
    for what, why, names in left_out:
        named = _named(names, explain=explain)
        found += [Exclusion(f"{what} {name}", why, None) for name in named]
        if len(named) < len(names):
            found.append(Exclusion(f"{len(names) - len(named)} more {what}s", why, None))
    return found


@dataclass(frozen=True)
class UseOfArtifacts:
    """Artifacts shown by an answer.

    A session without a turn yet is named all the same, so that its words are erased with the session.

    Attributes:
        session: The session as read; None for a session without a turn.
        session_id: The session.
        model: The answering model.
        shelving: The artifacts of the request.
        shelved: Those shown.
    """

    session: SessionState | None
    session_id: str
    model: str
    shelving: ArtifactSelection
    shelved: ShownArtifacts

    @property
    def records(self) -> Sequence[ArtifactUsageRecord]:
        """How each artifact was used."""
        return self.shelved.execution.records

    def within(self, hints: Hints) -> Hints:
        """Add the uses to the hints of the answer."""
        used = {one.artifact_id for one in self.records if one.how in (ReadingForm.EXACT, ReadingForm.NEAR)}
        return replace(
            hints,
            readings=Counter(record.how or "none" for record in self.records),
            artifact_ids=[record.artifact_id for record in self.records if record.how],
            summaries=[key for artifact_id, key in self.shelving.keys.items() if artifact_id in used],
        )


def remember_use(tenant_id: UUID, use: UseOfArtifacts | None, hints: Hints = NO_HINTS) -> None:
    """Store the hints of an answer, count the uses of artifacts, and queue missing summaries.

    A session changed or erased since the read queues nothing.
    """
    shown = leave(tenant_id, use.within(hints) if use else hints)
    if use is None:
        return
    missed = _missed(use.shelving, use.records)
    is_ahead = use.shelving.planned.by_model or any(one.origin != FocusOrigin.ASKED for one in shown)
    if not missed and not is_ahead:
        return
    try:
        with best_effort_transaction() as db:
            scope = Scope(db, tenant_id)
            if missed and _is_current(scope, use.session):
                price_share = _price_share(scope, use.shelving, use.model)
                _wish(db, _Buyer(tenant_id, use.session_id, price_share), use.shelving, missed)
            _note_uses(scope, use.shelving, shown)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=use.session_id, error=type(error).__name__)


def _is_current(scope: Scope, session: SessionState | None) -> bool:
    return session is None or hold_generation(scope, session.session_id, session.generation)


def _note_uses(scope: Scope, shelving: ArtifactSelection, shown: Sequence[UseOfSummary]) -> None:
    """Count uses of work made ahead, and the tokens saved against an extract and the rule's plan."""
    if shelving.planned.by_model:
        what = What(SpeculationPurpose.PLAN, FocusOrigin.REQUEST)
        note_used(scope, what, saved_tokens=shelving.planned.saved_tokens)
    known = {one.artifact_id: one for one in shelving.artifacts}
    for artifact_id, origin, tokens in shown:
        if origin != FocusOrigin.ASKED:
            artifact = known[artifact_id]
            extract = shelving.shelf.extract_tokens if shelving.shelf else EXTRACT_TOKENS
            saved = min(extract, artifact.tokens, shelving.room or artifact.tokens) - tokens
            note_used(scope, What(SpeculationPurpose.READING, origin, artifact.kind), saved_tokens=saved)


_Missed: TypeAlias = tuple[Artifact, Focus, ArtifactUsageRecord]


def _missed(shelving: ArtifactSelection, records: Sequence[ArtifactUsageRecord]) -> list[_Missed]:
    """List the artifacts without a summary for the question, if the next request may want a summary.

    An extract is a good answer to a look-up, but an agent repeats the look-up at every step.
    Where a plan of a model decides on the look-up, now or at the next step, the extract stays.
    """
    focus, known = shelving.focus, {one.artifact_id: one for one in shelving.artifacts}
    wanted = {ProcessingStrategy.SUMMARIZE.value}
    if shelving.goes_on and not shelving.planned.is_models:
        wanted.add(ProcessingStrategy.RAG_EXTRACT.value)
    missed = [
        record
        for record in records
        if known[record.artifact_id].content is None
        and (record.is_outdated or (record.planned in wanted and record.how != ReadingForm.EXACT))
    ]
    if focus is None:
        return []
    return [
        (
            known[record.artifact_id],
            normalise("") if record.artifact_id in shelving.whole else focus,
            record,
        )
        for record in missed[: planning_settings().artifact_wishes_a_request]
    ]


@dataclass(frozen=True)
class _Buyer:
    """Buyer of summaries, with the price of a summarizer token as a share of the answering model's token."""

    tenant_id: UUID
    session_id: str
    price_share: float


def _is_worth_it(
    db: Transaction,
    buyer: _Buyer,
    shelving: ArtifactSelection,
    artifact: Artifact,
    record: ArtifactUsageRecord,
) -> bool:
    """Tell whether a summary would save more than its call costs, against the present window.

    If the window shows nothing, an extract without room counts. A summary by another summarizer still in use
    has already proved worth its call.
    """
    if record.is_outdated:
        return True
    cost = ReadingCost(artifact.tokens, min(SIZE_TOKENS[SIZE] // 2, artifact.tokens // 3), artifact.tokens)
    shown = record.tokens if record.how else min(EXTRACT_TOKENS, artifact.tokens)
    saved = shown - cost.summary_tokens
    goes_on = shelving.goes_on or shelving.planned.by_model
    waits = shelving.arrivals is not None and not shelving.arrivals.pays(saved, cost.summary_tokens)
    hits = HITS[FocusOrigin.REQUEST] if goes_on and not waits else REPEATED
    guess = Guess(hits, saved, cost.made_with, buyer.price_share)
    past, account = find_record(
        Scope(db, buyer.tenant_id), What(SpeculationPurpose.READING, FocusOrigin.REQUEST, artifact.kind)
    )
    return worth_making(guess, past, account, planning_settings().worth_limits).is_made


def _price_share(scope: Scope, shelving: ArtifactSelection, model: str) -> float:
    """Compute the price of a summarizer token relative to the answering model's token."""
    maker, default = shelving.in_force.model or "", planning_settings().artifact_price_share
    return price_share(scope, maker=maker, answering=model, default=default)


def _wish(db: Transaction, buyer: _Buyer, shelving: ArtifactSelection, missed: Sequence[_Missed]) -> None:
    """Queue missing summaries for the model in force; the worker knows the actual model."""
    tenant_id = buyer.tenant_id
    for artifact, focus, record in missed:
        if not _is_worth_it(db, buyer, shelving, artifact, record):
            continue
        key = SummaryKey(artifact.artifact_id, focus.key, SIZE, focus.language, shelving.summarizer)
        maker = shelving.in_force
        own = replace(key, model=maker.model or UNDECIDED, prompt_version=maker.prompt_version or UNDECIDED)
        if is_settled(Scope(db, tenant_id), own):
            continue
        owner = None if focus.is_general else buyer.session_id
        wish = Wish(key, focus.original, focus.terms, FocusOrigin.REQUEST.value, owner)
        state = want_summary(Scope(db, tenant_id), wish, ttl_s=artifact_settings().artifact_summary_ttl_s)
        if state is ReadingState.WANTED:
            enqueue(Scope(db, tenant_id), WorkKind.ARTIFACT, artifact.artifact_id)
