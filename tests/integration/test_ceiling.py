"""The ceiling of what is made ahead of use holds where several workers spend at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from context.focus import SizeClass, normalise
from context.precompute.worth import Guess, SpeculationPurpose, WorthLimits
from llm.scripted import Mode, Step
from models import database as session
from models.artifacts.settings import planning_settings
from models.artifacts.summary import SummaryKey, Wish, want_summary
from models.artifacts.use import load_uses
from models.due_work.queue import WorkKind, enqueue
from models.learning.speculation import Reserved, What, note_made, release, reserve_spending
from models.scope import Scope
from tests.integration import test_speculation as speculation
from tests.integration.test_precompute_job import ABOUT, NOTES
from tests.integration.test_speculation import made_ahead

pytestmark = pytest.mark.usefixtures("one_day")

WHAT = What(SpeculationPurpose.READING, "request", "text")
CALL = Guess(uses=1.3, saving=900, tokens=10_000, price_share=1.0)
LIMITS = WorthLimits(ceiling_share=0.5, explore_share=0.0, allowance_tokens=0)

platform = speculation.platform


def counted(tenant_id: UUID) -> tuple[int, int]:
    """Things made, and tokens spent with those reserved."""
    with session.read_transaction() as db:
        asked = text("select sum(made), sum(spent_tokens) from speculation where tenant_id = :tenant_id")
        made, spent = db.execute(asked, {"tenant_id": tenant_id}).one()
    return int(made), int(spent)


def saved(tenant_id: UUID, tokens: int) -> None:
    with session.transaction() as db:
        db.execute(
            text(
                "insert into speculation (tenant_id, day, purpose, origin, kind, saved_tokens) "
                "values (:tenant_id, (now() at time zone 'UTC')::date, 'plan', 'request', '', :saved)"
            ),
            {"tenant_id": tenant_id, "saved": tokens},
        )


def wished(platform: Any) -> list[str]:
    """Let a request have wished for a summary of each large result."""
    focus = normalise(ABOUT)
    with session.transaction() as db:
        scope = Scope(db, platform.tenant_id)
        uses = load_uses(scope, "s1", after_seq=0, newest=10)
        artifacts = [use.artifact.artifact_id for use in uses if use.artifact]
        for artifact in artifacts:
            key = SummaryKey(artifact, focus.key, SizeClass.MEDIUM, focus.language)
            wish = Wish(key, focus.original, focus.terms, "request", "s1")
            want_summary(scope, wish, ttl_s=1_000)
            enqueue(scope, WorkKind.ARTIFACT, artifact)
    return artifacts


def reserve(tenant_id: UUID) -> Reserved | None:
    with session.transaction() as db:
        return reserve_spending(Scope(db, tenant_id), WHAT, CALL, LIMITS)


def test_as_many_calls_are_reserved_at_once_as_the_ceiling_has_room_for(tenant_id: UUID) -> None:
    saved(tenant_id, 60_000)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(reserve, [tenant_id] * 8))
    assert sum(one is not None for one in taken) == 3
    assert counted(tenant_id) == (0, 30_000)


def test_a_reservation_gives_way_to_what_was_spent_or_is_given_back(tenant_id: UUID) -> None:
    saved(tenant_id, 60_000)
    first, second = reserve(tenant_id), reserve(tenant_id)
    assert first is not None
    assert second is not None
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        note_made(scope, WHAT, spent_tokens=7_000, reserved=first)
        release(scope, WHAT, second)
    assert counted(tenant_id) == (1, 7_000)
    assert reserve(tenant_id) is not None


def test_two_jobs_at_once_make_one_reading_where_the_ceiling_has_room_for_one(
    platform: Any,
) -> None:
    artifacts = wished(platform)
    assert len(artifacts) == 2, "both were decided on before either was paid for"
    room = planning_settings().model_copy(update={"speculation_allowance_tokens": 10_000})
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(
            lambda one: platform.do(WorkKind.ARTIFACT, one, Step(Mode.OK, NOTES), planning=room), artifacts
        )
        assert len(list(done)) == len(artifacts)
    assert len(platform.server.requests) == 1
    assert made_ahead(platform)["reading"]["made"] == 1
    with session.read_transaction() as db:
        assert len(db.execute(text("select state from artifact_summary")).all()) == 1, "the other is dropped"
