"""Helpers for tests of learning: plans with outcomes, a catalog, and the work done as a worker does."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import text

from context.catalog.read import read_catalog
from context.priors.types import JoinedPlan
from models import database as session
from models.catalogs.catalog import put_catalog
from models.due_work.queue import WorkKind, enqueue, find_work
from models.learning.prior_set import SetKind, SetPlace
from models.learning.served_set import ServedSets, find_served_sets
from models.learning.set_listing import SetFacts, list_sets
from models.learning.settings import LearningSettings
from models.scope import Scope
from tests.unit.priors.plans import TOOLS, history
from workers.jobs.learn.night import CATALOG, learn
from workers.jobs.lifecycle import run_work
from workers.settings import WorkerSettings

SETTINGS = LearningSettings(learn_holdout_least=10, learn_page_plans=7)
NAME = "main"
INSERT = text(
    """
    insert into plan_history (tenant_id, plan_id, source, status, session_id, user_id, intent, intent_sha,
        features, complexity, mode, catalog, catalog_digest, method, steps, ready_at, outcome_at, outcome_seq)
    values (:tenant_id, :plan_id, 'asked', 'ready', :session_id, :user_id, :intent, '\\x00', '{}', 0, 'plan',
        :catalog, null, 'lexical', cast(:steps as jsonb), now(), to_timestamp(:at),
        nextval('plan_outcome_seq'))
    """
)


def shuffled(each: int = 12, *, tools: Sequence[str] = TOOLS, seed: int = 1) -> list[JoinedPlan]:
    """The plans of a history, all tools mixed, in an order of the seed's own."""
    plans = history(each, tools=tools)
    return [plans[(seed * 7 + place * 37) % len(plans)] for place in range(len(plans))]


def steps_of(plan: JoinedPlan, *, known: int | None = None) -> list[dict[str, Any]]:
    """A plan's steps as they are stored, only so many of them with an outcome."""
    known = len(plan.tools) if known is None else known
    return [
        {
            "order": order,
            "tool": step.tool,
            "outcome": ("ok" if step.ok else "error") if order < known else None,
        }
        for order, step in enumerate(plan.tools)
    ]


def store_plans(
    tenant_id: UUID,
    plans: Sequence[JoinedPlan],
    *,
    catalog: str | None = NAME,
    session_id: str | None = None,
    user_id: str | None = None,
    known: int | None = None,
) -> list[UUID]:
    """Store plans whose outcomes are joined, in this order. Returns their ids."""
    ids = [uuid4() for _ in plans]
    rows = [
        {
            "tenant_id": tenant_id,
            "plan_id": plan_id,
            "session_id": session_id,
            "user_id": user_id,
            "intent": plan.intent,
            "catalog": catalog,
            "steps": json.dumps(steps_of(plan, known=known)),
            "at": plan.day * 86_400 + 100,
        }
        for plan_id, plan in zip(ids, plans, strict=True)
    ]
    with session.transaction() as db:
        db.execute(INSERT, rows)
    return ids


def catalog_document(*more: str, tools: Sequence[str] = TOOLS) -> dict[str, Any]:
    """A catalog whose descriptions share no word with the intents of the tests."""
    return {
        "tools": [
            {"name": name, "description": f"Tool number {at}"} for at, name in enumerate([*tools, *more])
        ]
    }


def put(tenant_id: UUID, document: dict[str, Any], name: str = NAME) -> None:
    """Store a catalog."""
    with session.transaction() as db:
        now = db.execute(text("select now()")).scalar_one()
        put_catalog(
            Scope(db, tenant_id),
            name,
            read_catalog(document),
            body=json.dumps(document),
            tokens=1,
            now=now,
            keep_versions=3,
        )


def learn_now(tenant_id: UUID, name: str = NAME, settings: LearningSettings = SETTINGS, key: str = "") -> str:
    """Have a catalog's plans learned, as a worker does. Returns what came of it."""
    key = key or CATALOG + name
    with session.transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.LEARN, key)
    return work_off(tenant_id, key, settings)


def work_off(tenant_id: UUID, key: str, settings: LearningSettings = SETTINGS) -> str:
    """Do a piece of learning that is due."""
    with session.read_transaction() as db:
        found = find_work(Scope(db, tenant_id), WorkKind.LEARN, key)
    assert found is not None
    handlers = {WorkKind.LEARN: lambda held: learn(held, settings=settings)}
    return run_work(found.work_id, handlers, WorkerSettings())


def place(tenant_id: UUID, name: str = NAME) -> SetPlace:
    """Whose sets for ranking."""
    return SetPlace(tenant_id, SetKind.RANKING, name)


def in_force(db: session.Transaction, tenant_id: UUID) -> int | None:
    """The version in force for the tests' catalog; None for words alone."""
    return find_served_sets(Scope(db, tenant_id), [NAME]).get(NAME, ServedSets()).in_force


def sets(tenant_id: UUID, name: str | None = NAME) -> list[SetFacts]:
    """The sets for ranking, newest first."""
    with session.read_transaction() as db:
        return list_sets(Scope(db, tenant_id), kind=SetKind.RANKING, name=name)
