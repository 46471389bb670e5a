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
from models.learning.prior_set import SetKind, SetPlace
from models.learning.served_set import ServedSets, find_served_sets, load_bound_priors

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
NO_SETS = ServedSets()


class PriorCache:
    """Cache of the last used sets, each bound to the version of its catalog."""

    def __init__(self) -> None:
        """Start empty."""
        self._served = FreshCache[Place, ServedSets](lambda: FRESH_S, most=MOST_SETS * 16)
        self._kept: OrderedDict[tuple[Place, int], tuple[str, PriorsInForce]] = OrderedDict()
        self._lock = Lock()

    def find(self, tenant_id: UUID, loaded: LoadedCatalog, session_id: str | None = None) -> PriorsInForce:
        """Find the priors of a catalog for a session, without a query if recently checked.

        Args:
            tenant_id: The tenant.
            loaded: The catalog.
            session_id: The session, which decides whether a canary serves; None for the set in force.
        """
        place = (tenant_id, loaded.name)
        version = self._sets(place).version_for(session_id)
        if version is None:
            return _WORDS_ALONE
        with self._lock:
            digest, known = self._kept.get((place, version), ("", _WORDS_ALONE))
        return known if digest == loaded.digest else self._load(place, version, loaded)

    def forget(self) -> None:
        """Drop the cached versions."""
        self._served.forget()

    def _sets(self, place: Place) -> ServedSets:
        def read() -> ServedSets:
            with read_transaction() as db:
                return find_served_sets(db, place[0], [place[1]]).get(place[1], NO_SETS)

        return self._served.find(place, read)

    def _load(self, place: Place, version: int, loaded: LoadedCatalog) -> PriorsInForce:
        ids = [entry.entry_id for entry in loaded.catalog.entries]
        with read_transaction() as db:
            bound = load_bound_priors(db, SetPlace(place[0], SetKind.RANKING, place[1]), version, ids)
        found = PriorsInForce(version, bound) if bound else _WORDS_ALONE
        with self._lock:
            self._kept[place, version] = (loaded.digest, found)
            self._kept.move_to_end((place, version))
            while len(self._kept) > MOST_SETS:
                self._kept.popitem(last=False)
        return found


prior_sets = PriorCache()
