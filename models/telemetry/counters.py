"""Counts for operators: taken in memory, and added to Postgres every few seconds.

The counts serve rates and alerts. Money and caps go by the ledger; a crash loses some seconds of counts.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Any

import structlog
from sqlalchemy import CheckConstraint, Double, Text, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base
from models.database import Transaction, transaction

log = structlog.get_logger()

FLUSH_EVERY_S = 5.0
MOST_SERIES = 300
"""Maximum number of label combinations of a count: callers choose model names, so there must be an end."""

OTHER = "other"
"""Label value beyond the maximum number of combinations."""


class Counted(StrEnum):
    """Names of the counts; stored, and used as metric names, so a renamed count begins at 0."""

    TURNS = "turns"
    CONTEXTS = "contexts"
    CONTEXT_TOKENS = "context_tokens"
    PREFLIGHT = "preflight"
    PLANNING = "artifact_planning"
    ARTIFACT_READS = "artifact_reads"
    WORK = "work_finished"
    WORK_SECONDS = "work_seconds"
    SUMMARIES = "summaries"
    RIDES = "summary_rides"
    PRIOR_SETS = "prior_sets_judged"
    RETENTION_ROWS = "retention_rows"
    CALLS = "llm_calls"
    CALL_SECONDS = "llm_seconds"
    CALL_TOKENS = "llm_tokens"
    SPEND_USD = "llm_spend_usd"
    UNPRICED = "llm_unpriced_calls"
    DENIED = "llm_calls_denied"
    SHADOW_TOKENS = "shadow_tokens"
    SHADOW_FACTS = "shadow_facts"
    SHADOW_TOOL_CALLS = "shadow_tool_calls"


LABELS: Mapping[Counted, tuple[str, ...]] = {
    Counted.TURNS: (),
    Counted.CONTEXTS: ("summary",),
    Counted.CONTEXT_TOKENS: ("part",),
    Counted.PREFLIGHT: ("outcome",),
    Counted.PLANNING: ("outcome",),
    Counted.ARTIFACT_READS: ("how",),
    Counted.WORK: ("kind", "outcome"),
    Counted.WORK_SECONDS: ("kind",),
    Counted.SUMMARIES: ("outcome", "reason"),
    Counted.RIDES: ("outcome",),
    Counted.PRIOR_SETS: ("kind", "state"),
    Counted.RETENTION_ROWS: ("rows_of",),
    Counted.CALLS: ("purpose", "model", "outcome"),
    Counted.CALL_SECONDS: ("purpose", "model"),
    Counted.CALL_TOKENS: ("purpose", "model", "direction"),
    Counted.SPEND_USD: ("purpose", "model"),
    Counted.UNPRICED: ("purpose", "model"),
    Counted.DENIED: ("scope", "unit"),
    Counted.SHADOW_TOKENS: ("part", "window"),
    Counted.SHADOW_FACTS: ("part", "outcome"),
    Counted.SHADOW_TOOL_CALLS: ("part", "outcome"),
}
"""Labels of each count, in order. No label is a tenant, a session or any text of a user."""


class MetricCount(Base):
    """A count: the total, and by minute for a rate. The row belongs to the installation, not to a tenant."""

    __tablename__ = "metric_count"
    __table_args__ = (
        CheckConstraint("total >= 0 and this_minute >= 0 and minute_before >= 0", name="counts_only_grow"),
    )

    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    labels: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    total: Mapped[float] = mapped_column(Double)
    minute: Mapped[datetime]
    this_minute: Mapped[float] = mapped_column(Double)
    minute_before: Mapped[float] = mapped_column(Double)


_ADD = text(
    """
    insert into metric_count as c (name, labels, total, minute, this_minute, minute_before)
    select placed.name, placed.labels, sum(placed.amount), date_trunc('minute', now()), sum(placed.amount), 0
    from (
        select g.name, g.amount, case
            when exists (select from metric_count m where m.name = g.name and m.labels = g.labels)
                or (select count(*) from metric_count m where m.name = g.name) < :most then g.labels
            else g.others end as labels
        from unnest(cast(:names as text[]), cast(:labels as text[]), cast(:others as text[]),
            cast(:amounts as double precision[])) as g (name, labels, others, amount)
    ) as placed
    group by placed.name, placed.labels
    order by placed.name, placed.labels
    on conflict (name, labels) do update set
        total = c.total + excluded.total,
        minute = excluded.minute,
        this_minute = excluded.this_minute
            + case when c.minute = excluded.minute then c.this_minute else 0 end,
        minute_before = case
            when c.minute = excluded.minute then c.minute_before
            when c.minute = excluded.minute - interval '1 minute' then c.this_minute
            else 0 end
    """
)

_Series = tuple[Counted, tuple[str, ...]]


class Counts:
    """Counts not written to Postgres yet; safe to use from many threads."""

    def __init__(self) -> None:
        """Start at nothing."""
        self._lock = threading.Lock()
        self._waiting: dict[_Series, float] = {}
        self._series: dict[Counted, set[tuple[str, ...]]] = {}

    def add(self, name: Counted, *labels: str, by: float = 1) -> None:
        """Count.

        Args:
            name: Name of the count.
            labels: Values of the labels, in the order of `LABELS`.
            by: Amount to add, >= 0.

        Raises:
            ValueError: The number of labels is wrong, or the amount is negative.
        """
        if len(labels) != len(LABELS[name]) or by < 0:
            raise ValueError(f"{name} is counted upwards, by {LABELS[name]}")
        with self._lock:
            known = self._series.setdefault(name, set())
            if labels not in known and len(known) >= MOST_SERIES:
                labels = (OTHER,) * len(labels)
            known.add(labels)
            self._waiting[name, labels] = self._waiting.get((name, labels), 0) + by

    def take(self) -> dict[_Series, float]:
        """Hand the waiting counts over to the caller."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
        return taken

    def give_back(self, taken: Mapping[_Series, float]) -> None:
        """Keep unwritten counts for the next time."""
        with self._lock:
            for series, amount in taken.items():
                self._waiting[series] = self._waiting.get(series, 0) + amount


