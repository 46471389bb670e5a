"""Sweep stored state: heartbeats, leases, artifacts without owners."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from llm.accounting import judged_now
from llm.gateway import preload
from llm.settings import LlmSettings
from models.artifacts.artifact import drop_orphans
from models.artifacts.settings import ArtifactSettings, artifact_settings
from models.artifacts.summary_cache import evict, expire
from models.conversations.recount import recount_old_sessions
from models.conversations.served_window import drop_old_windows
from models.conversations.served_window_settings import served_window_settings
from models.database import Transaction, database_now, read_transaction, transaction
from models.due_work.heartbeat import forget_older_than
from models.due_work.queue import Claim, finish
from models.due_work.waiting import find_capped, release_capped, release_outdated
from models.ledger.call import sweep_lost
from models.ledger.caps import Caps
from models.preflight.decision import forget_old_decisions
from models.preflight.settings import preflight_settings
from models.providers.context_limit import forget_expired_limits
from models.retention.settings import retention_settings
from models.retention.tenant_policy import RETENTION
from models.shadow.reads import forget_old_reads
from models.shadow.settings import shadow_settings
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.retention import retain

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
    expired = _repeat(lambda db: expire(db, most=STEP_ROWS))
    evicted = _repeat(lambda db: evict(db, most_bytes=settings.artifact_cache_bytes, most=STEP_ROWS))
    orphans = _repeat(lambda db: drop_orphans(db, idle_s=settings.artifact_idle_s, most=STEP_ROWS))
    outcome = f"{expired} summaries expired, {evicted} made room, {orphans} artifacts dropped"
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome


def _repeat(step: Callable[[Transaction], int]) -> int:
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
    windows = _repeat(lambda db: drop_old_windows(db, age_s=_windows_age_s(), most=STEP_ROWS))
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
            now, judge = database_now(db), partial(judged_now, db, llm, tenant_id)
            released += release_outdated(db, tenant_id, judge, now=now, look_s=look_s)
            released += release_capped(db, tenant_id, caps, now=now, look_s=look_s)
    with transaction() as db:
        outcome = f"{released} pieces of work of {len(tenants)} tenants over a cap go on"
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
