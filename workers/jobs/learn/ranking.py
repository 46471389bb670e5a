"""Learning from a catalog's plans: count new plans, weigh the counts, and judge by held-out plans."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import structlog

from context.catalog.read import read_version
from context.catalog.types import Catalog
from context.priors.evaluate import judge_set, measure_drift
from context.priors.prior_set import make_prior_set
from context.priors.state import State, learn, prune, see_catalog, state_from_bytes, state_to_bytes
from context.priors.types import CorruptPriorsError, JoinedPlan, Unfinished
from models.catalogs.catalog import load_version
from models.database import Transaction, read_transaction, transaction
from models.due_work.queue import Claim, finish, lock_lease
from models.learning.night_settings import LearningSettings
from models.learning.prior_set import (
    NewSet,
    SetKind,
    SetPlace,
    SetState,
    StoredSet,
    activate_set,
    keep_set,
    load_set,
    retire_sets,
)
from models.learning.progress import (
    LearningCounts,
    TeachingPlan,
    count_outcomes,
    find_counted,
    keep_counted,
    read_page,
)
from models.plans.outcome import settled_through
from models.plans.relearning import find_erased_plans, settle_erased_plans
from workers.jobs.learn.bench import Bench
from workers.jobs.lifecycle import LeaseLostError

log = structlog.get_logger()

ERASED = "made of plans that were erased since"


@dataclass(frozen=True)
class _RankingTask:
    """Inputs read before the counting.

    Attributes:
        place: Key of the sets.
        seen: The watermark as read.
        erased: Number of erased plans possibly in the counts; above 0 everything begins anew.
        counted: Counts to continue from, as stored.
        through: The last settled place in the order of outcomes.
        new: Number of plans between the watermark and `through`.
        state: Counts to continue from.
        catalog: The entries; None without a stored catalog.
        active: The set in force.
        observing: The observed set.
    """

    place: SetPlace
    seen: int
    erased: int
    counted: LearningCounts
    through: int
    new: int
    state: State
    catalog: Catalog | None
    active: StoredSet | None
    observing: StoredSet | None

    @property
    def catalog_name(self) -> str | None:
        """Name of the catalog as stored with plans."""
        return self.place.name or None


def learn_ranking(held: Claim, name: str, *, settings: LearningSettings) -> str:
    """Learn from the uncounted plans of a catalog; the newest plans are held out to judge.

    Args:
        held: The lease.
        name: The catalog; empty for plans without a catalog.
        settings: Holdout and limits.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    task = _read_task(held, name, settings)
    teach = task.new - settings.holdout(task.state.plans + task.new)
    if teach <= 0 and not task.erased:
        return _finish(held, f"{task.new} new plans: too few to teach and to judge")
    counted, judges = _count(task, max(teach, 0), settings)
    made = _judge(task, judges, settings) if task.state.plans else None
    return _keep(held, task, counted, made, settings)


def _read_task(held: Claim, name: str, settings: LearningSettings) -> _RankingTask:
    tenant_id, catalog = held.tenant_id, name or None
    with transaction() as db:
        through = settled_through(db, tenant_id)
    with read_transaction() as db:
        erased = find_erased_plans(db, tenant_id, catalog)
        before = find_counted(db, tenant_id, name)
        state = None if erased else _read_state(before, settings)
        counted = before if state else LearningCounts()
        place = SetPlace(tenant_id, SetKind.RANKING, name)
        return _RankingTask(
            place=place,
            seen=before.watermark,
            erased=erased,
            counted=counted,
            through=through,
            new=count_outcomes(db, tenant_id, catalog, after_seq=counted.watermark, through_seq=through),
            state=state or State(half_life_days=settings.learn_half_life_days),
            catalog=_load_catalog(db, held, name),
            active=None if erased else load_set(db, place, state=SetState.ACTIVE),
            observing=None if erased else load_set(db, place, state=SetState.OBSERVING),
        )


def _read_state(counted: LearningCounts, settings: LearningSettings) -> State | None:
    """Read the counts to continue from; returns None when everything must be counted again."""
    if counted.state is None:
        return None
    try:
        state = state_from_bytes(counted.state)
    except CorruptPriorsError as error:
        log.warning("learning_begins_anew", because=error.message)
        return None
    return state if state.half_life_days == settings.learn_half_life_days else None


def _load_catalog(db: Transaction, held: Claim, name: str) -> Catalog | None:
    version = load_version(db, held.tenant_id, name) if name else None
    return read_version(version.body, version.digest, version.novel_since) if version else None