def add_counts(db: Transaction, taken: Mapping[_Series, float], *, most: int = MOST_SERIES) -> None:
    """Add counts to the stored counts in Postgres."""
    given = [(name, labels, amount) for (name, labels), amount in taken.items() if amount > 0]
    if given:
        db.execute(
            _ADD,
            {
                "names": [name.value for name, _, _ in given],
                "labels": [json.dumps(labels) for _, labels, _ in given],
                "others": [json.dumps([OTHER] * len(labels)) for _, labels, _ in given],
                "amounts": [float(amount) for _, _, amount in given],
                "most": most,
            },
        )


_counts = Counts()
_flushing = threading.Lock()


def count(name: Counted, *labels: str, by: float = 1) -> None:
    """Count in this process; see `Counts.add`. The call costs microseconds and never waits for Postgres."""
    _counts.add(name, *labels, by=by)


def flush() -> bool:
    """Add the counts taken before this call to Postgres. Returns False on failure; the counts wait on."""
    with _flushing:  # what another thread has taken is not there before it has committed
        return _flush()


def _flush() -> bool:
    taken = _counts.take()
    if not taken:
        return True
    try:
        with transaction() as db:
            add_counts(db, taken)
    except SQLAlchemyError as error:
        _counts.give_back(taken)
        log.warning("counts_kept", series=len(taken), error=type(error).__name__)
        return False
    return True


class Flusher:
    """A thread that flushes every few seconds, and once more at the end."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="counts", daemon=True)

    def start(self) -> "Flusher":
        """Flush from now on."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Flush the rest."""
        self._stop.set()
        self._thread.join(timeout=FLUSH_EVERY_S)
        flush()

    def _run(self) -> None:
        while not self._stop.wait(FLUSH_EVERY_S):
            flush()


@contextmanager
def flushing() -> Iterator[None]:
    """Flush while the block runs."""
    flusher = Flusher().start()
    try:
        yield
    finally:
        flusher.stop()


def _forget_after_fork() -> None:
    """Start the counts of a forked child at nothing: the parent writes the parent's counts."""
    global _counts, _flushing
    _counts, _flushing = Counts(), threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)

_READ = text(
    """
    select name, labels, total, case
        when minute = date_trunc('minute', now()) then minute_before
        when minute = date_trunc('minute', now()) - interval '1 minute' then this_minute
        else 0 end as last_minute
    from metric_count order by name, labels limit 10000
    """
)


def read_counts(db: Transaction) -> list[tuple[Counted, tuple[str, ...], float, float]]:
    """Read every count known to this code: labels, total, and the count of the last full minute."""
    rows: list[tuple[Counted, tuple[str, ...], float, float]] = []
    for row in db.execute(_READ):
        labels: Any = tuple(json.loads(row.labels))
        if row.name in set(Counted) and len(labels) == len(LABELS[Counted(row.name)]):
            rows.append((Counted(row.name), labels, row.total, row.last_minute))
    return rows
