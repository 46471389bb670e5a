"""Cache of recently used priors: bound to their catalog once a version, not once a call."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from api.cache import FreshCache
from api.catalogs.catalog_cache import LoadedCatalog
from context.priors.score import BoundPriors, score_priors
from context.priors.types import NO_PRIORS, Priors
from context.tool_plans.features import category_of
from models.database import read_transaction
from models.learning.prior_set import SetKind, SetPlace, find_active_version, load_bound_priors

FRESH_S = 2.0
"""Delay, in seconds, until an activated or deactivated set is noticed."""
MOST_SETS = 64

Place = tuple[UUID, str]


@dataclass(frozen=True)
class PriorsInForce:
    """History scores for ranking a catalog.

    Attributes:
        version: The set's version; None for ranking by words alone.
        bound: The set bound to the catalog; None for ranking by words alone.
    """

    version: int | None = None
    bound: BoundPriors | None = None

    def say(self, intent: str, *, explain: bool = False) -> Priors:
        """Score an intent by history; empty without a set."""
        if self.bound is None:
            return NO_PRIORS
        return score_priors(self.bound, intent, category=category_of(intent), explain=explain)


_WORDS_ALONE = PriorsInForce()


class PriorCache:
    """Cache of the last used sets in force, each bound to the version of its catalog."""

    def __init__(self) -> None:
        """Start empty."""
        self._versions = FreshCache[Place, int | None](lambda: FRESH_S, most=MOST_SETS * 16)
        self._kept: OrderedDict[Place, tuple[str, PriorsInForce]] = OrderedDict()
        self._lock = Lock()

    def find(self, tenant_id: UUID, loaded: LoadedCatalog) -> PriorsInForce:
        """Find the priors of a catalog, without a query if recently checked."""
        place = (tenant_id, loaded.name)
        version = self._version(place)
        if version is None:
            return _WORDS_ALONE
        with self._lock:
            digest, known = self._kept.get(place, ("", _WORDS_ALONE))
        if known.version == version and digest == loaded.digest:
            return known
        return self._load(place, loaded)

    def forget(self) -> None:
        """Drop the cached versions."""
        self._versions.forget()

    def _version(self, place: Place) -> int | None:
        def read() -> int | None:
            with read_transaction() as db:
                return find_active_version(db, SetPlace(place[0], SetKind.RANKING, place[1]))

        return self._versions.find(place, read)

    def _load(self, place: Place, loaded: LoadedCatalog) -> PriorsInForce:
        ids = [entry.entry_id for entry in loaded.catalog.entries]
        with read_transaction() as db:
            found = load_bound_priors(db, SetPlace(place[0], SetKind.RANKING, place[1]), ids)
        in_force = PriorsInForce(*found) if found else _WORDS_ALONE
        with self._lock:
            self._kept[place] = (loaded.digest, in_force)
            self._kept.move_to_end(place)
            while len(self._kept) > MOST_SETS:
                self._kept.popitem(last=False)
        return in_force


prior_sets = PriorCache()
