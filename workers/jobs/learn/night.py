"""Learning: once a night all tenants are asked, each checks for news, and each catalog's plans teach."""

import hashlib
from datetime import datetime
from uuid import UUID

from models.database import Transaction, transaction
from models.due_work.operator import redrive
from models.due_work.queue import Claim, WorkKind, enqueue, enqueue_many, finish, lock_lease
from models.learning.canary import catalogs_with_canary
from models.learning.habits import count_focuses
from models.learning.night_settings import LearningSettings
from models.learning.progress import begin_night, catalogs_to_learn, tenants_to_learn
from models.plans.relearning import catalogs_with_erased_plans
from workers.jobs.learn.categories import learn_categories
from workers.jobs.learn.ranking import learn_ranking
from workers.jobs.lifecycle import LeaseLostError

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
    enqueue(db, operator, WorkKind.LEARN, TENANTS)
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
                enqueue(db, tenant_id, WorkKind.LEARN, NIGHT, delay_s=delay_s)
        asked += len(page)
        if len(page) < _PAGE:
            return f"{asked} tenants asked to learn"
        after = page[-1]


def _place_of(tenant_id: UUID) -> float:
    """Compute a tenant's place in the night, in [0, 1)."""
    return int.from_bytes(hashlib.sha256(tenant_id.bytes).digest()[:4]) / 2**32


def _look_around(held: Claim, settings: LearningSettings) -> str:
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        names = ask_for_catalogs(db, held.tenant_id)
        focuses = count_focuses(db, held.tenant_id, half_life_days=settings.learn_half_life_days)
    categories = learn_categories(held, settings=settings)
    return f"{len(names)} catalogs to learn, {focuses} focuses counted, {categories}"


def ask_for_catalogs(db: Transaction, tenant_id: UUID) -> list[str]:
    """Request the learning of every catalog with new outcomes, with erased plans, or with a canary."""
    erased = [catalog or "" for catalog in catalogs_with_erased_plans(db, tenant_id)]
    names = sorted({*catalogs_to_learn(db, tenant_id), *erased, *catalogs_with_canary(db, tenant_id)})
    enqueue_many(db, tenant_id, WorkKind.LEARN, [CATALOG + name for name in names])
    return names


def _finish(held: Claim, outcome: str) -> str:
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
