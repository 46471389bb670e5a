"""Maintenance of the tables: calls cut off by a crash, lost processes, work waiting for a cap."""

from datetime import timedelta
from functools import partial

from llm.gateway import preload
from llm.judged import judged_now
from llm.settings import LlmSettings
from models.budget import Caps
from models.capped_work import find_capped, release_capped, release_outdated
from models.clock import present
from models.heartbeat import forget_older_than
from models.ledger import sweep_lost
from models.limit import forget_expired_limits
from models.preflight_record import forget_old_decisions
from models.recount import recount_old_sessions
from models.retention_run import RETENTION
from models.retention_settings import retention_settings
from models.session import reading, transaction
from models.settings import artifact_settings, preflight_settings
from models.shadow import forget_old_reads
from models.shadow_settings import shadow_settings
from models.work import Claim, finish
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.retain import retain
from workers.jobs.sweep_artifacts import sweep_artifacts

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
    with transaction() as db:
        lost = sweep_lost(db, older_than_s=llm.llm_lost_after_s)
        gone = forget_older_than(db, KEEP_HEARTBEATS)
        old = forget_old_decisions(db, keep=timedelta(days=preflight_settings().preflight_keep_days))
        old += forget_old_reads(db, keep=timedelta(days=shadow_settings().shadow_keep_days))
        forget_expired_limits(db)
        outcome = f"{lost} calls lost, {gone} heartbeats and {old} decisions forgotten"
        outcome += f", {recounted} sessions recounted" if recounted else ""
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome


def _look_at_caps(held: Claim, caps: Caps, llm: LlmSettings, *, look_s: float) -> str:
    """Release work with room under the caps, each tenant's work in a separate transaction."""
    with reading() as db:
        tenants = find_capped(db)
    if tenants:
        preload()  # it takes seconds the first time: no transaction is open yet
    released = 0
    for tenant_id in tenants:
        with transaction() as db:
            now, judge = present(db), partial(judged_now, db, llm, tenant_id)
            released += release_outdated(db, tenant_id, judge, now=now, look_s=look_s)
            released += release_capped(db, tenant_id, caps, now=now, look_s=look_s)
    with transaction() as db:
        outcome = f"{released} pieces of work of {len(tenants)} tenants over a cap go on"
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
