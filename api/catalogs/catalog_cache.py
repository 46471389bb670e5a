"""Cache of recently used catalogs and priors: parsed, indexed and bound once a version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.cache import FreshCache, RecentCache
from api.http.errors import ProblemError, not_found
from context.catalog.compact import Ladder
from context.catalog.convert import Definitions, define_tools
from context.catalog.read import read_version
from context.catalog.tools import ToolSizes
from context.catalog.types import Catalog, Size
from context.priors.score import BoundPriors, score_priors
from context.priors.types import NO_PRIORS, Priors
from context.ranking.index import RankingIndex
from context.ranking.prepared import (
    CorruptCatalogFormError,
    PreparedCatalog,
    pack_prepared,
    prepare_catalog,
    unpack_prepared,
)
from context.ranking.rank import find_former
from context.ranking.tool_list import ToolList, weigh_tools
from context.tool_plans.features import category_of
from context.types import Wire
from models.catalogs.catalog import (
    CatalogVersion,
    InForce,
    find_in_force,
    load_earlier,
    load_version,
    note_use,
)
from models.catalogs.catalog_form import FormKey, form_revision, has_form, load_form, store_form
from models.catalogs.settings import catalog_settings
from models.database import read_transaction
from models.learning.prior_set import SetKind, SetPlace
from models.learning.served_set import ServedSets, find_served_sets, load_bound_priors
from models.scope import Scope

log = structlog.get_logger()

_STRIPES = 16
Place = tuple[UUID, str]


class LoadedCatalog:
    """A catalog version, ready for ranking and compaction."""

    def __init__(
        self, version: CatalogVersion, form: bytes | None, prepare: Callable[[Catalog], PreparedCatalog]
    ) -> None:
        """Parse a version.

        Args:
            version: The version in force.
            form: Its prepared form, untrusted; None for none.
            prepare: Computes and keeps the form; called at the first use of a missing or corrupt form.
        """
        self.name = version.name
        self.digest = version.digest
        self.catalog: Catalog = read_version(version.body, version.digest, version.novel_since)
        self.ladder = Ladder(self.catalog, Size(len(version.body.encode()), version.tokens))
        self.weight_bytes = weigh_tools(self.ladder.whole.bytes, len(self.catalog.entries))
        self._prepare = prepare
        self._lock = Lock()
        self._defined: dict[Wire, tuple[Definitions, ToolList]] = {}
        self._prepared = self._read(form) if form else None

    def defined(self, wire: Wire) -> tuple[Definitions, ToolList]:
        """Write the entries as tools of a format; once. Two simultaneous calls may write them twice."""
        found = self._defined.get(wire)
        if found is None:
            written = define_tools(self.catalog.entries, wire)
            listed = ToolList(written.tools, lambda: self.index, lambda: self.sizes[wire])
            found = self._defined[wire] = written, listed
        return found

    @property
    def index(self) -> RankingIndex:
        """Ranking index of the full catalog."""
        return self.prepared.index

    @property
    def sizes(self) -> Mapping[Wire, ToolSizes]:
        """Sizes of the tools as defined in each format."""
        return self.prepared.sizes

    @property
    def prepared(self) -> PreparedCatalog:
        """The prepared form, computed if it was missing."""
        with self._lock:
            if self._prepared is None:
                self._prepared = self._prepare(self.catalog)
            return self._prepared

    def missed(self, intent: str, priors: Mapping[str, float] | None = None) -> str | None:
        """Name a removed tool asked for by an intent; None for none."""
        former = self.prepared.former
        return find_former(former, intent, priors=priors) if former else None

    def _read(self, form: bytes) -> PreparedCatalog | None:
        try:
            return unpack_prepared(form, self.catalog)
        except CorruptCatalogFormError as error:
            log.warning("catalog_form_refused", digest=self.digest, reason=error.message)
            return None


class CatalogCache:
    """Cache of the catalogs in force used last, of limited size; a new version is seen at the next call."""

    def __init__(self) -> None:
        """Start empty."""
        self._loaded = RecentCache[Place, tuple[FormKey, LoadedCatalog]](
            lambda: catalog_settings().catalog_cache_bytes, lambda kept: kept[1].weight_bytes
        )
        self._loading = [Lock() for _ in range(_STRIPES)]

    def find(self, tenant_id: UUID, name: str, *, is_use: bool = True) -> LoadedCatalog:
        """Find a catalog in force, with a single query for its digest if the version is cached.

        Args:
            tenant_id: The tenant of the catalog.
            name: Name of the catalog.
            is_use: Note at times that the catalog is used.

        Raises:
            ProblemError: The tenant has no such catalog.
        """
        place = (tenant_id, name)
        with Scope.read(tenant_id) as scope:
            in_force = find_in_force(scope, name)
        if in_force is None:
            raise not_found("catalog")
        if is_use and in_force.is_use_due:
            _note_use(place)
        return self._known(place, in_force) or self._load(place, in_force)

    def prepare(self, tenant_id: UUID, name: str) -> None:
        """Compute and store the form of a catalog in force if none is stored; a failure is only logged."""
        place = (tenant_id, name)
        try:
            with Scope.read(tenant_id) as scope:
                in_force = find_in_force(scope, name)
                if in_force is None or has_form(scope, name, _key(in_force)):
                    return
            known = self._known(place, in_force)
            if known is None:
                _ = self._load(place, in_force).prepared
            else:
                _store(place, in_force, known.catalog, known.prepared)
        except (SQLAlchemyError, ProblemError) as error:
            log.warning("catalogs_not_prepared", error=type(error).__name__)

    def _known(self, place: Place, in_force: InForce) -> LoadedCatalog | None:
        found = self._loaded.get(place)
        return found[1] if found is not None and found[0] == _key(in_force) else None

    def _load(self, place: Place, in_force: InForce) -> LoadedCatalog:
        """Load a new version once for all waiting calls, without holding a connection while parsing."""
        with self._loading[hash(place) % _STRIPES]:
            known = self._known(place, in_force)
            if known is not None:
                return known
            tenant_id, name = place
            with Scope.read(tenant_id) as scope:
                version = load_version(scope, name, with_days=False)
                form = load_form(scope, name, _key(in_force))
            if version is None:
                raise not_found("catalog")
            loaded = LoadedCatalog(version, form, lambda catalog: _prepare(place, in_force, catalog))
            self._loaded.keep(place, (_key(in_force), loaded))
        return loaded


def _key(in_force: InForce) -> FormKey:
    former = catalog_settings().catalog_former_versions
    return FormKey(in_force.digest, in_force.since, f"{form_revision()}-{former}")


def _prepare(place: Place, in_force: InForce, catalog: Catalog) -> PreparedCatalog:
    """Compute a form and store it."""
    tenant_id, name = place
    with Scope.read(tenant_id) as scope:
        earlier = load_earlier(scope, name, versions=catalog_settings().catalog_former_versions)
    lost = [entry for digest, body in earlier for entry in read_version(body, digest, {}).entries]
    prepared = prepare_catalog(catalog, lost)
    _store(place, in_force, catalog, prepared)
    return prepared


def _store(place: Place, in_force: InForce, catalog: Catalog, prepared: PreparedCatalog) -> None:
    """Store a form for other processes and later starts; a failure only costs them the computing."""
    tenant_id, name = place
    try:
        with Scope.best_effort(tenant_id) as scope:
            store_form(scope, name, _key(in_force), pack_prepared(catalog, prepared))
    except SQLAlchemyError as error:
        log.warning("catalog_form_not_stored", digest=catalog.digest, error=type(error).__name__)


def _note_use(place: Place) -> None:
    tenant_id, name = place
    try:
        with Scope.best_effort(tenant_id) as scope:
            note_use(scope, name)
    except SQLAlchemyError as error:
        log.warning("hint_lost", error=type(error).__name__)


catalogs = CatalogCache()


FRESH_S = 2.0
"""Delay, in seconds, until an activated or deactivated set is noticed."""
MOST_SETS = 64


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
        self._bound = RecentCache[tuple[Place, int], tuple[str, PriorsInForce]](lambda: MOST_SETS)

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
        digest, known = self._bound.get((place, version)) or ("", _WORDS_ALONE)
        return known if digest == loaded.digest else self._load(place, version, loaded)

    def forget(self) -> None:
        """Drop the cached versions."""
        self._served.forget()

    def _sets(self, place: Place) -> ServedSets:
        tenant_id, name = place

        def read() -> ServedSets:
            with Scope.read(tenant_id) as scope:
                return find_served_sets(scope, [name]).get(name, NO_SETS)

        return self._served.find(place, read)

    def _load(self, place: Place, version: int, loaded: LoadedCatalog) -> PriorsInForce:
        ids = [entry.entry_id for entry in loaded.catalog.entries]
        with read_transaction() as db:
            bound = load_bound_priors(db, SetPlace(place[0], SetKind.RANKING, place[1]), version, ids)
        found = PriorsInForce(version, bound) if bound else _WORDS_ALONE
        self._bound.keep((place, version), (loaded.digest, found))
        return found


prior_sets = PriorCache()
