"""`GET /metrics` for Prometheus: measurements of the process, and of the installation from Postgres.

Counts and states come from Postgres and are the same from every replica: aggregate with `max`. Only names
with `afterturn_http_` or `process_` belong to the processes of one port: aggregate with `sum`.
"""

import hmac
import time
from ipaddress import ip_address
from threading import Lock

import structlog
from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from api.http.errors import ProblemError
from api.http.request_times import RequestTimes
from api.metrics.families import SnapshotReading, Watched
from api.settings import ApiSettings, api_settings
from models.database import brief_read_transaction, database_now
from models.ledger.caps import budget_settings, find_caps
from models.snapshot import Snapshot, Spend, sum_spend, take_snapshot

log = structlog.get_logger()
router = APIRouter(tags=["health"])

READ_TIMEOUT_MS = 2_000
"""Longest run of a single statement in a scrape, in milliseconds."""

SPEND_EVERY_S = 60.0
"""Refresh interval of the spend, in seconds; a sum over the day's calls may be older than the rest."""

FORWARDED = (
    *("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"),
    *("x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "fly-client-ip"),
)
"""Headers of a request through a proxy; the connection's address is then not the caller's."""


class Snapshots:
    """Cache of snapshots from Postgres: a single reader for all callers, at most once per interval."""

    def __init__(self) -> None:
        """Start without a snapshot."""
        self._lock = Lock()
        self._snapshot: tuple[float, float, Snapshot] | None = None
        self._spend: tuple[float, Spend] | None = None

    def read(self, *, cache_s: float) -> SnapshotReading:
        """Return the snapshot, refreshed if older than allowed.

        Args:
            cache_s: Highest age, in seconds.
        """
        with self._lock:
            if self._snapshot is None or time.monotonic() - self._snapshot[0] >= cache_s:
                self._refresh()
            spend = self._spend[1] if self._spend else None
            if self._snapshot is None:
                return SnapshotReading(None, spend, 0.0, 0.0)
            at, took_s, snapshot = self._snapshot
            return SnapshotReading(snapshot, spend, time.monotonic() - at, took_s)

    def _refresh(self) -> None:
        began = time.monotonic()
        self._snapshot = None
        try:
            with brief_read_transaction(READ_TIMEOUT_MS) as db:
                now = database_now(db)
                snapshot = take_snapshot(db, now=now)
                self._snapshot = (time.monotonic(), time.monotonic() - began, snapshot)
                if self._spend is None or began - self._spend[0] >= SPEND_EVERY_S:
                    self._spend = None
                    self._spend = (began, sum_spend(db, find_caps(db, budget_settings().caps).caps, now=now))
        except SQLAlchemyError as error:
            log.warning("metrics_incomplete", error=type(error).__name__)


@router.get("/metrics", include_in_schema=False)
def show_metrics(request: Request) -> Response:
    """Answer with every metric as text, to authorized callers."""
    settings = api_settings()
    check_access(request, settings)
    own: RequestTimes = request.app.state.request_times
    snapshots: Snapshots = request.app.state.snapshots
    known = Watched(snapshots.read(cache_s=settings.metrics_cache_s))
    return Response(expose(own.registry, known), headers={"Content-Type": CONTENT_TYPE_LATEST})


def expose(own: CollectorRegistry, known: Collector) -> bytes:
    """Write both groups of metrics, in sequence."""
    theirs = CollectorRegistry()
    theirs.register(known)
    return generate_latest(own) + generate_latest(theirs)


def check_access(request: Request, settings: ApiSettings) -> None:
    """Check access to metrics: by token; without a configured token, from the local machine only.

    Metrics belong to the installation, so no tenant's key gives access.

    Raises:
        ProblemError: The caller has no access.
    """
    if settings.metrics_token is not None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        wanted = settings.metrics_token.get_secret_value().encode()
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), wanted):
            raise ProblemError("unauthorized", "send `Authorization: Bearer <AFTERTURN_METRICS_TOKEN>`")
    elif not _is_local(request):
        raise ProblemError(
            "forbidden", "without AFTERTURN_METRICS_TOKEN, metrics are shown to this machine alone"
        )


def _is_local(request: Request) -> bool:
    """Tell whether the caller is on the local machine, without a proxy between."""
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    try:
        address = ip_address(request.client.host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
