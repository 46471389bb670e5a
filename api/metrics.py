"""`GET /metrics` for Prometheus: measurements of the process, and of the installation.

Counts and states come from Postgres and are the same from every replica: aggregate with `max`. Only names
with `afterturn_http_` or `process_` belong to the processes of one port: aggregate with `sum`.
"""

import hmac
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from threading import Lock

import structlog
from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from api.http.errors import ProblemError
from api.http.middleware import RequestTimes
from api.settings import ApiSettings, api_settings
from models.database import brief_read_transaction, database_now
from models.ledger.caps import find_caps
from models.ledger.settings import budget_settings
from models.snapshot import Snapshot, Spend, Total, sum_spend, take_snapshot
from models.telemetry.counters import Counted

PREFIX = "afterturn_"


@dataclass(frozen=True)
class SnapshotReading:
    """A reading with its age.

    Attributes:
        snapshot: All values but the spend; None if the database did not answer.
        spend: The spend; None if not read yet.
        age_s: Age of the snapshot, in seconds.
        took_s: Duration of the reading, in seconds.
    """

    snapshot: Snapshot | None
    spend: Spend | None
    age_s: float
    took_s: float


@dataclass(frozen=True, eq=False)
class Watched:
    """A collector of a single reading; the registry tells collectors apart by identity."""

    reading: SnapshotReading

    def collect(self) -> Iterator[Metric]:
        """Yield every metric from Postgres."""
        snapshot, spend = self.reading.snapshot, self.reading.spend
        yield _gauge("database_up", "Whether Postgres answered.", [((), float(snapshot is not None))])
        if snapshot is None:
            return
        yield _gauge("snapshot_age_seconds", "How old what follows is.", [((), self.reading.age_s)])
        yield _gauge("snapshot_read_seconds", "How long it took to read.", [((), self.reading.took_s)])
        yield from _of_work(snapshot)
        yield from _of_roles_and_models(snapshot)
        yield from _of_retention(snapshot)
        if spend is not None:
            yield from _of_spend(spend)
        yield from _of_counts(snapshot.totals)


def _of_work(snapshot: Snapshot) -> Iterator[Metric]:
    rows = [((one.kind, one.state), one) for one in snapshot.work]
    counts = [(labels, float(one.count)) for labels, one in rows]
    yield _gauge("work", "Work by kind and state.", counts, ("kind", "state"))
    oldest: dict[str, float] = {}
    for one in snapshot.work:
        if one.waits:
            oldest[one.kind] = max(one.oldest_s, oldest.get(one.kind, 0.0))
    waiting = [((kind,), seconds) for kind, seconds in oldest.items()]
    yield _gauge(
        "work_oldest_due_seconds", "For how long the oldest work has waited for a worker.", waiting, ("kind",)
    )
    cut = [((), float(snapshot.is_cut))]
    yield _gauge("work_is_cut", "Whether there is more work than was counted.", cut)
    over = [((one.scope, one.unit), float(one.count)) for one in snapshot.over_caps]
    yield _gauge("work_over_cap", "Work that waits for a cap.", over, ("scope", "unit"))
    waits = [((one.waits_for,), one.oldest_s) for one in snapshot.waiting]
    meaning = "For how long the oldest work has waited for a cap or a model, over all its tries."
    yield _gauge("work_oldest_wait_seconds", meaning, waits, ("waits_for",))
    held = [((queue,), float(messages)) for queue, messages in snapshot.queues.items()]
    yield _gauge("broker_messages", "Messages that wait in a queue of the broker.", held, ("queue",))


def _of_roles_and_models(snapshot: Snapshot) -> Iterator[Metric]:
    alive = [((one.role,), float(one.alive)) for one in snapshot.roles]
    yield _gauge("role_alive", "Processes that showed themselves within a minute.", alive, ("role",))
    seen = [((one.role,), one.seen_s) for one in snapshot.roles]
    yield _gauge("role_last_seen_seconds", "Since a role was last at work.", seen, ("role",))
    models = {
        (role.detail.get("summarizer"), role.detail.get("planner"))
        for role in snapshot.roles
        if role.role == "worker" and role.detail
    }
    used = [((str(summarizer), str(planner)), 1.0) for summarizer, planner in models]
    yield _gauge("models_in_use", "What workers ask.", used, ("summarizer", "planner"))
    gates = [((gate.model, str(gate.state)), 1.0) for gate in snapshot.gates]
    yield _gauge("model_breaker", "Models that failed since they last answered.", gates, ("model", "state"))
    failures = [((gate.model,), float(gate.failures)) for gate in snapshot.gates]
    yield _gauge("model_failures", "How often they did, in a row.", failures, ("model",))
    sets = [((one.kind, one.state), float(one.count)) for one in snapshot.sets]
    yield _gauge("prior_sets", "Sets of priors in force.", sets, ("kind", "state"))


def _of_retention(snapshot: Snapshot) -> Iterator[Metric]:
    runs = [snapshot.retention] if snapshot.retention else []
    since = [((), run.since_s) for run in runs]
    yield _gauge("retention_last_run_seconds", "Since old things were last looked for.", since)
    every = [((), run.every_s) for run in runs]
    yield _gauge("retention_every_seconds", "How often they are to be looked for.", every)


def _of_spend(spend: Spend) -> Iterator[Metric]:
    yield _gauge("charged_today_usd", "Dollars that caps count since midnight UTC.", [((), float(spend.usd))])
    yield _gauge("charged_today_tokens", "Tokens that caps count since then.", [((), float(spend.tokens))])
    shares = [((unit,), share) for unit, share in spend.fullest.items()]
    yield _gauge("cap_used_ratio", "The largest share of its cap that a tenant used.", shares, ("unit",))


def _of_counts(totals: Sequence[Total]) -> Iterator[Metric]:
    for name in Counted:
        family = CounterMetricFamily(f"{PREFIX}{name}", name.meaning, labels=name.labels)
        values = dict.fromkeys(name.from_the_start, 0.0)
        values.update((one.labels, one.total) for one in totals if one.name == name)
        for labels, value in values.items():
            family.add_metric(labels, value)
        yield family


def _gauge(
    name: str, meaning: str, values: Iterable[tuple[tuple[str, ...], float]], labels: Sequence[str] = ()
) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}{name}", meaning, labels=labels)
    for key, value in values:
        family.add_metric(key, value)
    return family


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
