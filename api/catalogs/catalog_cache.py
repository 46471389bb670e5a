"""Cache of recently used catalogs: parsed, measured and indexed once a version, not once a call."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from threading import Lock
from uuid import UUID

from api.http.errors import not_found
from context.catalog.compact import Ladder
from context.catalog.read import read_version
from context.catalog.types import Catalog, Size
from context.ranking.index import RankingIndex, build_index
from context.ranking.rank import FormerTools, build_former, find_former
from models.catalogs.catalog import CatalogVersion, find_in_force, load_earlier, load_version
from models.catalogs.settings import catalog_settings
from models.database import read_transaction

_STRIPES = 16
Place = tuple[UUID, str]
Since = tuple[str, datetime]
"""A digest with its activation time; the same digest activated again has other versions before."""


class LoadedCatalog:
    """A catalog version, ready for ranking and compaction."""

    def __init__(self, version: CatalogVersion, earlier: Sequence[tuple[str, str]] = ()) -> None:
        """Parse a version; ranking indexes are built on first use.

        Args:
            version: The version in force.
            earlier: Digest and text of earlier versions with more entries, the latest first.
        """
        self.name = version.name
        self.digest = version.digest
        self.catalog: Catalog = read_version(version.body, version.digest, version.novel_since)
        size = len(version.body.encode())
        self.ladder = Ladder(self.catalog, Size(size, version.tokens))
        self._index: RankingIndex | None = None
        lost = (entry for digest, body in earlier for entry in read_version(body, digest, {}).entries)
        self._lost = [entry for entry in lost if entry.entry_id not in self.catalog.places]
        self.bytes = size * (2 if self._lost else 1)
        self._former: FormerTools | None = None
        self._lock = Lock()

    @property
    def index(self) -> RankingIndex:
        """Ranking index of the full catalog."""
        with self._lock:
            if self._index is None:
                self._index = build_index(self.catalog)
            return self._index

    def missed(self, intent: str, priors: Mapping[str, float] | None = None) -> str | None:
        """Name a removed tool asked for by an intent; None for none."""
        with self._lock:
            if self._lost:
                self._former = build_former(self.catalog, self._lost)
                self._lost = []
            former = self._former
        return find_former(former, intent, priors=priors) if former else None


class CatalogCache:
    """Cache of the catalogs in force used last, of limited size; a new version is seen at the next call."""

    def __init__(self) -> None:
        """Start empty."""
        self._loaded: OrderedDict[Place, tuple[Since, LoadedCatalog]] = OrderedDict()
        self._lock = Lock()
        self._loading = [Lock() for _ in range(_STRIPES)]

    def find(self, tenant_id: UUID, name: str) -> LoadedCatalog:
        """Find a catalog in force, with a single query for its digest if the version is cached.

        Raises:
            ProblemError: The tenant has no such catalog.
        """
        place = (tenant_id, name)
        with read_transaction() as db:
            since = find_in_force(db, tenant_id, name)
        if since is None:
            raise not_found("catalog")
        return self._known(place, since) or self._load(place, since)

    def _known(self, place: Place, since: Since) -> LoadedCatalog | None:
        with self._lock:
            found = self._loaded.get(place)
            if found is None or found[0] != since:
                return None
            self._loaded.move_to_end(place)
            return found[1]

    def _load(self, place: Place, since: Since) -> LoadedCatalog:
        """Load a new version once for all waiting calls, without holding a connection while parsing."""
        with self._loading[hash(place) % _STRIPES]:
            known = self._known(place, since)
            if known is not None:
                return known
            with read_transaction() as db:
                version = load_version(db, *place)
                earlier = load_earlier(db, *place, versions=catalog_settings().catalog_former_versions)
            if version is None:
                raise not_found("catalog")
            loaded = LoadedCatalog(version, earlier)
            self._keep(place, since, loaded)
        return loaded

    def _keep(self, place: Place, since: Since, loaded: LoadedCatalog) -> None:
        with self._lock:
            self._loaded[place] = since, loaded
            self._loaded.move_to_end(place)
            held = sum(each.bytes for _, each in self._loaded.values())
            while self._loaded and held > catalog_settings().catalog_cache_bytes:
                _, (_, oldest) = self._loaded.popitem(last=False)
                held -= oldest.bytes


catalogs = CatalogCache()
