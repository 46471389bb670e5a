"""Reading the focus cache: exact answers to a focus, near candidates, and all for one question."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import ColumnElement, and_, func, or_, select, text, true

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
from models.artifacts.summary import (
    KEY_COLUMNS,
    ArtifactSummary,
    ReadingState,
    SummaryKey,
    answers_for,
    open_focus,
    text_row,
)
from models.base import read_time
from models.encryption.keys import TextCipher
from models.scope import Scope


@dataclass(frozen=True)
class Maker:
    """Summarizer and prompt of the summaries accepted as exact answers.

    Attributes:
        model: The summarizer in force; None for any model.
        prompt_version: Prompt version of the summarizer; None for any version.
    """

    model: str | None = None
    prompt_version: str | None = None

    @property
    def is_known(self) -> bool:
        """True when a model or a prompt version is named, so that summaries by other makers exist."""
        return self != ANYBODY


ANYBODY = Maker()

MOST_CANDIDATES = 200
"""Most entries compared with a focus, the latest used first."""


@dataclass(frozen=True)
class ReadySummary:
    """A ready entry of the focus cache."""

    key: SummaryKey
    focus: str
    terms: Sequence[str]
    text: str
    tokens: int
    tokens_wide: int
    method: str
    call_ids: Sequence[UUID]
    ready_at: datetime


@dataclass(frozen=True)
class Candidate:
    """An entry possibly near to a focus; the text is read by key once the entry is chosen."""

    key: SummaryKey
    focus: str
    terms: Sequence[str]
    tokens: int
    asked_models: Sequence[str] = ()

    def is_of(self, maker: Maker) -> bool:
        """Check whether a maker wrote the entry, or another model answered in the maker's place."""
        models, prompt = (self.key.model, *self.asked_models), maker.prompt_version
        return maker.model in (None, *models) and prompt in (None, self.key.prompt_version)


def _made_by(maker: Maker) -> list[ColumnElement[bool]]:
    """List the conditions for an entry written by a maker."""
    prompt = maker.prompt_version
    return [
        answers_for(maker.model) if maker.model else true(),
        ArtifactSummary.prompt_version == prompt if prompt else true(),
    ]


def _asks(cells: TextCipher, focus_key: str) -> ColumnElement[bool]:
    """Select the entries of a focus, for both stored forms of the key."""
    return ArtifactSummary.focus_key.in_(key_forms(cells, focus_key))


_READY_COLUMNS = (
    ArtifactSummary.focus,
    ArtifactSummary.terms,
    ArtifactSummary.text,
    ArtifactSummary.tokens,
    func.coalesce(ArtifactSummary.tokens_wide, ArtifactSummary.tokens),
    func.coalesce(ArtifactSummary.method, ""),
    ArtifactSummary.call_ids,
    ArtifactSummary.ready_at,
)


_KEY_SQL = ", ".join(f"summary.{name}" for name in SummaryKey.__dataclass_fields__)
_IN_FORCE_SQL = f"""
    summary.tenant_id = asked.tenant_id and summary.artifact_id in (select artifact_id from used)
    and summary.state = '{ReadingState.READY}' and summary.expires_at > now()
"""  # noqa: S608 (parts of our own)
_FOR_FOCUS_SQL = f"{_IN_FORCE_SQL} and summary.focus_key = any(asked.focus_keys)"
EXACT_CALLS_SQL = f"select unnest(summary.call_ids) from artifact_summary summary where {_FOR_FOCUS_SQL}"  # noqa: S608
"""The calls behind the entries of `EXACT_SQL`."""

EXACT_SQL = f"""(
    select json_agg(json_build_array({_KEY_SQL}, summary.focus, summary.terms, summary.text, summary.tokens,
        coalesce(summary.tokens_wide, summary.tokens), coalesce(summary.method, ''), summary.call_ids,
        summary.ready_at, summary.asked_models) order by summary.ready_at)
    from artifact_summary summary where {_FOR_FOCUS_SQL}
)"""  # noqa: S608 (parts of our own)
"""The entries of the artifacts in `used` for the focus of `asked`, as JSON; see `read_exact`."""

CANDIDATE_SQL = f"""(
    select json_agg(json_build_array({_KEY_SQL}, summary.focus, summary.terms, summary.tokens,
        summary.asked_models, summary.ready_at) order by coalesce(summary.used_at, summary.ready_at) desc)
    from (
        select * from artifact_summary summary where {_IN_FORCE_SQL}
        order by coalesce(used_at, ready_at) desc limit {2 * MOST_CANDIDATES}
    ) summary
)"""  # noqa: S608 (parts of our own)
"""The entries of the artifacts in `used` for any focus, without texts, as JSON; see `read_candidate`."""


