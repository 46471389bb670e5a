"""Delete what is older than its tenant wants it kept: a little at a time, and for a while only."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import structlog

from models.erase_receipt import Receipt
from models.retention_settings import RetentionSettings
from models.retention_steps import (
    FIRST_PLACE,
    Place,
    drop_old_plans,
    drop_old_summaries,
    erase_if_old,
    find_crowded_sessions,
    find_old_sessions,
    fold_old_calls,
)
from models.session import Transaction, reading, transaction
from models.work import Claim, finish
from workers.jobs.lifecycle import LeaseLostError

RETENTION = "retention"
"""The key of the work that deletes what is old."""

log = structlog.get_logger()


def retain(held: Claim, *, settings: RetentionSettings) -> str:
    """Delete what is too old: sessions whole, plans, versions of summaries; calls become sums by day.

    Safe to run twice and at once: rows that another run or a call holds are passed over. What is left when
    the time of a run is over is taken up at once by the next.

    Returns:
        What came of it.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    ends_at = time.monotonic() + settings.retain_run_s
    sessions = _erase_sessions(settings, ends_at)
    most = settings.retain_at_once
    plans = _repeat(partial(drop_old_plans, general=settings.retain_plan_days, most=most), ends_at)
    calls = _repeat(partial(fold_old_calls, general=settings.retain_ledger_days, most=most), ends_at)
    versions = _drop_summaries(settings, ends_at)
    outcome = f"{sessions} sessions, {plans} plans, {versions} summaries deleted, {calls} calls folded"
    again = 0.0 if time.monotonic() >= ends_at else None
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=again):
            raise LeaseLostError
    return outcome


def _erase_sessions(settings: RetentionSettings, ends_at: float) -> int:
    """Each in a transaction of its own: a large one holds up no other."""
    erased = [receipt for receipt in _erased(settings, ends_at) if receipt is not None]
    if erased:
        total = Receipt()
        for receipt in erased:
            total.add(receipt)
        log.info("sessions_retired", sessions=len(erased), **total.as_json())
    return len(erased)


def _erased(settings: RetentionSettings, ends_at: float) -> Iterator[Receipt | None]:
    days = settings.retain_session_days
    for place in _places(partial(find_old_sessions, general=days, most=settings.retain_at_once), ends_at):
        with transaction() as db:
            yield erase_if_old(db, place, general=days)


def _drop_summaries(settings: RetentionSettings, ends_at: float) -> int:
    versions, total = settings.retain_summary_versions, 0
    find = partial(find_crowded_sessions, general=versions, most=settings.retain_at_once)
    for place in _places(find, ends_at):
        with transaction() as db:
            total += drop_old_summaries(db, place, general=versions)
    return total


def _places(find: Callable[[Transaction, Place], Sequence[Place]], ends_at: float) -> Iterator[Place]:
    """Each session once, in the order of keys, so that one that is held stops none behind it."""
    after = FIRST_PLACE
    while time.monotonic() < ends_at:
        with reading() as db:
            places = find(db, after)
        for place in places:
            yield place
            if time.monotonic() >= ends_at:
                return
        if not places:
            return
        after = places[-1]


def _repeat(step: Callable[[Transaction], int], ends_at: float) -> int:
    total = 0
    while time.monotonic() < ends_at:
        with transaction() as db:
            done = step(db)
        total += done
        if not done:
            break
    return total
