"""Counts for operators: taken in memory, and added to Postgres every few seconds.

The counts serve rates and alerts. Money and caps go by the ledger; a crash loses some seconds of counts.
"""

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from itertools import product
from typing import Any, Self

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
    """Table of the counts: name, meaning and labels.

    The names are stored, and used as metric names, so a renamed count begins at 0. No label is a tenant, a
    session or any text of a user.

    Attributes:
        meaning: Help text of the metric.
        labels: Names of the labels, in order.
        from_the_start: Label values exported as 0 from the start; Prometheus sees no rise in a first value.
    """

    meaning: str
    labels: tuple[str, ...]
    from_the_start: tuple[tuple[str, ...], ...]

    def __new__(
        cls,
        name: str,
        meaning: str = "",
        labels: tuple[str, ...] = (),
        from_the_start: Iterable[tuple[str, ...]] = (),
    ) -> Self:
        """Make a row."""
        count = str.__new__(cls, name)
        count._value_ = name
        count.meaning, count.labels, count.from_the_start = meaning, labels, tuple(from_the_start)
        return count

    TURNS = "turns", "Turns that were accepted.", (), [()]
    CONTEXTS = "contexts", "Contexts that were answered, with and without a summary.", ("summary",)
    CONTEXT_TOKENS = (
        "context_tokens",
        "Tokens of those contexts: sent, and saved by summaries that stand for history.",
        ("part",),
    )
    PREFLIGHT = "preflight", "Preflight decisions: tools were filtered, or all passed.", ("outcome",)
    PLANNING = (
        "artifact_planning",
        "Contexts with artifacts: planned by rule or a model, or why the rule stood in for it.",
        ("outcome",),
    )
    ARTIFACT_READS = "artifact_reads", "Reads of artifacts, by how they were answered.", ("how",)
    WORK = "work_finished", "Pieces of work that workers ended, by what came of them.", ("kind", "outcome")
    WORK_SECONDS = "work_seconds", "Seconds that workers spent on work.", ("kind",)
    SUMMARIES = (
        "summaries",
        "Summaries that were made, and why the gate rejected them.",
        ("outcome", "reason"),
    )
    PRIOR_SETS = (
        "prior_sets_judged",
        "Learned sets of priors, by what they were judged to be; `in vain` beside the last of many rejected.",
        ("kind", "state"),
        product(("ranking", "categories"), ("in vain",)),
    )
    RETENTION_ROWS = "retention_rows", "Rows that went because of their age.", ("rows_of",)
    CALLS = "llm_calls", "Calls to models.", ("purpose", "model", "outcome")
    CALL_SECONDS = "llm_seconds", "Seconds spent waiting for models.", ("purpose", "model")
    CALL_TOKENS = (
        "llm_tokens",
        "Tokens of those calls; cached ones are input too, reasoning is output too.",
        ("purpose", "model", "direction"),
    )
    SPEND_USD = "llm_spend_usd", "Known prices of those calls, in dollars.", ("purpose", "model")
    UNPRICED = "llm_unpriced_calls", "Calls with tokens whose price nobody knows.", ("purpose", "model")
    DENIED = (
        "llm_calls_denied",
        "Calls that a cap put off.",
        ("scope", "unit"),
        product(("tenant", "session"), ("usd", "tokens")),
    )
    SHADOW_TOKENS = (
        "shadow_tokens",
        "Tokens of reads recorded in shadow mode: sent, and what they would be.",
        ("part", "window"),
    )
    SHADOW_FACTS = (
        "shadow_facts",
        "Facts that turns needed of those reads: kept by the part, or lost.",
        ("part", "outcome"),
    )
    SHADOW_TOOL_CALLS = (
        "shadow_tool_calls",
        "Tool calls that followed those reads: passed by the part, or blocked.",
        ("part", "outcome"),
    )


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
            labels: Values of the labels, in the order of the table.
            by: Amount to add, >= 0.

        Raises:
            ValueError: The number of labels is wrong, or the amount is negative.
        """
        if len(labels) != len(name.labels) or by < 0:
            raise ValueError(f"{name} is counted upwards, by {name.labels}")
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
        if row.name in set(Counted) and len(labels) == len(Counted(row.name).labels):
            rows.append((Counted(row.name), labels, row.total, row.last_minute))
    return rows