def read_exact(cells: TextCipher, row: Sequence[Any]) -> tuple[ReadySummary, Sequence[str]]:
    """Read an entry of `EXACT_SQL`, with the models that its own answered for."""
    *facts, call_ids, ready_at, asked_models = row
    return _summary(cells, (*facts, list(map(UUID, call_ids)), read_time(ready_at))), asked_models


def read_candidate(cells: TextCipher, row: Sequence[Any]) -> tuple[Candidate, datetime | None]:
    """Read an entry of `CANDIDATE_SQL`, with the time of its making."""
    length = len(KEY_COLUMNS)
    *facts, ready_at = row[length:]
    return _candidate(cells, SummaryKey(*row[:length]), *facts), read_time(ready_at)


def is_settled(scope: Scope, key: SummaryKey) -> bool:
    """Check whether a wish needs no work: an answer or a refusal by any model exists.

    A key with a model counts only entries of the model, or of a model that answered in its place. A key with
    a prompt version counts only entries of the prompt version.
    """
    own = [answers_for(key.model)] if key.model else []
    own += [ArtifactSummary.prompt_version == key.prompt_version] if key.prompt_version else []
    settled = select(ArtifactSummary.artifact_id).where(
        ArtifactSummary.tenant_id == scope.tenant_id,
        ArtifactSummary.artifact_id == key.artifact_id,
        _asks(scope.cells, key.focus_key),
        ArtifactSummary.size_class == key.size_class,
        ArtifactSummary.language == key.language,
        ArtifactSummary.state != ReadingState.WANTED,
        ArtifactSummary.expires_at > func.now(),
        *own,
    )
    return scope.db.execute(settled.limit(1)).first() is not None


def find_standing(
    scope: Scope, key: SummaryKey, *, maker: Maker = ANYBODY
) -> tuple[ReadingState, str | None] | None:
    """Find the state of a wish: ready before wanted before rejected.

    Args:
        scope: The transaction and its tenant.
        key: The wish. The prompt version is the version in use now: rejections of older prompts do not count.
        maker: The maker of accepted answers.

    Returns:
        The state, and the reason of a rejection; None for a wish never asked.
    """
    rows = scope.db.execute(
        select(ArtifactSummary.state, ArtifactSummary.rejected_because)
        .where(
            ArtifactSummary.tenant_id == scope.tenant_id,
            ArtifactSummary.artifact_id == key.artifact_id,
            _asks(scope.cells, key.focus_key),
            ArtifactSummary.size_class == key.size_class,
            ArtifactSummary.language == key.language,
            ArtifactSummary.expires_at > func.now(),
            or_(
                ArtifactSummary.state != ReadingState.REJECTED,
                ArtifactSummary.prompt_version == key.prompt_version,
            ),
            or_(ArtifactSummary.state == ReadingState.WANTED, and_(*_made_by(maker))),
        )
        .order_by(ArtifactSummary.created_at)
    )
    found = {ReadingState(state): because for state, because in rows}
    order = (ReadingState.READY, ReadingState.WANTED, ReadingState.REJECTED)
    return next(((state, found[state]) for state in order if state in found), None)


def load_ready(scope: Scope, keys: Collection[SummaryKey]) -> dict[SummaryKey, ReadySummary]:
    """Load entries by key; entries no longer in force are left out."""
    if not keys:
        return {}
    cells = scope.cells
    rows = scope.db.execute(
        select(*KEY_COLUMNS, *_READY_COLUMNS).where(
            or_(*(key.of_either(cells) for key in keys)),
            ArtifactSummary.state == ReadingState.READY,
            ArtifactSummary.expires_at > func.now(),
        )
    )
    found = (_summary(cells, row) for row in rows)
    return {summary.key: summary for summary in found}


def _summary(cells: TextCipher, row: Any) -> ReadySummary:
    length = len(KEY_COLUMNS)
    key = SummaryKey(*row[:length])
    stored = ReadySummary(key, *row[length:])
    focus, terms = open_focus(cells, key, stored.focus, stored.terms)
    content = cells.open("artifact_summary.text", stored.text, *text_row(key))
    return replace(stored, focus=focus, terms=terms, text=content)


def _candidate(cells: TextCipher, key: SummaryKey, focus: str, terms: Sequence[str], *rest: Any) -> Candidate:
    return Candidate(key, *open_focus(cells, key, focus, terms), *rest)


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
    scope: Scope,
    session_id: str | None,
    artifact_ids: Collection[str],
    keys: QuestionKeys,
) -> StoredForQuestion:
    """Load the summaries and plans that may serve a question about artifacts.

    Args:
        scope: The transaction and its tenant.
        session_id: The session of the plans; None for no plans.
        artifact_ids: The artifacts.
        keys: The keys of the question.
    """
    cells = scope.cells
    asked = {"session_id": session_id, "artifact_ids": sorted(artifact_ids)}
    stored = scope.execute(_FOR_QUESTION, **asked, **keys.forms(cells)).scalar_one()
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
