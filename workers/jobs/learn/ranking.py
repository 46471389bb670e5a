"""Learning from a catalog's plans: count new plans, weigh the counts, and judge by held-out plans."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from uuid import UUID

import structlog

from context.catalog.read import read_version
from context.catalog.types import Catalog, Entry, EntryKind
from context.priors.evaluate import (
    FEW,
    Change,
    Quality,
    find_changes,
    grade_rankings,
    judge_set,
    measure_drift,
)
from context.priors.prior_set import PriorSet, make_prior_set
from context.priors.score import bind_priors, score_priors
from context.priors.state import State, learn, prune, see_catalog, state_from_bytes, state_to_bytes
from context.priors.types import CorruptPriorsError, JoinedPlan, Unfinished
from context.ranking.index import build_index
from context.ranking.rank import rank
from models.catalogs.catalog import load_version
from models.database import Transaction, read_transaction, transaction
from models.due_work.queue import Claim, finish, lock_lease
from models.learning.prior_set import (
    NewSet,
    SetKind,
    SetPlace,
    SetState,
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
from models.learning.served_set import StoredSet, load_set
from models.learning.settings import LearningSettings
from models.plans.outcome import find_erased_plans, settle_erased_plans, settled_through
from models.scope import Scope
from workers.jobs.learn.canary import keep_judged, settle
from workers.jobs.lifecycle import LeaseLostError

log = structlog.get_logger()


class Bench:
    """Ranks the held-out plans, with any set of priors or none."""

    def __init__(self, catalog: Catalog | None, names: Sequence[str], judges: Sequence[JoinedPlan]) -> None:
        """Index the catalog; without a catalog, only the names of called tools are known."""
        self.judges = judges
        catalog = catalog or _catalog_of_names(names, judges)
        self.ids = [entry.entry_id for entry in catalog.entries]
        self.index = build_index(catalog)

    def rankings(self, blob: bytes | None) -> list[list[str]]:
        """Rank the first entries for each plan; by words alone without bytes, or with damaged bytes."""
        bound = None
        if blob is not None:
            try:
                bound = bind_priors(PriorSet.from_bytes(blob), self.ids)
            except CorruptPriorsError as error:
                log.warning("prior_set_unreadable", because=error.message)
        found = []
        for plan in self.judges:
            priors = score_priors(bound, plan.intent, category=plan.category) if bound else None
            entries = rank(self.index, plan.intent, priors=priors, limit=FEW).entries
            found.append([entry.entry_id for entry in entries if entry.score > 0.0])
        return found

    def grade(self, rankings: list[list[str]]) -> Quality:
        """Grade how well rankings foresee the successful tools."""
        return grade_rankings(self.judges, rankings, frozenset(self.ids))


def _catalog_of_names(known: Sequence[str], judges: Sequence[JoinedPlan]) -> Catalog:
    names = dict.fromkeys([*known, *(step.tool for plan in judges for step in plan.tools)])
    return Catalog(tuple(Entry(name, EntryKind.PACK, name) for name in names if name))


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
        told: End or progress of a canary, for the outcome; empty without one.
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
    told: str = ""

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
    told = settle(held.tenant_id, name, settings)
    task = replace(_read_task(held.tenant_id, name, settings), told=told)
    teach = task.new - settings.holdout(task.state.plans + task.new)
    if teach <= 0 and not task.erased:
        return _finish(held, f"{task.new} new plans: too few to teach and to judge{told}")
    counted, judges = _count(task, max(teach, 0), settings)
    made = _judge(task, judges, settings) if task.state.plans else None
    return _keep(held, task, counted, made, settings)


@dataclass(frozen=True)
class Trial:
    """Judgement of a set that was not kept.

    Attributes:
        reason: Judgement in words.
        evaluation: Figures of the set beside the figures of words alone; empty for too few plans.
        changes: Held-out tools that the set foresees better or worse than words alone; never stored.
    """

    reason: str
    evaluation: Mapping[str, Any]
    changes: Sequence[Change] = ()


def try_ranking(tenant_id: UUID, name: str, *, settings: LearningSettings) -> Trial:
    """Count all plans of a catalog anew and judge the resulting set against words alone; nothing is stored.

    The set in force does not compete: plans that judge here may have taught it.

    Args:
        tenant_id: The tenant.
        name: The catalog; empty for plans without a catalog.
        settings: Half-life, holdout and limits to try.
    """
    task = _read_task(tenant_id, name, settings, afresh=True)
    teach = task.new - settings.holdout(task.new)
    if teach <= 0:
        return Trial(f"{task.new} plans: too few to teach and to judge", {})
    _, judges = _count(task, teach, settings)
    judged = _judge(task, judges, settings)
    return Trial(judged.new.reason, judged.new.evaluation, judged.changes)


def _read_task(
    tenant_id: UUID, name: str, settings: LearningSettings, *, afresh: bool = False
) -> _RankingTask:
    catalog = name or None
    with Scope.write(tenant_id) as scope:
        through = settled_through(scope)
    with read_transaction() as db:
        scope = Scope(db, tenant_id)
        erased = find_erased_plans(scope, catalog)
        before = find_counted(scope, name)
        afresh = afresh or erased > 0
        state = None if afresh else _read_state(before, settings)
        counted = before if state else LearningCounts()
        place = SetPlace(tenant_id, SetKind.RANKING, name)
        return _RankingTask(
            place=place,
            seen=before.watermark,
            erased=erased,
            counted=counted,
            through=through,
            new=count_outcomes(scope, catalog, after_seq=counted.watermark, through_seq=through),
            state=state or State(half_life_days=settings.learn_half_life_days),
            catalog=_load_catalog(scope, name),
            active=None if afresh else load_set(db, place, state=SetState.ACTIVE),
            observing=None if afresh else load_set(db, place, state=SetState.OBSERVING),
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


def _load_catalog(scope: Scope, name: str) -> Catalog | None:
    version = load_version(scope, name) if name else None
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
        with Scope.read(task.place.tenant_id) as scope:
            page = read_page(
                scope,
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
    """A new set, the version of a confirmed observed set, and changes against the ranking in force."""

    new: NewSet
    confirmed: int | None
    changes: Sequence[Change]


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
    return _Judged(new, confirmed, find_changes(judges, by_active, by_new, frozenset(bench.ids)))


def _keep(
    held: Claim, task: _RankingTask, counted: LearningCounts, made: _Judged | None, settings: LearningSettings
) -> str:
    """Store everything or nothing: under the lease, and only when nobody counted meanwhile."""
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        if not keep_counted(Scope(db, held.tenant_id), task.place.name, seen=task.seen, counted=counted):
            outcome = "discarded: somebody else counted meanwhile"
        else:
            outcome = _keep_sets(db, task, made, settings) + task.told
        if not finish(db, held, outcome):
            raise LeaseLostError
    log.info("learned", work_id=held.work_id, plans=task.new, watermark=counted.watermark, outcome=outcome)
    return outcome


def _keep_sets(db: Transaction, task: _RankingTask, made: _Judged | None, settings: LearningSettings) -> str:
    if task.erased:
        retire_sets(db, task.place, reason=ERASED)
        settle_erased_plans(Scope(db, task.place.tenant_id), task.catalog_name, seen=task.erased)
    if made is None:
        return "begun anew: no plans are left to teach"
    return keep_judged(db, task.place, made.new, made.confirmed, settings)


def _finish(held: Claim, outcome: str) -> str:
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
