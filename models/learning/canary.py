"""Canary of a set of priors: start, figures by outcomes of plans, and the end by a verdict or by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    Double,
    RowMapping,
    Text,
    func,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.errors import AfterturnError
from context.priors.canary import (
    ArmCounts,
    CanaryEnd,
    CanaryRules,
    CanaryVerdict,
    Difference,
    compare_arms,
    judge_canary,
)
from context.types import JsonObject, Share
from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction, database_now
from models.learning.prior_set import (
    PriorSetRow,
    SetKind,
    SetPlace,
    SetState,
    activate_set,
    end_canary,
    lock_sets,
    with_deed,
)
from models.learning.served_set import WORDS_ALONE
from models.learning.settings import LearningSettings
from models.plans.plan import outcome_numbers
from models.scope import Scope
from models.telemetry.counters import Counted, count

log = structlog.get_logger()

DAY = timedelta(days=1)


class PriorCanary(Base):
    """A canary of a catalog's rankings, running while its set has the state, or ended."""

    __tablename__ = "prior_canary"
    __table_args__ = (
        CheckConstraint("share > 0 and share < 1", name="share_is_a_part"),
        CheckConstraint("base >= 0 and base <> version", name="base_is_another"),
        CheckConstraint("ends_at > since", name="time_passes"),
    )

    tenant_id: Mapped[TenantKey]
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    share: Mapped[float] = mapped_column(Double)
    base: Mapped[int]
    since: Mapped[CreatedAt]
    ends_at: Mapped[datetime]
    after_seq: Mapped[int] = mapped_column(BigInteger)


class CanaryRefusedError(AfterturnError):
    """A set that cannot be served to a share of sessions now."""

    code = "canary-refused"


@dataclass(frozen=True)
class CanaryArm:
    """Outcomes of plans ranked by one set of a canary.

    Attributes:
        sessions: Number of sessions with outcomes.
        plans: Number of plans with outcomes.
        well: Number of plans without a failed step.
        share: Share of plans that went well, with its interval; None without plans.
    """

    sessions: int
    plans: int
    well: int
    share: Share | None


@dataclass(frozen=True)
class CanaryFacts:
    """A canary, running or ended.

    Attributes:
        share: Share of sessions served the new set.
        base: The set compared with; 0 for words alone.
        since: Start.
        until: The last moment at which the canary serves.
        end: Verdict; None while it runs, or after an end without a verdict.
        new: Outcomes under the new set.
        in_force: Outcomes under the set in force, from the same time.
        difference: Share of the new set less the share of the set in force, with its interval.
    """

    share: float
    base: int
    since: datetime
    until: datetime
    end: str | None
    new: CanaryArm
    in_force: CanaryArm
    difference: Difference | None


def start_canary(
    db: Transaction, place: SetPlace, version: int, *, share: float, days: int, reason: str
) -> None:
    """Serve a set to a share of sessions until outcomes decide, at most for some days.

    Args:
        db: A transaction; the sets of the place are locked until its end.
        place: Key of the series.
        version: A kept set that is not in force.
        share: Share of sessions, above 0 and below 1.
        days: The most days, >= 1.
        reason: Deed and doer, for the list of sets.

    Raises:
        LookupError: The version does not exist, or has no bytes any more.
        CanaryRefusedError: A canary runs already, the set is in force, or no request is ranked by the sets.
        ValueError: The share or the number of days is out of bounds.
    """
    if not 0 < share < 1 or days < 1:
        raise ValueError("a canary needs a share above 0 and below 1, and a day")
    if place.kind is not SetKind.RANKING or not place.name:
        raise CanaryRefusedError("only sets of a catalog's rankings are served to a share of sessions")
    lock_sets(db, place)
    states = dict(
        db.execute(
            select(PriorSetRow.version, PriorSetRow.state).where(place.here(), PriorSetRow.blob.is_not(None))
        ).all()
    )
    if version not in states:
        raise LookupError(f"there is no set {version} of it any more")
    running = next((known for known, state in states.items() if state == SetState.CANARY), None)
    if running is not None:
        raise CanaryRefusedError(f"set {running} is a canary already", canary=running)
    if states[version] == SetState.ACTIVE:
        raise CanaryRefusedError(f"set {version} is in force", in_force=version)
    base = next((known for known, state in states.items() if state == SetState.ACTIVE), WORDS_ALONE)
    db.execute(
        update(PriorSetRow)
        .where(place.here(), PriorSetRow.version == version)
        .values(
            state=SetState.CANARY,
            evaluation=PriorSetRow.evaluation.op("-")("canary"),
            ended_at=None,
            reason=with_deed(reason),
        )
    )
    values = {
        "share": share,
        "base": base,
        "since": func.now(),
        "ends_at": func.now() + days * DAY,
        "after_seq": outcome_numbers.next_value(),
    }
    key = {"tenant_id": place.tenant_id, "name": place.name, "version": version}
    db.execute(
        insert(PriorCanary)
        .values(**key, **values)
        .on_conflict_do_update(index_elements=list(key), set_=values)
    )
    count(Counted.PRIOR_SETS, place.kind.value, SetState.CANARY.value)


