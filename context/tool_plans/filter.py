"""Filter pass: a model chooses ids from a list of one-line entries when ranking is unsure."""

from collections.abc import Sequence

from context.catalog.compact import short_description
from context.catalog.fit import Fitted
from context.catalog.types import Catalog, CatalogBudget, Size
from context.decode import decode_json
from context.ranking.rank import is_unsure
from context.ranking.types import Ranked
from context.text.cut import one_line
from context.tokens import count_text
from context.tool_plans.answer import find_entry, name_index
from context.tool_plans.prompt import Planner
from context.types import JsonObject

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
