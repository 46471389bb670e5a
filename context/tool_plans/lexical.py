"""Plan from ranking alone: immediate, free and deterministic."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from context.catalog.types import Catalog
from context.ranking.index import RankingIndex
from context.ranking.rank import rank, serves_nothing
from context.ranking.types import Ranked
from context.text.cut import one_line
from context.text.terms import index_terms
from context.tool_plans.answer import MAX_STEPS, NOTHING_FITS
from context.tool_plans.features import split_asks
from context.tool_plans.pipelines import prefer_pipelines
from context.tool_plans.types import PlanDraft, PlanMode, ToolStep

PriorsOf: TypeAlias = Callable[[str], Mapping[str, float]]
"""Function from an intent to the history score of entries, by id, each in [0, 1]."""

_MAX_ASK_CHARS = 120


def lexical_plan(
    intent: str,
    catalog: Catalog,
    index: RankingIndex,
    mode: PlanMode,
    *,
    priors_of: PriorsOf | None = None,
) -> PlanDraft:
    """Plan by words: the top-ranked entry for each request in the intent.

    Args:
        intent: The user's request.
        catalog: The full catalog.
        index: The catalog's ranking index.
        mode: In `route` the whole intent is ranked once.
        priors_of: History scores of entries for a request.

    Returns:
        A draft with steps without arguments; a request without a matching entry becomes a gap.
    """
    asks = (
        [intent] if mode is PlanMode.ROUTE else (split_asks(intent, actions=_actions_of(catalog)) or [intent])
    )
    found = [(ask, _best(ask, index, priors_of)) for ask in asks]
    steps = _steps([(ask, best) for ask, best in found if best is not None])
    gaps = [one_line(ask, _MAX_ASK_CHARS) for ask, best in found if best is None]
    kept = tuple(prefer_pipelines(steps, catalog)[:MAX_STEPS])
    return PlanDraft(kept, _gap(gaps, is_empty=not kept))


def _actions_of(catalog: Catalog) -> frozenset[str]:
    """List the catalog's action terms: first words of descriptions, if the entry's name has the same word."""
    return frozenset(
        term
        for entry in catalog.entries
        for term in set(index_terms(f"{entry.entry_id} {entry.name}"))
        & set(index_terms(" ".join(entry.description.split()[:1])))
    )


def _best(ask: str, index: RankingIndex, priors_of: PriorsOf | None) -> Ranked | None:
    ranking = rank(index, ask, priors=priors_of(ask) if priors_of else None, explain=True, limit=1)
    first = ranking.entries[0] if ranking.entries else None
    if first is None or first.score <= 0:
        return None
    return None if serves_nothing(ranking) else first


def _steps(found: Sequence[tuple[str, Ranked]]) -> list[ToolStep]:
    reasons: dict[str, str] = {}
    for ask, best in found:
        why = "; ".join(best.reasons) or "its words"
        reasons.setdefault(best.entry_id, f"for '{one_line(ask, _MAX_ASK_CHARS)}': {why}")
    return [ToolStep(order, tool, {}, why) for order, (tool, why) in enumerate(reasons.items(), 1)]


def _gap(asks: Sequence[str], *, is_empty: bool) -> str | None:
    if is_empty:
        return NOTHING_FITS
    return "no entry serves " + "; ".join(f"'{ask}'" for ask in asks) if asks else None
