"""Learning of a night: tenants asked, catalogs learned, and trust factors of preflight categories."""

import hashlib
from collections import deque
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from context.preflight.config import PreflightRules, read_config
from context.preflight.replay import PastDecision
from context.priors.evaluate import (
    CategoryQuality,
    factors_from_bytes,
    factors_to_bytes,
    fit_factors,
    grade_factors,
)
from context.priors.types import CorruptPriorsError
from models.database import Transaction, database_now, read_transaction, transaction
from models.due_work.operator import redrive
from models.due_work.queue import Claim, WorkKind, enqueue, enqueue_many, finish, lock_lease
from models.learning.canary import catalogs_with_canary
from models.learning.habits import count_categories, count_focuses
from models.learning.prior_set import NewSet, SetKind, SetPlace, SetState, keep_set, last_watermark
from models.learning.progress import begin_night, catalogs_to_learn, tenants_to_learn
from models.learning.served_set import load_set
from models.learning.settings import LearningSettings
from models.plans.outcome import catalogs_with_erased_plans
from models.preflight.decision import PAGE, join_decisions, load_decisions
from models.preflight.labels import joined_through
from models.preflight.policy import find_policy
from models.preflight.settings import preflight_settings
from models.scope import Scope
from workers.jobs.learn.ranking import learn_ranking
from workers.jobs.lifecycle import LeaseLostError

MOST_DECISIONS = 4_000
HALF_LIVES = 3
"""Age in half-lives beyond which decisions weigh next to nothing."""


def learn_categories(held: Claim, *, settings: LearningSettings) -> str:
    """Join decisions to the called tools, count the decisions, and fit factors to new decisions.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    _join(held.tenant_id)
    place = SetPlace(held.tenant_id, SetKind.CATEGORIES, "")
    with transaction() as db:
        scope = Scope(db, held.tenant_id)
        if not lock_lease(db, held):
            raise LeaseLostError
        count_categories(scope, half_life_days=settings.learn_half_life_days)
        # Not what was joined just now: a replay joins too, and so does a run that dies before it fits.
        through, known = joined_through(scope), last_watermark(db, place)
    if through <= known:
        return "no new decisions"
    past, config = _read(held.tenant_id, settings)
    holdout = settings.holdout(len(past))
    if len(past) <= holdout:
        return f"{len(past)} decisions: too few to fit and to judge"
    made = _judge(held.tenant_id, past[:-holdout], past[-holdout:], config, settings)
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        version = keep_set(
            db,
            place,
            replace(made, watermark=through),
            keep=settings.learn_keep_sets,
            most_rejected=settings.learn_rejected_nights,
        )
    return f"factors {version} {made.state}: {made.reason}"


def _join(tenant_id: UUID) -> None:
    joined = PAGE
    while joined == PAGE:
        with Scope.write(tenant_id) as scope:
            joined = join_decisions(scope, most=PAGE)


def _read(tenant_id: UUID, settings: LearningSettings) -> tuple[list[PastDecision], PreflightRules]:
    """Read the newest decisions with a known turn, oldest first, and the policy in force."""
    with read_transaction() as db:
        scope = Scope(db, tenant_id)
        since = database_now(db) - timedelta(days=HALF_LIVES * settings.learn_half_life_days)
        known = (one for one in load_decisions(scope, since=since) if one.used is not None)
        past = list(deque(known, maxlen=MOST_DECISIONS))
        config = _policy(scope)
    return past, config


def _policy(scope: Scope) -> PreflightRules:
    base = preflight_settings().policy
    stored = find_policy(scope)
    return read_config(stored.config, base=base) if stored else base


def _judge(
    tenant_id: UUID,
    teach: list[PastDecision],
    judges: list[PastDecision],
    config: PreflightRules,
    settings: LearningSettings,
) -> NewSet:
    """Fit factors to older decisions, and compare on newer decisions with active factors and with none."""
    factors = fit_factors(teach, config)
    plain, candidate = (grade_factors(judges, config, tried) for tried in ({}, factors))
    evaluation = {"plain": plain.as_json(), "new": candidate.as_json(), "factors": dict(factors)}
    active = _in_force(tenant_id, judges, config)
    if active:
        evaluation["in_force"] = active.as_json()
    better, reason = _verdict(candidate, plain, active, least_calls=settings.learn_holdout_least)
    good = SetState.OBSERVING if settings.learn_observe_first else SetState.ACTIVE
    return NewSet(
        state=good if better else SetState.REJECTED,
        blob=factors_to_bytes(factors),
        watermark=0,
        evidence=float(len(teach)),
        evaluation=evaluation,
        drift=None,
        reason=reason,
    )


def _in_force(tenant_id: UUID, judges: list[PastDecision], config: PreflightRules) -> CategoryQuality | None:
    with read_transaction() as db:
        found = load_set(db, SetPlace(tenant_id, SetKind.CATEGORIES, ""), state=SetState.ACTIVE)
    try:
        return grade_factors(judges, config, factors_from_bytes(found.blob)) if found else None
    except CorruptPriorsError:
        return None


def _verdict(
    candidate: CategoryQuality, plain: CategoryQuality, active: CategoryQuality | None, *, least_calls: int
) -> tuple[bool, str]:
    if candidate.with_calls < least_calls:
        return (
            False,
            f"{candidate.with_calls} held-out turns with calls prove nothing; {least_calls} are needed",
        )
    for other, name in ((plain, "no factors"), (active, "those in force")):
        if other is not None and not candidate.beats(other):
            return False, f"no better than {name}: {_compare(candidate, other)}"
    return True, f"better: {_compare(candidate, active or plain)}"


def _compare(ours: CategoryQuality, other: CategoryQuality) -> str:
    return (
        f"harm {ours.harm:.3f} against {other.harm:.3f}, saving {ours.saving:.3f} against {other.saving:.3f}"
    )


TENANTS = "tenants"
"""Key of the installation's work: ask every tenant."""
NIGHT = "night"
"""Key of a tenant's work: check for news, and count the habits."""
CATALOG = "catalog/"
"""Prefix of the key of a catalog's work; the name follows, or nothing for plans without a catalog."""

