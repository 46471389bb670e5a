"""Judging of unused windows by the turns that followed; no model is called."""

from datetime import timedelta

from models.database import transaction
from models.due_work.queue import Claim, finish
from models.scope import Scope
from models.shadow.count_losses import any_waiting, judge, lapse_old, take_waiting
from models.shadow.settings import ShadowSettings
from models.telemetry.counters import Counted, count
from workers.jobs.lifecycle import LeaseLostError

PAGE = 100
"""Number of records judged in a transaction."""


def judge_shadows(held: Claim, *, settings: ShadowSettings) -> str:
    """Judge a tenant's records with an arrived turn, and come back while others wait.

    Idempotent: a record is judged once, and the digests are deleted.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    with transaction() as db:
        scope = Scope(db, held.tenant_id)
        waiting = take_waiting(scope, most=PAGE)
        found = judge(scope, waiting)
        lapsed = lapse_old(scope, wait=timedelta(seconds=settings.shadow_wait_s))
        outcome = f"{len(waiting)} records judged, {lapsed} given up"
        again_in_s = None
        if any_waiting(scope):
            again_in_s = 0.0 if len(waiting) == PAGE else settings.shadow_judge_s
        if not finish(db, held, outcome, again_in_s=again_in_s):
            raise LeaseLostError
    for one in found:
        count(Counted.SHADOW_FACTS, one.part, "kept", by=one.needed - one.lost)
        count(Counted.SHADOW_FACTS, one.part, "lost", by=one.lost)
        count(Counted.SHADOW_TOOL_CALLS, one.part, "passed", by=one.calls - one.blocked)
        count(Counted.SHADOW_TOOL_CALLS, one.part, "blocked", by=one.blocked)
    return outcome