def stop_canary(db: Transaction, place: SetPlace, *, reason: str) -> int | None:
    """End a canary by hand; the set in force serves every session again.

    Returns:
        The version in force; None for words alone.

    Raises:
        LookupError: No canary runs.
    """
    lock_sets(db, place)
    row = _running(db, place)
    if row is None or not end_canary(db, place, reason=reason):
        raise LookupError("no canary runs")
    return row["base"] or None


def settle_canary(db: Transaction, place: SetPlace, settings: LearningSettings) -> str | None:
    """Promote or drop a canary if outcomes decide, or if its time is over.

    Only outcomes of whole days since the start count: any number of looks in a day see the same outcomes.
    Safe to run twice and at once: the sets are locked, and an ended canary is not found again.

    Args:
        db: A transaction.
        place: Key of the series.
        settings: Least numbers and margin.

    Returns:
        The result in words; None without a canary.
    """
    lock_sets(db, place)
    row = _running(db, place)
    if row is None:
        return None
    now, version = database_now(db), int(row["version"])
    is_over = now >= row["ends_at"]
    until = min(row["since"] + (now - row["since"]) // DAY * DAY, row["ends_at"])
    new, old = _count_arms(db, place, row, until=until)
    looks = max((row["ends_at"] - row["since"]) // DAY, 1)
    rules = CanaryRules(settings.learn_canary_least_sessions, settings.learn_canary_margin, looks)
    verdict = judge_canary(new, old, rules, is_over=is_over)
    if verdict.end is None:
        return f"canary of set {version} goes on: {verdict.reason}"
    _end(db, place, row, verdict, (new, old))
    return f"set {version} {verdict.end}: {verdict.reason}"


def _end(
    db: Transaction,
    place: SetPlace,
    row: RowMapping,
    verdict: CanaryVerdict,
    arms: tuple[ArmCounts, ArmCounts],
) -> None:
    figures = {"end": verdict.end, **describe_arms(*arms)}
    db.execute(
        update(PriorSetRow)
        .where(place.here(), PriorSetRow.version == row["version"])
        .values(evaluation={**row["evaluation"], "canary": figures})
    )
    reason = f"{verdict.end} by outcomes: {verdict.reason}"
    if verdict.end is CanaryEnd.PROMOTED:
        activate_set(db, place, row["version"], reason=reason)
    else:
        end_canary(db, place, reason=reason)
    count(Counted.PRIOR_SETS, place.kind.value, str(verdict.end))
    log.info("canary_ended", version=row["version"], end=verdict.end, **figures["counts"])


def describe_arms(new: ArmCounts, old: ArmCounts) -> dict[str, Any]:
    """Return the sums of both sets of a canary, JSON-ready."""
    return {"counts": {**_named("new", new), **_named("in_force", old)}}


def _named(prefix: str, arm: ArmCounts) -> dict[str, int]:
    return {f"{prefix}_{name}": value for name, value in vars(arm).items()}


def catalogs_with_canary(scope: Scope) -> list[str]:
    """Find the catalogs of a tenant with a canary: it ends also where no outcome is new."""
    found = select(PriorSetRow.name).where(
        PriorSetRow.tenant_id == scope.tenant_id, PriorSetRow.state == SetState.CANARY
    )
    return sorted(scope.db.execute(found).scalars())


def find_canary(db: Transaction, place: SetPlace) -> int | None:
    """Find the version of the running canary; None without one."""
    row = _running(db, place)
    return None if row is None else int(row["version"])


def _running(db: Transaction, place: SetPlace) -> RowMapping | None:
    wanted = (
        select(PriorCanary.__table__, PriorSetRow.evaluation)
        .join(PriorCanary, _of_set())
        .where(place.here(), PriorSetRow.state == SetState.CANARY)
    )
    return db.execute(wanted.select_from(PriorSetRow)).mappings().one_or_none()


def _of_set() -> ColumnElement[bool]:
    return (
        (PriorCanary.tenant_id == PriorSetRow.tenant_id)
        & (PriorCanary.name == PriorSetRow.name)
        & (PriorCanary.version == PriorSetRow.version)
        & (PriorSetRow.kind == SetKind.RANKING)
    )


def list_canaries(scope: Scope, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], CanaryFacts]:
    """Describe the canaries of sets for rankings, with all outcomes so far.

    Figures of a verdict stay as they were judged; without a verdict they are counted from the plans that are
    left.

    Args:
        scope: The transaction and its tenant.
        keys: Catalog and version of the sets; a set that never was a canary is left out.
    """
    wanted = (
        select(PriorCanary.__table__, PriorSetRow.evaluation, PriorSetRow.ended_at)
        .join(PriorCanary, _of_set())
        .where(
            PriorSetRow.tenant_id == scope.tenant_id,
            tuple_(PriorCanary.name, PriorCanary.version).in_([*keys]),
        )
    )
    rows = scope.db.execute(wanted.select_from(PriorSetRow)).mappings().all()
    return {(row["name"], row["version"]): _facts(scope, row) for row in rows}


def _facts(scope: Scope, row: RowMapping) -> CanaryFacts:
    judged = row["evaluation"].get("canary")
    if judged:
        new, old = (_arm_of(judged["counts"], prefix) for prefix in ("new", "in_force"))
    else:
        until = min(row["ended_at"] or database_now(scope.db), row["ends_at"])
        place = SetPlace(scope.tenant_id, SetKind.RANKING, row["name"])
        new, old = _count_arms(scope.db, place, row, until=until)
    return CanaryFacts(
        share=row["share"],
        base=row["base"],
        since=row["since"],
        until=row["ends_at"],
        end=judged["end"] if judged else None,
        new=CanaryArm(new.sessions, new.plans, new.well, new.share()),
        in_force=CanaryArm(old.sessions, old.plans, old.well, old.share()),
        difference=compare_arms(new, old),
    )


def _arm_of(counts: JsonObject, prefix: str) -> ArmCounts:
    return ArmCounts(**{name: counts[f"{prefix}_{name}"] for name in ArmCounts.__dataclass_fields__})


_ARMS = text(
    """
    select version, count(*) as sessions, sum(plans)::bigint as plans, sum(well)::bigint as well,
        sum(well * well)::bigint as well_squares, sum(well * plans)::bigint as cross,
        sum(plans * plans)::bigint as plan_squares
    from (
        select prior_set as version, count(*) as plans, count(*) filter (where went_well) as well
        from plan_history
        where tenant_id = :tenant_id and catalog = :catalog and outcome_seq > :after_seq
            and created_at >= :since and outcome_at < :until
            and prior_set in (:version, :base) and went_well is not null
        group by prior_set, coalesce(session_id collate "C", plan_id::text)
    ) as session
    group by version
    """
)


def _count_arms(
    db: Transaction, place: SetPlace, row: RowMapping, *, until: datetime
) -> tuple[ArmCounts, ArmCounts]:
    """Count the outcomes under the new set, and under the set in force, since the canary began."""
    values = {
        "tenant_id": place.tenant_id,
        "catalog": place.name,
        "after_seq": row["after_seq"],
        "since": row["since"],
        "until": until,
        "version": row["version"],
        "base": row["base"],
    }
    arms = {
        found["version"]: ArmCounts(**{name: found[name] for name in ArmCounts.__dataclass_fields__})
        for found in db.execute(_ARMS, values).mappings()
    }
    return arms.get(row["version"], ArmCounts()), arms.get(row["base"], ArmCounts())