def _count(
    task: _RankingTask, teach: int, settings: LearningSettings
) -> tuple[LearningCounts, list[JoinedPlan]]:
    """Count a number of plans, page by page, and keep the later plans for judging."""
    unfinished = Unfinished(task.counted.unfinished)
    plans = _read_plans(task, settings)
    watermark = task.counted.watermark

    def teaching() -> Iterator[JoinedPlan]:
        nonlocal watermark
        for plan in islice(plans, teach):
            yield _joined(plan, unfinished)
            watermark = plan.outcome_seq

    learn(task.state, teaching(), max_pairs=settings.learn_max_pairs)
    prune(task.state, settings.learn_max_pairs)
    judges = deque((_joined(plan, Unfinished({})) for plan in plans), maxlen=settings.learn_holdout_most)
    if task.catalog:
        first_seen = {entry.entry_id: entry.novel_since or 0 for entry in task.catalog.entries}
        see_catalog(task.state, first_seen)
    return LearningCounts(watermark, state_to_bytes(task.state), unfinished.as_json()), list(judges)


def _read_plans(task: _RankingTask, settings: LearningSettings) -> Iterator[TeachingPlan]:
    after = task.counted.watermark
    while True:
        with read_transaction() as db:
            page = read_page(
                db,
                task.place.tenant_id,
                task.catalog_name,
                after_seq=after,
                through_seq=task.through,
                most=settings.learn_page_plans,
            )
        yield from page
        if len(page) < settings.learn_page_plans:
            return
        after = page[-1].outcome_seq


def _joined(plan: TeachingPlan, unfinished: Unfinished) -> JoinedPlan:
    return unfinished.read(plan.plan_id, plan.intent, plan.steps, at_s=plan.at_s, category=plan.category)


@dataclass(frozen=True)
class _Judged:
    """A new set, and the version of a confirmed observed set."""

    new: NewSet
    confirmed: int | None


def _judge(task: _RankingTask, judges: list[JoinedPlan], settings: LearningSettings) -> _Judged:
    """Rank the held-out plans by words alone, and by the active, the observed and the new set."""
    made = make_prior_set(task.state)
    blob = made.to_bytes()
    bench = Bench(task.catalog, task.state.names, judges)
    by_words, by_new = bench.rankings(None), bench.rankings(blob)
    lexical, candidate = bench.grade(by_words), bench.grade(by_new)
    in_force = task.active
    by_active = bench.rankings(in_force.blob) if in_force else by_words
    active = bench.grade(by_active) if in_force else None
    evaluation: dict[str, Any] = {"words": lexical.as_json(), "new": candidate.as_json()}
    if active:
        evaluation["in_force"] = active.as_json()
    confirmed = None
    if task.observing:
        observed = bench.grade(bench.rankings(task.observing.blob))
        evaluation["observed"] = observed.as_json()
        if judge_set(observed, lexical, active, least_plans=settings.learn_holdout_least).is_better:
            confirmed, active = task.observing.version, observed
    verdict = judge_set(candidate, lexical, active, least_plans=settings.learn_holdout_least)
    good = SetState.OBSERVING if settings.learn_observe_first else SetState.ACTIVE
    new = NewSet(
        state=good if verdict.is_better else SetState.REJECTED,
        blob=blob,
        watermark=task.through,
        evidence=made.plans,
        evaluation=evaluation,
        drift=round(measure_drift(by_active, by_new), 4) if judges else None,
        reason=verdict.reason,
    )
    return _Judged(new, confirmed)


def _keep(
    held: Claim, task: _RankingTask, counted: LearningCounts, made: _Judged | None, settings: LearningSettings
) -> str:
    """Store everything or nothing: under the lease, and only when nobody counted meanwhile."""
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        if not keep_counted(db, held.tenant_id, task.place.name, seen=task.seen, counted=counted):
            outcome = "discarded: somebody else counted meanwhile"
        else:
            outcome = _keep_sets(db, task, made, settings)
        if not finish(db, held, outcome):
            raise LeaseLostError
    log.info("learned", work_id=held.work_id, plans=task.new, watermark=counted.watermark, outcome=outcome)
    return outcome


def _keep_sets(db: Transaction, task: _RankingTask, made: _Judged | None, settings: LearningSettings) -> str:
    if task.erased:
        retire_sets(db, task.place, reason=ERASED)
        settle_erased_plans(db, task.place.tenant_id, task.catalog_name, seen=task.erased)
    if made is None:
        return "begun anew: no plans are left to teach"
    if made.confirmed:
        activate_set(db, task.place, made.confirmed, reason="confirmed by later plans")
    version = keep_set(db, task.place, made.new, keep=settings.learn_keep_sets)
    return f"set {version} {made.new.state}: {made.new.reason}"


def _finish(held: Claim, outcome: str) -> str:
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
