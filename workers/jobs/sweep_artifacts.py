"""Maintenance of stored artifacts and artifact summaries within limits of time and size."""

from collections.abc import Callable

from models.artifact import drop_orphans
from models.artifact_cache import evict, expire
from models.session import Transaction, transaction
from models.settings import ArtifactSettings
from models.work import Claim, finish
from workers.jobs.lifecycle import LeaseLostError

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
