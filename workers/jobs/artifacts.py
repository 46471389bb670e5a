"""Prepare an artifact for being read: what it is asked for is answered ahead of use."""

from models.artifact import find_artifact
from models.session import reading, transaction
from models.work import Claim, finish
from workers.jobs.lifecycle import LeaseLostError


def read_artifact(held: Claim) -> str:
    """Look at what there is to prepare.

    Returns:
        What came of it.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    with reading() as db:
        facts = find_artifact(db, held.tenant_id, held.key)
    outcome = "nothing to do" if facts else "the artifact is gone"
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
