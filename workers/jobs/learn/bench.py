"""Test bench for sets of priors: held-out plans, ranked with any set or none."""

from collections.abc import Sequence

import structlog

from context.catalog.types import Catalog, Entry, EntryKind
from context.priors.evaluate import FEW, Quality, grade_rankings
from context.priors.prior_set import PriorSet
from context.priors.score import bind_priors, score_priors
from context.priors.types import CorruptPriorsError, JoinedPlan
from context.ranking.index import build_index
from context.ranking.rank import rank

log = structlog.get_logger()


class Bench:
    """Ranks the held-out plans, with any set of priors or none."""

    def __init__(self, catalog: Catalog | None, names: Sequence[str], judges: Sequence[JoinedPlan]) -> None:
        """Index the catalog; without a catalog, only the names of called tools are known."""
        self.judges = judges
        catalog = catalog or _catalog_of_names(names, judges)
        self.ids = [entry.entry_id for entry in catalog.entries]
        self.index = build_index(catalog)

    def rankings(self, blob: bytes | None) -> list[list[str]]:
        """Rank the first entries for each plan; by words alone without bytes, or with damaged bytes."""
        bound = None
        if blob is not None:
            try:
                bound = bind_priors(PriorSet.from_bytes(blob), self.ids)
            except CorruptPriorsError as error:
                log.warning("prior_set_unreadable", because=error.message)
        found = []
        for plan in self.judges:
            priors = score_priors(bound, plan.intent, category=plan.category) if bound else None
            entries = rank(self.index, plan.intent, priors=priors, limit=FEW).entries
            found.append([entry.entry_id for entry in entries if entry.score > 0.0])
        return found

    def grade(self, rankings: list[list[str]]) -> Quality:
        """Grade how well rankings foresee the successful tools."""
        return grade_rankings(self.judges, rankings, frozenset(self.ids))


def _catalog_of_names(known: Sequence[str], judges: Sequence[JoinedPlan]) -> Catalog:
    names = dict.fromkeys([*known, *(step.tool for plan in judges for step in plan.tools)])
    return Catalog(tuple(Entry(name, EntryKind.PACK, name) for name in names if name))
