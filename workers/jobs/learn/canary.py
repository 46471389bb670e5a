"""Canaries of a night: end the running one, and serve a better set to a share of sessions first."""

from dataclasses import replace
from uuid import UUID

from models.database import Transaction, transaction
from models.learning.canary import find_canary, settle_canary, start_canary
from models.learning.prior_set import NewSet, SetKind, SetPlace, SetState, activate_set, keep_set
from models.learning.progress import find_canary_share
from models.learning.settings import LearningSettings
from models.plans.outcome import find_erased_plans
from models.scope import Scope

BY_NIGHT = "served to a share of sessions"
CONFIRMED = "confirmed by later plans"


def settle(tenant_id: UUID, name: str, settings: LearningSettings) -> str:
    """Promote or drop a catalog's canary where outcomes or its age decide.

    A set made of plans that were erased since is never promoted: learning begins anew, and retires it.

    Returns:
        The result, to stand behind an outcome; empty without a canary.
    """
    place = SetPlace(tenant_id, SetKind.RANKING, name)
    with transaction() as db:
        if find_canary(db, place) is None or find_erased_plans(Scope(db, tenant_id), name or None):
            return ""
        told = settle_canary(db, place, settings)
    return f"; {told}" if told else ""


def keep_judged(
    db: Transaction, place: SetPlace, new: NewSet, confirmed: int | None, settings: LearningSettings
) -> str:
    """Store a judged set; a better one takes force, begins as a canary, or waits for the end of another.

    Args:
        db: A transaction.
        place: Key of the series.
        new: The set.
        confirmed: Version of an observed set that is better on later plans too; None without one.
        settings: Share of canaries of tenants without their own, and numbers of kept sets.

    Returns:
        The outcome.
    """
    running = find_canary(db, place)
    share = find_canary_share(Scope(db, place.tenant_id), settings).share if place.name else 0.0
    is_better = new.state is SetState.ACTIVE
    state, told = new.state, new.reason
    if is_better and running is not None:
        state, told = SetState.OBSERVING, f"{told}; waits for the end of the canary of set {running}"
    elif is_better and share > 0:
        state = SetState.OBSERVING
    if confirmed and running is None and not (is_better and share > 0):
        _confirm(db, place, confirmed, share, settings.learn_canary_days)
    made = replace(new, state=state, reason=told)
    version = keep_set(
        db, place, made, keep=settings.learn_keep_sets, most_rejected=settings.learn_rejected_nights
    )
    if is_better and running is None and share > 0:
        _serve(db, place, version, share, settings.learn_canary_days, reason=BY_NIGHT)
        return f"set {version} {SetState.CANARY}: {told}"
    return f"set {version} {state}: {told}"


def _confirm(db: Transaction, place: SetPlace, version: int, share: float, days: int) -> None:
    if share > 0:
        _serve(db, place, version, share, days, reason=f"{CONFIRMED}; {BY_NIGHT}")
    else:
        activate_set(db, place, version, reason=CONFIRMED)


def _serve(db: Transaction, place: SetPlace, version: int, share: float, days: int, *, reason: str) -> None:
    start_canary(db, place, version, share=share, days=days, reason=f"{reason} ({share:.0%})")
