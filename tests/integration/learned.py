"""History for tests: what was learned, put in force at once."""

from uuid import UUID

from api.catalogs.catalog_cache import prior_sets
from context.priors.prior_set import make_prior_set
from context.priors.state import State, learn
from context.priors.types import JoinedPlan, ToolOutcome
from models import database as session
from models.learning.prior_set import NewSet, SetKind, SetPlace, SetState, keep_set

TIMES = 20


def learn_often(tenant_id: UUID, catalog: str, used: dict[str, str]) -> None:
    """Put in force what twenty plans for each intent teach, given the entry that served it."""
    state = State()
    plans = [
        JoinedPlan(intent, [ToolOutcome(entry_id, ok=True)], day=20_000)
        for intent, entry_id in used.items()
        for _ in range(TIMES)
    ]
    learn(state, plans)
    new = NewSet(SetState.ACTIVE, make_prior_set(state).to_bytes(), 1, 40.0, {}, None, "test")
    with session.transaction() as db:
        keep_set(db, SetPlace(tenant_id, SetKind.RANKING, catalog), new, keep=3)
    prior_sets.forget()
