"""Deletion of data beyond retention, and the sweep of heartbeats, leases and artifacts without owners."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy.exc import OperationalError

from llm.gateway import preload
from llm.pricing import judged_now
from llm.settings import LlmSettings
from models.artifacts.artifact import drop_orphans
from models.artifacts.settings import ArtifactSettings, artifact_settings
from models.artifacts.summary_cache import evict, expire
from models.conversations.recount import recount_old_sessions
from models.conversations.served_window import drop_old_windows
from models.conversations.settings import served_window_settings
from models.database import Transaction, database_now, read_transaction, transaction
from models.database_errors import kind_of
from models.due_work.heartbeat import forget_older_than
from models.due_work.queue import Claim, finish
from models.due_work.waiting import find_capped, release_capped, release_outdated
from models.erasure.log import Receipt
from models.ledger.call import sweep_lost
from models.ledger.caps import Caps
from models.preflight.decision import forget_old_decisions
from models.preflight.settings import preflight_settings
from models.providers.context_limit import forget_expired_limits
from models.retention.delete_tables import (
    FIRST,
    Cursor,
    Finder,
    Place,
    drop_dead_work,
    drop_old_counts,
    drop_old_keys,
    drop_old_plans,
    drop_old_receipts,
    drop_old_summaries,
    erase_if_old,
    find_crowded_sessions,
    find_old_sessions,
    find_wishing,
    fold_old_calls,
)
from models.retention.settings import RetentionSettings, retention_settings
from models.retention.tenant_policy import RETENTION
from models.scope import Scope
from models.shadow.reads import forget_old_reads
from models.shadow.settings import shadow_settings
from models.telemetry.counters import Counted, count
from workers.jobs.lifecycle import LeaseLostError

log = structlog.get_logger()

PASSED_OVER = frozenset({"55P03", "40P01", "40001", "57014"})
"""SQLSTATEs of a locked or too slow session: passed over, so that the sessions behind are not stopped."""


def retain(held: Claim, *, settings: RetentionSettings) -> str:
    """Delete old data: whole sessions, plans, versions, keys, receipts; calls become sums by day.

    Safe to run twice and at once: rows locked by another run or a call are passed over, and each step is
    whole or not at all. The rest after the time of a run is continued at once by the next run.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    ends_at = time.monotonic() + settings.retain_run_s
    gone = {
        words: _unless_held(words, do)
        for words, do in (
            ("sessions deleted", partial(_erase_sessions, settings, ends_at)),
            *((step.words, partial(_repeat, step, ends_at)) for step in _steps(settings)),
            ("summaries deleted", partial(_drop_summaries, settings, ends_at)),
        )
    }
    is_cut = time.monotonic() >= ends_at
    outcome = _tell(gone, is_cut=is_cut)
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=0.0 if is_cut else None):
            raise LeaseLostError
    return outcome


def _unless_held(words: str, do: Callable[[], int]) -> int | None:
    """Run a step; returns None for a step given up because of locks or a timeout.

    The next run tries again, and no later step waits.
    """
    try:
        return do()
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) not in PASSED_OVER:
            raise
        log.warning("retention_step_given_up", step=words, error=kind_of(error))
        return None


def _tell(gone: Mapping[str, int | None], *, is_cut: bool) -> str:
    given_up = ", ".join(words for words, rows in gone.items() if rows is None)
    told = ", ".join(f"{rows} {words}" for words, rows in gone.items() if rows)
    told = told or ("nothing" if given_up else "nothing was too old")
    told += f", given up this time: {given_up}" if given_up else ""
    return f"{told}, and its time was over" if is_cut else told


@dataclass(frozen=True)
class _RetentionStep:
    """A deletion row by row: words for the outcome, the table, and a function to delete the next rows."""

    words: str
    rows_of: str
    do: Callable[[Transaction], int]


def _steps(settings: RetentionSettings) -> Sequence[_RetentionStep]:
    most = settings.retain_at_once
    plans = partial(drop_old_plans, general=settings.retain_plan_days, most=most)
    calls = partial(fold_old_calls, general=settings.retain_ledger_days, most=most)
    keys = partial(drop_old_keys, days=settings.retain_key_days, most=most)
    dead = partial(drop_dead_work, days=settings.retain_dead_work_days, most=most)
    receipts = partial(drop_old_receipts, days=settings.retain_receipt_days, most=most)
    counts = partial(drop_old_counts, days=settings.retain_log_days, most=most)
    return (
        _RetentionStep("plans deleted", "plan_history", plans),
        _RetentionStep("calls folded", "llm_call", calls),
        _RetentionStep("keys deleted", "api_key", keys),
        _RetentionStep("dead work deleted", "due_work", dead),
        _RetentionStep("receipts deleted", "erase_receipt", receipts),
        _RetentionStep("old counts deleted", "retention_log", counts),
    )


def _repeat(step: _RetentionStep, ends_at: float) -> int:
    total = 0
    while time.monotonic() < ends_at:
        with transaction() as db:
            done = step.do(db)
        if not done:
            break
        count(Counted.RETENTION_ROWS, step.rows_of, by=done)
        total += done
    return total


def _erase_sessions(settings: RetentionSettings, ends_at: float) -> int:
    """Erase each session in a separate transaction: a large session holds up no other."""
    erased = [receipt for receipt in _erased(settings, ends_at) if receipt is not None]
    if erased:
        total = Receipt()
        for receipt in erased:
            total.add(receipt)
        log.info("sessions_retired", sessions=len(erased), **total.as_json())
    return len(erased)


