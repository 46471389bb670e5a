"""The guards of this system, how each would be lost, and the tests that must notice."""

from tests.acceptance.faults.guards import background, context, edges, models, work
from tests.acceptance.faults.guards.guard import Guard

GUARDS = (*models.GUARDS, *work.GUARDS, *edges.GUARDS, *context.GUARDS, *background.GUARDS)

__all__ = ["GUARDS", "Guard"]
