"""Look after the tables: calls that a crash cut off, signs of life of processes that are gone."""

from datetime import timedelta

from llm.settings import LlmSettings
from models.heartbeat import forget_older_than
from models.ledger import sweep_lost
from models.preflight_record import forget_old_decisions
from models.retention_run import RETENTION
from models.retention_settings import retention_settings
from models.session import transaction
from models.settings import artifact_settings, preflight_settings
from models.shadow import forget_old_reads
from models.shadow_settings import shadow_settings
from models.work import Claim, finish
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.retain import retain
from workers.jobs.sweep_artifacts import sweep_artifacts

KEEP_HEARTBEATS = timedelta(days=1)
ARTIFACTS = "artifacts"
"""The key of the work that looks after artifacts; it is rarer than the other."""

ARTIFACTS_EVERY_S = 3_600


def sweep(held: Claim, *, llm: LlmSettings) -> str:
    """Settle what nobody will settle any more. Idempotent, bounded, and no model is called."""
    if held.key == ARTIFACTS:
        return sweep_artifacts(held, settings=artifact_settings())
    if held.key == RETENTION:
        return retain(held, settings=retention_settings())
    with transaction() as db:
        lost = sweep_lost(db, older_than_s=llm.llm_lost_after_s)
        gone = forget_older_than(db, KEEP_HEARTBEATS)
        old = forget_old_decisions(db, keep=timedelta(days=preflight_settings().preflight_keep_days))
        old += forget_old_reads(db, keep=timedelta(days=shadow_settings().shadow_keep_days))
        outcome = f"{lost} calls lost, {gone} heartbeats and {old} decisions forgotten"
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
