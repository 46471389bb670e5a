"""Metrics from Postgres in Prometheus form."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from models.snapshot import Snapshot, Spend, Total
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
