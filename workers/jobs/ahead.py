"""Reservation of the tokens of a call ahead of use, before the call."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from context.precompute.worth import Guess, WorthLimits
from llm.failures import LlmFailure
from models.database import transaction
from models.learning.speculation import Reserved, What, release, reserve_spending


@contextmanager
def reserved(tenant_id: UUID, what: What, guess: Guess, limits: WorthLimits) -> Iterator[Reserved | None]:
    """Reserve a call's tokens while the call is made, and give the tokens back if the model fails.

    Args:
        tenant_id: The paying tenant.
        what: Key of the thing.
        guess: The estimate of the call.
        limits: The limits of spending.

    Yields:
        The reservation, for `note_made`; None if the ceiling is reached, and the call must not be made.
    """
    with transaction() as db:
        taken = reserve_spending(db, tenant_id, what, guess, limits)
    try:
        yield taken
    except LlmFailure:
        if taken is not None:
            with transaction() as db:
                release(db, tenant_id, what, taken)
        raise