def _erased(settings: RetentionSettings, ends_at: float) -> Iterator[Receipt | None]:
    days = settings.retain_session_days
    for place in _places("session_days", find_old_sessions, general=days, ends_at=ends_at):
        receipt = _erase(place, days)
        if receipt is not None:
            count(Counted.RETENTION_ROWS, "session")
            count(Counted.RETENTION_ROWS, "message", by=receipt.rows["message"])
        yield receipt


def _erase(place: Place, days: int) -> Receipt | None:
    try:
        with transaction() as db:
            return erase_if_old(db, place, general=days)
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) not in PASSED_OVER:
            raise
        tenant_id, session_id = place
        log.warning(
            "session_not_retired", tenant_id=str(tenant_id), session_id=session_id, error=kind_of(error)
        )
        return None


def _drop_summaries(settings: RetentionSettings, ends_at: float) -> int:
    versions, total = settings.retain_summary_versions, 0
    for place in _places("summary_versions", find_crowded_sessions, general=versions, ends_at=ends_at):
        with transaction() as db:
            gone = drop_old_summaries(db, place, general=versions)
        count(Counted.RETENTION_ROWS, "summary", by=gone)
        total += gone
    return total


def _places(wish: str, find: Finder, *, general: int, ends_at: float) -> Iterator[Place]:
    """Yield each session once, tenant by tenant, so that a locked session does not stop the next."""
    with read_transaction() as db:
        wishing = find_wishing(db, wish, general=general)
    for one in wishing:
        after: Cursor | None = FIRST
        while after is not None:
            with read_transaction() as db:
                page = find(db, one, after)
            for session_id in page.sessions:
                if time.monotonic() >= ends_at:
                    return
                yield one.tenant_id, session_id
            after = page.after if time.monotonic() < ends_at else None


STEP_ROWS = 200
"""Number of rows dropped in a transaction: nobody waits long for a locked row."""

MOST_STEPS = 500
"""Maximum number of transactions in a run for each of the three steps; the next run goes on."""


def sweep_artifacts(held: Claim, *, settings: ArtifactSettings) -> str:
    """Drop expired and excess summaries, and unused artifacts.

    Safe to run twice and at once: rows locked by another run are passed over.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    expired = _until_done(lambda db: expire(db, most=STEP_ROWS))
    evicted = _until_done(lambda db: evict(db, most_bytes=settings.artifact_cache_bytes, most=STEP_ROWS))
    orphans = _until_done(lambda db: drop_orphans(db, idle_s=settings.artifact_idle_s, most=STEP_ROWS))
    outcome = f"{expired} summaries expired, {evicted} made room, {orphans} artifacts dropped"
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome


def _until_done(step: Callable[[Transaction], int]) -> int:
    total = 0
    for _ in range(MOST_STEPS):
        with transaction() as db:
            done = step(db)
        total += done
        if not done:
            break
    return total


KEEP_HEARTBEATS = timedelta(days=1)
ARTIFACTS = "artifacts"
"""Key of the maintenance of artifacts, run less often than the general sweep."""

ARTIFACTS_EVERY_S = 3_600

CAPS = "caps"
"""Key of the look for room in the caps."""


def sweep(held: Claim, *, llm: LlmSettings, caps: Caps, cap_look_s: float) -> str:
    """Do the maintenance named by the key. Idempotent, bounded, and no model is called."""
    if held.key == ARTIFACTS:
        return sweep_artifacts(held, settings=artifact_settings())
    if held.key == RETENTION:
        return retain(held, settings=retention_settings())
    if held.key == CAPS:
        return _look_at_caps(held, caps, llm, look_s=cap_look_s)
    recounted = recount_old_sessions()
    windows = _until_done(lambda db: drop_old_windows(db, age_s=_windows_age_s(), most=STEP_ROWS))
    with transaction() as db:
        lost = sweep_lost(db, older_than_s=llm.llm_lost_after_s)
        gone = forget_older_than(db, KEEP_HEARTBEATS)
        old = forget_old_decisions(db, keep=timedelta(days=preflight_settings().preflight_keep_days))
        old += forget_old_reads(db, keep=timedelta(days=shadow_settings().shadow_keep_days))
        forget_expired_limits(db)
        outcome = f"{lost} calls lost, {gone} heartbeats and {old} decisions forgotten"
        outcome += f", {windows} windows deleted" if windows else ""
        outcome += f", {recounted} sessions recounted" if recounted else ""
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome


def _windows_age_s() -> float:
    return served_window_settings().served_window_days * 86_400


def _look_at_caps(held: Claim, caps: Caps, llm: LlmSettings, *, look_s: float) -> str:
    """Release work with room under the caps, each tenant's work in a separate transaction."""
    with read_transaction() as db:
        tenants = find_capped(db)
    if tenants:
        preload()  # it takes seconds the first time: no transaction is open yet
    released = 0
    for tenant_id in tenants:
        with transaction() as db:
            scope = Scope(db, tenant_id)
            now, judge = database_now(db), partial(judged_now, scope, llm)
            released += release_outdated(scope, judge, now=now, look_s=look_s)
            released += release_capped(scope, caps, now=now, look_s=look_s)
    with transaction() as db:
        outcome = f"{released} pieces of work of {len(tenants)} tenants over a cap go on"
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
