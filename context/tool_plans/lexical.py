"""Plan from ranking alone, a filter pass when ranking is unsure, and the warning of a gap."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from context.catalog.compact import short_description
from context.catalog.fit import Fitted
from context.catalog.types import Catalog, CatalogBudget, Size
from context.decode import decode_json
from context.ranking.index import RankingIndex
from context.ranking.rank import is_unsure, rank, serves_nothing
from context.ranking.types import Ranked, Ranking
from context.text.cut import one_line
from context.text.terms import index_terms
from context.tokens import count_text
from context.tool_plans.answer import MAX_STEPS, NOTHING_FITS, find_entry, name_index, prefer_pipelines
from context.tool_plans.features import split_asks
from context.tool_plans.prompt import PlanDraft, PlanMode, Planner, ToolStep
from context.types import JsonObject


def gap_warning(ranking: Ranking, missed: str | None = None) -> str | None:
    """Warn if no entry of a catalog serves an intent, judged by words, history and earlier versions.

    Args:
        ranking: The catalog's ranking for the intent.
        missed: A tool from an earlier version with a better match than any present tool; None for none.

    Returns:
        A sentence for people and models; None if an entry may serve.
    """
    if missed is not None:
        return f"an earlier version of the catalog had {missed!r}, which serves this; the present one has not"
    if not serves_nothing(ranking):
        return None
    words = ", ".join(ranking.gap.unexplained)
    return f"{NOTHING_FITS}; no entry speaks of: {words}" if words else NOTHING_FITS


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


MOST_PICKS = 12
FILTER_OUTPUT_TOKENS = 600

_LINE_CHARS = (200, 80, 0)
"""Longest sentence of a line, in characters; shorter lengths are tried until the list fits."""

IDS_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"ids": {"type": "array", "items": {"type": "string"}}},
    "required": ["ids"],
}


def wants_filter(planner: Planner, fitted: Fitted, entries: Sequence[Ranked]) -> bool:
    """Tell whether a filter pass is worth a call: entries are hidden and ranking is unsure."""
    return planner.profile.filter_pass and fitted.compaction.hidden > 0 and is_unsure(entries)


def filter_lines(catalog: Catalog, planner: Planner, ranked_ids: Sequence[str]) -> str:
    """Write a line for each entry of the full catalog, as long as the budget allows.

    Args:
        catalog: The full catalog.
        planner: The model for the choice.
        ranked_ids: Every id, best first; the last ids are dropped if even bare ids exceed the budget.

    Returns:
        Lines in the catalog's order, within the planner's budget.
    """
    budget = planner.catalog_budget
    for chars in _LINE_CHARS:
        text = "\n".join(_line(entry.entry_id, entry.description, chars) for entry in catalog.entries)
        if budget.holds(_size(text)):
            return text
    kept = _as_fit(ranked_ids, budget)
    return "\n".join(entry.entry_id for entry in catalog.entries if entry.entry_id in kept)


def _line(entry_id: str, description: str, chars: int) -> str:
    return (
        f"{entry_id}: {one_line(short_description(description), chars)}"
        if chars and description
        else entry_id
    )


def _size(text: str) -> Size:
    return Size(len(text.encode()), count_text(text))


def _as_fit(ranked_ids: Sequence[str], budget: CatalogBudget) -> set[str]:
    """Return the best-ranked ids within the budget; sizes are summed line by line, an upper bound."""
    kept: set[str] = set()
    taken = Size(0, 0)
    for entry_id in ranked_ids:
        line = _size(f"{entry_id}\n")
        taken = Size(taken.bytes + line.bytes, taken.tokens + line.tokens)
        if not budget.holds(taken):
            break
        kept.add(entry_id)
    return kept


def read_picks(reply: str | None, catalog: Catalog) -> tuple[str, ...] | None:
    """Read the ids chosen by a model.

    Args:
        reply: The model's reply, in any wrapping.
        catalog: The full catalog.

    Returns:
        Distinct ids of the catalog, at most `MOST_PICKS`; empty without a known id, None for an unreadable
        reply. In both cases the lexical result stays.
    """
    decoded = decode_json(reply, accept=_is_picks)
    if not decoded.ok:
        return None
    names = name_index(catalog)
    found = [find_entry(names, item.strip()) for item in _picks(decoded.value)]
    return tuple(dict.fromkeys(entry_id for entry_id in found if entry_id is not None))[:MOST_PICKS]


def _picks(value: object) -> list[str]:
    listed = value.get("ids") if isinstance(value, dict) else value
    return [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []


def _is_picks(value: object) -> bool:
    listed = value.get("ids") if isinstance(value, dict) else value
    return isinstance(listed, list) and all(isinstance(item, str) for item in listed)


def order_with_picks(picks: Sequence[str], ranked_ids: Sequence[str]) -> list[str]:
    """Order the kept entries: the picks, then the lexical survivors."""
    return list(dict.fromkeys([*picks, *ranked_ids]))


def count_kept(picks: Sequence[str], ranked_ids: Sequence[str], top_n: int | None) -> int | None:
    """Count the kept entries: the picks and the lexical survivors; None for as many as fit."""
    return None if top_n is None else len({*picks, *ranked_ids[:top_n]})
