"""Summaries and plans of artifacts that may serve a question, read in one statement."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import text

from models.artifacts.plan import (
    MOST_PLANS,
    PLAN_CALLS_SQL,
    PLAN_SQL,
    ArtifactPlanRecord,
    PlanKey,
    PlanState,
    read_plan,
)
from models.artifacts.sealing import key_forms
from models.artifacts.summary_lookup import (
    CANDIDATE_SQL,
    EXACT_CALLS_SQL,
    EXACT_SQL,
    MOST_CANDIDATES,
    Candidate,
    Maker,
    ReadySummary,
    read_candidate,
    read_exact,
)
from models.database import Transaction
from models.encryption.keys import TextCipher


@dataclass(frozen=True)
class QuestionKeys:
    """Keys of a question: of the focus for summaries, and of the question for plans."""

    focus_key: str
    question_key: str

    def forms(self, cells: TextCipher) -> dict[str, list[str]]:
        """Return every stored form of the keys, as parameters.

        Raises:
            TextUnavailableError: The tenant's key is not available.
        """
        return {
            "focus_keys": list(key_forms(cells, self.focus_key)),
            "question_keys": list(key_forms(cells, self.question_key)),
        }


@dataclass(frozen=True)
class StoredForQuestion:
    """Stored summaries and plans that may serve a question about certain artifacts.

    Attributes:
        keys: The keys of the question.
        artifact_ids: The artifacts.
        exact: Ready summaries for exactly the focus, with the models in whose place each was made; by time.
        near: Ready summaries for any focus, with their times; the latest used first.
        plans: Ready plans of the session, and plans for the question.
        question_forms: Every stored form of the question's key.
        prices: Prices in US dollars of the calls behind `exact` and `plans`; None for an unknown price.
    """

    keys: QuestionKeys
    artifact_ids: frozenset[str]
    exact: Sequence[tuple[ReadySummary, Sequence[str]]] = ()
    near: Sequence[tuple[Candidate, datetime | None]] = ()
    plans: Sequence[ArtifactPlanRecord] = ()
    question_forms: Collection[str] = field(default=frozenset(), repr=False)
    prices: Mapping[UUID, Decimal | None] = field(default_factory=dict)

    def serves(self, focus_key: str, artifact_ids: Collection[str]) -> bool:
        """Tell whether the summaries of the artifacts for a focus were read."""
        return self.keys.focus_key == focus_key and self.artifact_ids.issuperset(artifact_ids)

    def find_exact(
        self, artifact_ids: Collection[str], maker: Maker, ready_by: datetime | None
    ) -> dict[str, ReadySummary]:
        """Find the newest summary of each artifact by a maker, made until a time."""
        return {
            summary.key.artifact_id: summary
            for summary, models in self.exact
            if summary.key.artifact_id in artifact_ids and _is_by(summary.ready_at, ready_by)
            if Candidate(summary.key, "", (), 0, models).is_of(maker)
        }

    def find_candidates(self, artifact_ids: Collection[str], ready_by: datetime | None) -> list[Candidate]:
        """Find the summaries of artifacts for any focus, made until a time."""
        found = [
            candidate
            for candidate, ready_at in self.near
            if candidate.key.artifact_id in artifact_ids and _is_by(ready_at, ready_by)
        ]
        return found[:MOST_CANDIDATES]

    def find_plan(self, key: PlanKey) -> ArtifactPlanRecord | None:
        """Find the newest plan of a key, in any state."""
        own = (plan for plan in self._of(key) if plan.key.question_key in self.question_forms)
        return max(own, key=lambda plan: plan.created_at, default=None)

    def find_ready_plans(self, key: PlanKey, *, focus: str, model: str) -> list[ArtifactPlanRecord]:
        """Find ready plans by the model for exactly a key's artifacts and the focus, newest first."""
        ready = [plan for plan in self._of(key) if plan.state is PlanState.READY and plan.model == model]
        ready.sort(key=lambda plan: plan.key.question_key)
        ready.sort(key=lambda plan: plan.ready_at or plan.created_at, reverse=True)
        return [plan for plan in ready[:MOST_PLANS] if plan.focus == focus]

    def _of(self, key: PlanKey) -> list[ArtifactPlanRecord]:
        return [plan for plan in self.plans if plan.key.artifacts_digest == key.artifacts_digest]


def _is_by(made_at: datetime | None, ready_by: datetime | None) -> bool:
    return ready_by is None or (made_at is not None and made_at <= ready_by)


FOR_QUESTION_SQL = f"""json_build_array({EXACT_SQL}, {CANDIDATE_SQL}, {PLAN_SQL}, (
    select json_agg(json_build_array(call.call_id, cast(call.price_usd as text)))
    from llm_call call
    where call.tenant_id = asked.tenant_id and call.call_id in ({EXACT_CALLS_SQL} union all {PLAN_CALLS_SQL})
))"""  # noqa: S608 (parts of our own)
"""Everything for the question of `asked` about the artifacts in `used`; see `read_for_question`."""

_FOR_QUESTION = text(f"""
    with asked as (
        select cast(:tenant_id as uuid) as tenant_id, cast(:session_id as text) collate "C" as session_id,
            cast(:focus_keys as text[]) collate "C" as focus_keys,
            cast(:question_keys as text[]) collate "C" as question_keys
    ), used as (
        select unnest(cast(:artifact_ids as text[]) collate "C") as artifact_id
    )
    select cast({FOR_QUESTION_SQL} as text) from asked
""")  # noqa: S608 (parts of our own)


def load_for_question(
    db: Transaction,
    tenant_id: UUID,
    session_id: str | None,
    artifact_ids: Collection[str],
    keys: QuestionKeys,
) -> StoredForQuestion:
    """Load the summaries and plans that may serve a question about artifacts.

    Args:
        db: A connection.
        tenant_id: The tenant of the artifacts.
        session_id: The session of the plans; None for no plans.
        artifact_ids: The artifacts.
        keys: The keys of the question.
    """
    cells = TextCipher(db, tenant_id)
    asked = {"tenant_id": tenant_id, "session_id": session_id, "artifact_ids": sorted(artifact_ids)}
    stored = db.execute(_FOR_QUESTION, {**asked, **keys.forms(cells)}).scalar_one()
    return read_for_question(cells, keys, artifact_ids, orjson.loads(stored))


def read_for_question(
    cells: TextCipher,
    keys: QuestionKeys,
    artifact_ids: Collection[str],
    rows: Sequence[Sequence[Sequence[Any]] | None],
) -> StoredForQuestion:
    """Read the rows of `FOR_QUESTION_SQL`."""
    exact, near, plans, priced = (each or () for each in rows)
    summaries = [read_exact(cells, row) for row in exact]
    known = [read_plan(cells, row) for row in plans]
    called = [*(summary.call_ids for summary, _ in summaries), *(plan.call_ids for plan in known)]
    return StoredForQuestion(
        keys,
        frozenset(artifact_ids),
        summaries,
        [read_candidate(cells, row) for row in near],
        known,
        frozenset(keys.forms(cells)["question_keys"]),
        {
            **dict.fromkeys(chain.from_iterable(called)),
            **{UUID(call): price and Decimal(price) for call, price in priced},
        },
    )
