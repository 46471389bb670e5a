"""Fitting of a catalog to a budget: compact first, then the highest-ranked or broadest entries only."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Protocol

from context.catalog.compact import Ladder
from context.catalog.types import Catalog, CatalogBudget, Entry, EntryKind, Size
from context.errors import AfterturnError
from context.types import JsonObject

PACKS_A_PIPELINE = 2
"""Number of packs before each pipeline."""

_ENDS_OF_A_FAMILY = ".:/_-"


def spread_ids(entries: Sequence[Entry]) -> list[str]:
    """Order the entries of a catalog for broad coverage at the beginning.

    Args:
        entries: The entries, each id once.

    Returns:
        Every id once: packs of each family in turn, and a pipeline after every two packs.
    """
    packs = _in_turn([entry for entry in entries if entry.kind is EntryKind.PACK])
    pipelines = iter([entry.entry_id for entry in entries if entry.kind is EntryKind.PIPELINE])
    ordered: list[str] = []
    for place, entry_id in enumerate(packs, 1):
        ordered.append(entry_id)
        if place % PACKS_A_PIPELINE == 0 and (found := next(pipelines, None)) is not None:
            ordered.append(found)
    return [*ordered, *pipelines]


def _in_turn(packs: Sequence[Entry]) -> Iterator[str]:
    families: dict[str, list[str]] = {}
    for entry in packs:
        families.setdefault(entry.group or _family(entry.entry_id), []).append(entry.entry_id)
    for row in zip_longest(*families.values()):
        yield from (entry_id for entry_id in row if entry_id is not None)


def _family(entry_id: str) -> str:
    """Return the beginning of an id, the place of servers and kinds of tools in names."""
    end = min(
        (place for char in _ENDS_OF_A_FAMILY if (place := entry_id.find(char)) > 0), default=len(entry_id)
    )
    return entry_id[:end]


FIND_TOOLS_HINT = "not shown here; find them with find_tools(query)"
"""Hint shown in place of hidden entries."""

MOST_MISSES = 100
"""Richer lines in a row that do not fit, after which the room counts as used."""

LARGE_CUT = 0.3
"""Share of bytes lost; a compaction above is logged."""


class CatalogOverBudgetError(AfterturnError):
    """The required entries exceed the budget even in shortest form."""

    code = "catalog-over-budget"

    def __init__(self, needed: Size, budget: CatalogBudget, pinned: Sequence[str]) -> None:
        """Keep the needed size and the budget."""
        super().__init__(
            f"the catalog does not fit: {_least(needed, pinned)}, and {_left(budget)}; lower "
            "reserve_tokens or max_tokens, or take a model with a larger window",
            needed_bytes=needed.bytes,
            needed_tokens=needed.tokens,
            budget_bytes=budget.bytes,
            budget_tokens=budget.tokens,
            pinned=list(pinned),
        )
        self.needed = needed


def _least(needed: Size, pinned: Sequence[str]) -> str:
    size = f"{needed.tokens} tokens ({needed.bytes} bytes)"
    if not pinned:
        return f"even empty it takes {size}"
    what = "1 pinned entry alone takes" if len(pinned) == 1 else f"{len(pinned)} pinned entries alone take"
    return f"{what} {size}"


def _left(budget: CatalogBudget) -> str:
    if not budget.tokens:
        return "the rest of the request leaves nothing for it"
    most = (
        f"{budget.tokens} tokens"
        if budget.bytes is None
        else f"{budget.tokens} tokens and {budget.bytes} bytes"
    )
    return f"it may take {most}"


@dataclass(frozen=True)
class Compaction:
    """Record of a catalog's losses.

    Attributes:
        before_bytes: Size of the whole catalog.
        after_bytes: Size of the shown catalog.
        before_tokens: Canonical tokens of the whole catalog.
        after_tokens: Canonical tokens of the shown catalog.
        dropped: Parts lost from the shown entries, in the order of removal.
        hidden: Number of hidden entries.
        trimmed: Number of entries shown behind the others as name, first sentence and names of parameters.
    """

    before_bytes: int
    after_bytes: int
    before_tokens: int
    after_tokens: int
    dropped: tuple[str, ...] = ()
    hidden: int = 0
    trimmed: int = 0

    @property
    def is_large_cut(self) -> bool:
        """True if the loss is large enough to log."""
        return self.after_bytes < (1 - LARGE_CUT) * self.before_bytes


@dataclass(frozen=True)
class Fitted:
    """A catalog as shown to a model.

    Attributes:
        text: JSON, a line for each entry, the same bytes for the same entries and level.
        compaction: Record of the losses.
        shown: Ids of the shown entries, in the text's order.
        gap_warning: The ranking's warning if no entry serves the intent.
    """

    text: str
    compaction: Compaction
    shown: tuple[str, ...]
    gap_warning: str | None = None

    @cached_property
    def catalog(self) -> JsonObject:
        """The same as a decoded object."""
        decoded: JsonObject = json.loads(self.text)
        return decoded


class Rungs(Protocol):
    """A list of entries with several levels of brevity, the last level the shortest."""

    levels: int

    @property
    def entries(self) -> int:
        """How many entries there are."""

    def may_fit(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Tell quickly whether some entries are likely to fit at a level."""

    def fits(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Tell whether some entries fit at a level."""


@dataclass(frozen=True)
class FittedEntries:
    """Shown entries and their level."""

    places: tuple[int, ...]
    level: int
    note: str


def compact_catalog(catalog: Catalog | Ladder, budget: CatalogBudget) -> Fitted:
    """Shorten a catalog step by step until the text fits, without hiding entries.

    Args:
        catalog: The catalog, or its ladder if already built.
        budget: The size limit.

    Returns:
        The catalog after the first fitting step, or after all steps; its size then tells if the text fits.
    """
    ladder = catalog if isinstance(catalog, Ladder) else Ladder(catalog)
    every = range(ladder.entries)
    level = _first_level(ladder, every, budget, "")
    return _fitted(ladder, dict.fromkeys(every, ladder.levels - 1 if level is None else level), "", None)


def fit_catalog(
    catalog: Catalog | Ladder,
    budget: CatalogBudget,
    *,
    ranked_ids: Sequence[str] = (),
    pinned: Collection[str] = (),
    top_n: int | None = None,
    gap_warning: str | None = None,
    hint: str = FIND_TOOLS_HINT,
) -> Fitted:
    """Fit a catalog: whole, compacted, or its highest-ranked entries.

    Entries are hidden only if compaction alone is not enough. Then the `top_n` highest-ranked entries are
    compacted in turn, and the lowest are dropped until the rest fits. Room left by them goes to the entries
    that rank next, each in its shortest form. Where none is hidden, room left gives entries back what they
    lost, by rank.

    Args:
        catalog: The catalog, or its ladder if already built.
        budget: The size limit, including the note about hidden entries.
        ranked_ids: Ids from the ranking of the full catalog, best first; unranked entries follow in the
            catalog's order. Without a ranking, the order is spread over all families.
        pinned: Ids kept at any rank, such as tools used in the kept history.
        top_n: The most entries kept whole after hiding, >= 1, pinned ones included; None for as many as fit.
        gap_warning: The ranking's warning, passed on.
        hint: How to reach hidden entries.

    Returns:
        A fitting catalog.

    Raises:
        CatalogOverBudgetError: The pinned entries, or even the empty catalog, exceed the budget.
    """
    ladder = catalog if isinstance(catalog, Ladder) else Ladder(catalog)
    places = ladder.catalog.places
    order = _order(places, ranked_ids or spread_ids(ladder.catalog.entries), pinned)
    kept = sum(1 for place in order if ladder.catalog.entries[place].entry_id in pinned)

    def note(hidden: int) -> str:
        return json.dumps({"entries": hidden, "hint": hint}, ensure_ascii=False) if hint and hidden else ""

    choice = choose(ladder, budget, order=order, pinned=kept, top_n=top_n, note=note)
    if choice is None:
        needed = ladder.size(sorted(order[:kept]), ladder.levels - 1, "")
        raise CatalogOverBudgetError(
            needed, budget, [ladder.catalog.entries[place].entry_id for place in order[:kept]]
        )
    levels = _with_brief(ladder, budget, choice, order, note)
    hidden = note(len(order) - len(levels)) if len(levels) > len(choice.places) else choice.note
    if len(levels) == len(order):
        _enrich(ladder, budget, levels, order, by_rank=bool(ranked_ids))
    return _fitted(ladder, levels, hidden, gap_warning)


def _with_brief(
    ladder: Ladder,
    budget: CatalogBudget,
    choice: FittedEntries,
    order: Sequence[int],
    note: Callable[[int], str],
) -> dict[int, int]:
    """Add the entries that rank next, at the last level, while they fit; the number to try doubles first.

    Returns:
        The level of each shown entry by place.
    """
    rest = order[len(choice.places) :]

    def add(more: int) -> dict[int, int]:
        brief = dict.fromkeys(rest[:more], ladder.levels - 1)
        return dict(sorted({**dict.fromkeys(choice.places, choice.level), **brief}.items()))

    def fits(more: int) -> bool:
        levels = add(more)
        return budget.holds(ladder.size([*levels], levels, note(len(rest) - more)))

    low, high = 0, 1
    while high < len(rest) and fits(high):
        low, high = high, high * 2
    high = min(high, len(rest))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return add(low)


def _enrich(
    ladder: Ladder,
    budget: CatalogBudget,
    levels: dict[int, int],
    order: Sequence[int],
    *,
    by_rank: bool,
) -> None:
    """Raise the entries of a catalog without hidden ones to richer levels while there is room.

    Args:
        ladder: The catalog.
        budget: The size limit, held by the entries.
        levels: The level of each entry, changed in place.
        order: Every place once.
        by_rank: True to raise one entry after the other as far as possible; False to raise all entries by
            one level before any by two, as where nobody knows which is wanted.
    """
    every = range(ladder.levels)
    used = ladder.size([*levels], levels, "")
    former: list[tuple[int, int]] = []
    misses = 0
    ranked = ((place, level) for place in order for level in every)
    in_turn = ((place, level) for level in reversed(every) for place in order)
    for place, level in ranked if by_rank else in_turn:
        low = levels[place]
        raised = ladder.raised(used, place, low, level, budget) if level < low else used
        misses = 0 if raised else misses + 1
        if misses > MOST_MISSES:
            break
        if raised and raised != used:
            former.append((place, low))
            used, levels[place] = raised, level
    while former and not budget.holds(ladder.size([*levels], levels, "")):  # ends of lists count otherwise
        place, low = former.pop()
        levels[place] = low


def choose(
    rungs: Rungs,
    budget: CatalogBudget,
    *,
    order: Sequence[int],
    pinned: int,
    top_n: int | None,
    note: Callable[[int], str],
) -> FittedEntries | None:
    """Choose the shown entries and their level.

    Args:
        rungs: The entries at every level.
        budget: The size limit.
        order: Every place once, the pinned places first, then by rank.
        pinned: Number of entries kept in any case.
        top_n: The most entries kept after hiding; None for as many as fit.
        note: From a number of hidden entries to a note; dropped before any pinned entry.

    Returns:
        The choice; None if even the pinned entries do not fit.
    """
    every = _at(rungs, order, budget, "")
    if every is not None:
        return every
    most = len(order) if top_n is None else min(max(top_n, pinned), len(order))
    if most < len(order) and (best := _at(rungs, order[:most], budget, note(len(order) - most))):
        return best
    shortest = rungs.levels - 1

    def fits(kept: int) -> bool:
        return rungs.may_fit(sorted(order[:kept]), shortest, note(len(order) - kept), budget)

    low, high = pinned, min(most, len(order) - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    for kept in range(low, pinned - 1, -1):
        if best := _at(rungs, order[:kept], budget, note(len(order) - kept)):
            return best
    return _at(rungs, order[:pinned], budget, "")


def _at(rungs: Rungs, kept: Sequence[int], budget: CatalogBudget, note: str) -> FittedEntries | None:
    places = tuple(sorted(kept))
    level = _first_level(rungs, places, budget, note)
    return None if level is None else FittedEntries(places, level, note)


def _first_level(rungs: Rungs, places: Sequence[int], budget: CatalogBudget, note: str) -> int | None:
    levels = (level for level in range(rungs.levels) if rungs.may_fit(places, level, note, budget))
    return next((level for level in levels if rungs.fits(places, level, note, budget)), None)


def _order(places: Mapping[str, int], ranked_ids: Sequence[str], pinned: Collection[str]) -> list[int]:
    ranked = dict.fromkeys([*ranked_ids, *places])
    known = [entry_id for entry_id in ranked if entry_id in places]
    stay = [places[entry_id] for entry_id in known if entry_id in pinned]
    return stay + [places[entry_id] for entry_id in known if entry_id not in pinned]


def _fitted(ladder: Ladder, levels: Mapping[int, int], note: str, gap_warning: str | None) -> Fitted:
    before, after = ladder.whole, ladder.size([*levels], levels, note)
    hidden = ladder.entries - len(levels)
    entries = ladder.catalog.entries
    rich = {place: level for place, level in levels.items() if level < ladder.levels - 1} or levels
    return Fitted(
        ladder.text([*levels], levels, note),
        Compaction(
            before.bytes,
            after.bytes,
            before.tokens,
            after.tokens,
            (*ladder.taken(rich), *([f"{hidden} entries"] if hidden else [])),
            hidden,
            len(levels) - len(rich),
        ),
        tuple(entries[place].entry_id for place in levels),
        gap_warning,
    )