_PAGE = 500
_BEFORE_ALL = UUID(int=0)


def ask_for_the_night(db: Transaction, operator: UUID, now: datetime, settings: LearningSettings) -> bool:
    """Request the night's learning, once a night for any number of ticks.

    Args:
        db: The transaction of a tick.
        operator: The tenant of the installation's work.
        now: Current time, in UTC.
        settings: Settings with the starting hour.

    Returns:
        False before the starting hour, or after an earlier request.
    """
    if now.hour < settings.learn_at_hour_utc or not begin_night(db, now.date()):
        return False
    enqueue(Scope(db, operator), WorkKind.LEARN, TENANTS)
    return True


def learn(held: Claim, *, settings: LearningSettings) -> str:
    """Do a piece of learning, chosen by the key.

    Safe to run twice and at once: the lease admits a single worker, and counts move on by compare-and-set.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    if held.key == TENANTS:
        return _finish(held, _ask_tenants(settings))
    if held.key.startswith(CATALOG):
        return learn_ranking(held, held.key.removeprefix(CATALOG), settings=settings)
    return _finish(held, _look_around(held, settings))


def _ask_tenants(settings: LearningSettings) -> str:
    """Spread the tenants over time: each has a fixed moment in the night.

    Work given up in an earlier night is redriven: the cause may be mended, and nobody else would ask.
    """
    after, asked = _BEFORE_ALL, 0
    while True:
        with transaction() as db:
            page = tenants_to_learn(db, after=after, most=_PAGE)
            for tenant_id in page:
                delay_s = settings.learn_spread_s * _place_of(tenant_id)
                redrive(db, tenant_id, kind=WorkKind.LEARN, delay_s=delay_s)
                enqueue(Scope(db, tenant_id), WorkKind.LEARN, NIGHT, delay_s=delay_s)
        asked += len(page)
        if len(page) < _PAGE:
            return f"{asked} tenants asked to learn"
        after = page[-1]


def _place_of(tenant_id: UUID) -> float:
    """Compute a tenant's place in the night, in [0, 1)."""
    return int.from_bytes(hashlib.sha256(tenant_id.bytes).digest()[:4]) / 2**32


def _look_around(held: Claim, settings: LearningSettings) -> str:
    with transaction() as db:
        scope = Scope(db, held.tenant_id)
        if not lock_lease(db, held):
            raise LeaseLostError
        names = ask_for_catalogs(scope)
        focuses = count_focuses(scope, half_life_days=settings.learn_half_life_days)
    categories = learn_categories(held, settings=settings)
    return f"{len(names)} catalogs to learn, {focuses} focuses counted, {categories}"


def ask_for_catalogs(scope: Scope) -> list[str]:
    """Request the learning of every catalog with new outcomes, with erased plans, or with a canary."""
    erased = [catalog or "" for catalog in catalogs_with_erased_plans(scope)]
    names = sorted({*catalogs_to_learn(scope), *erased, *catalogs_with_canary(scope)})
    enqueue_many(scope, WorkKind.LEARN, [CATALOG + name for name in names])
    return names


def _finish(held: Claim, outcome: str) -> str:
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
