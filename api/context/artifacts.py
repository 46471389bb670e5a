"""Artifacts of a request: search, known facts, and the planned use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from uuid import UUID

from api.context.activation import Arrivals
from api.context.artifact_plan import (
    LEFT_TO_STEPS,
    NO_PLAN_NEEDED,
    Planned,
    choose_plan,
    question_keys,
)
from api.context.artifact_question import ArtifactQuestion, FoundArtifacts
from api.context.artifact_summaries import CachedText, Match, brought_text, find_matches, load_texts
from api.context.request import find_attachments, read_attachments
from context.artifact_plans.by_rule import compare_texts
from context.artifact_plans.question import Asking, asking, asks_for_all
from context.artifact_plans.strategies import EXTRACT_TOKENS, Available, Extract
from context.artifacts.content import all_artifacts
from context.artifacts.superseded import Superseded, SupersededReason
from context.artifacts.types import Artifact, Reading, ReadingForm
from context.extract import extract
from context.focus import Focus, normalise
from context.tokens import count_text
from context.window.types import ArtifactCandidates
from models.artifacts.settings import planning_settings
from models.artifacts.summary import SummaryKey
from models.artifacts.summary_lookup import ANYBODY, Maker, StoredForQuestion, load_for_question
from models.artifacts.use import Use, find_old, load_uses
from models.database import Transaction, read_transaction
from models.scope import Scope

PARTIAL_METHODS = frozenset({"extractive", "summary-of-excerpt"})
"""Methods with a result from some passages only."""

MOST_EXTRACT_TOKENS = 8_000
"""Most tokens of an extract, however large the document."""

LOOKUP_TOKENS = 1_000
"""Most tokens of an extract for an exact look-up; more would be irrelevant."""


@dataclass(frozen=True)
class ArtifactSelection:
    """A shelf for the assembler, with its history for the answer.

    Attributes:
        shelf: The artifacts and their plan; None without artifacts.
        planned: The plan's origin and reason.
        focus: The reader's question.
        matches: Usable summaries, by artifact.
        artifacts: All artifacts considered.
        whole: Artifacts asked for as a whole.
        goes_on: True if the request answers calls, so that its turn continues and repeats the question.
        summarizer: The request's summarizer model; empty for the settings' own.
        in_force: Maker of exactly matching summaries.
        room: Room for artifacts, in stored tokens.
        arrivals: Decision about what arrived within the turn; None to show everything.
        is_anew: True if something that arrived within the turn is shown at once.
        prices: Known prices of calls behind summaries and plans, in US dollars.
    """

    shelf: ArtifactCandidates | None = None
    planned: Planned = NO_PLAN_NEEDED
    focus: Focus | None = None
    matches: Mapping[str, Match] = field(default_factory=dict)
    artifacts: Sequence[Artifact] = ()
    whole: frozenset[str] = frozenset()
    goes_on: bool = False
    summarizer: str = ""
    in_force: Maker = ANYBODY
    room: int = 0
    arrivals: Arrivals | None = None
    is_anew: bool = False
    prices: Mapping[UUID, Decimal | None] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, SummaryKey]:
        """Key of each usable summary, by artifact."""
        return {artifact_id: match.summary.key for artifact_id, match in self.matches.items()}


def gather_artifacts(question: ArtifactQuestion) -> ArtifactSelection:
    """Read a request's artifacts, and plan their use.

    Raises:
        ProblemError: An attachment is unknown, or not of its declared type.
    """
    inline = read_attachments(question.attachments)
    with read_transaction() as db:
        uses = _uses(db, question)
        attached = [*find_attachments(Scope(db, question.tenant_id), question.attachments), *inline]
        artifacts = [
            artifact
            for artifact in all_artifacts((), _historical(uses), attached)
            if artifact.artifact_id not in question.shown
        ]
        if not artifacts:
            return ArtifactSelection()
        found = _read(db, question, artifacts, find_old(uses))
    if question.least_relevance:
        artifacts = [one for one in artifacts if found.answers(one.artifact_id, question.least_relevance)]
    if not artifacts:
        return ArtifactSelection(planned=LEFT_TO_STEPS)
    planned = choose_plan(question, artifacts, found)
    settings = planning_settings()
    exact = asking(question.wanted.query) is Asking.SPECIFIC
    shelf = ArtifactCandidates(
        planned.plan,
        {one.artifact_id: found.available[one.artifact_id] for one in artifacts},
        room_share=settings.artifact_room_share,
        most_share=question.room.most_share,
        extract_tokens=LOOKUP_TOKENS if exact else _extract_tokens(question, artifacts),
    )
    return ArtifactSelection(
        shelf,
        planned,
        found.focus,
        found.matches,
        artifacts,
        found.whole,
        goes_on=question.goes_on,
        summarizer=question.chosen.summarizer,
        in_force=question.in_force,
        room=question.budget_tokens,
        arrivals=question.arrivals,
        is_anew=found.is_anew or planned.is_anew,
        prices=found.stored.prices if found.stored else {},
    )


def _extract_tokens(question: ArtifactQuestion, artifacts: Sequence[Artifact]) -> int:
    """Compute the most tokens of an extract: as many as the whole text would cost from the provider's cache.

    An extract behind history is never cached. A text that stands whole in its message costs the cached price
    in each request, so an extract of the same price shows as much as is worth it. Beside other texts, an
    extract keeps the usual size.
    """
    if len(artifacts) != 1:
        return EXTRACT_TOKENS
    return max(EXTRACT_TOKENS, min(int(artifacts[0].tokens * question.cached_share), MOST_EXTRACT_TOKENS))


def _uses(db: Transaction, question: ArtifactQuestion) -> Sequence[Use]:
    session = question.session
    if session is None:
        return []
    if question.ahead and question.ahead.uses is not None:
        return question.ahead.uses
    bounds = {"after_seq": session.start_seq, "newest": planning_settings().artifact_newest}
    return load_uses(Scope(db, question.tenant_id), session.session_id, **bounds)


def _historical(uses: Sequence[Use]) -> list[Artifact]:
    """Return the latest use of each artifact, oldest first, as its source."""
    latest = {use.artifact.artifact_id: use.artifact for use in uses if use.artifact is not None}
    return sorted(latest.values(), key=lambda artifact: (artifact.timestamp, artifact.artifact_id))


def _read(
    db: Transaction, question: ArtifactQuestion, artifacts: Sequence[Artifact], old: Mapping[str, Superseded]
) -> FoundArtifacts:
    focus = normalise(question.wanted.query)
    by_id = [artifact for artifact in artifacts if artifact.content is None]
    newest_first = sorted(
        by_id, key=lambda one: (not one.metadata.get("attached"), -one.timestamp.timestamp())
    )
    texts = load_texts(
        Scope(db, question.tenant_id), newest_first, most_bytes=planning_settings().artifact_read_bytes
    )
    texts |= {
        artifact.artifact_id: brought_text(question.tenant_id, artifact, artifact.content)
        for artifact in artifacts
        if artifact.content is not None
    }
    indexes = {one: text.index for one, text in texts.items() if text.index is not None}
    whole = frozenset(
        artifact.artifact_id
        for artifact in artifacts
        if (index := indexes.get(artifact.artifact_id)) and asks_for_all(focus, artifact.title, index)
    )
    stored = None if question.by_rule else _stored(db, question, artifacts)
    matches, is_anew = _find_matches(db, question, artifacts, focus, whole, stored=stored)
    available = {
        artifact.artifact_id: _available(
            artifact,
            texts.get(artifact.artifact_id),
            matches.get(artifact.artifact_id),
            old.get(artifact.artifact_id),
        )
        for artifact in artifacts
    }
    answered = frozenset(one for one, match in matches.items() if match.answers_focus)
    latest = artifacts[-1].artifact_id
    relevance = {} if focus.is_general else compare_texts(indexes, question.wanted.text, latest=latest)
    return FoundArtifacts(focus, old, relevance, whole, answered, matches, available, is_anew, stored)


def _stored(db: Transaction, question: ArtifactQuestion, artifacts: Sequence[Artifact]) -> StoredForQuestion:
    """Read the stored summaries and plans that may serve the question, unless they were read ahead."""
    ids = [one.artifact_id for one in artifacts]
    keys = question_keys(question.wanted, question.chosen.planner)
    ahead, session = question.ahead.stored if question.ahead else None, question.session
    if ahead and ahead.keys == keys and ahead.serves(keys.focus_key, ids):
        return ahead
    return load_for_question(
        Scope(db, question.tenant_id), session.session_id if session else None, ids, keys
    )


def _find_matches(
    db: Transaction,
    question: ArtifactQuestion,
    artifacts: Sequence[Artifact],
    focus: Focus,
    whole: frozenset[str],
    *,
    stored: StoredForQuestion | None,
) -> tuple[Mapping[str, Match], bool]:
    """Find the usable summaries, and tell whether some arrived within the turn and pay at once.

    Summaries that do not pay at once wait for the next turn.
    """
    if stored is None:
        return {}, False
    focused = [one.artifact_id for one in artifacts if one.artifact_id not in whole]

    def find(ready_by: datetime | None = None) -> dict[str, Match]:
        asked = ((focused, focus), (sorted(whole), normalise("")))
        found = [
            find_matches(
                Scope(db, question.tenant_id),
                ids,
                wanted,
                question.in_force,
                ready_by=ready_by,
                stored=stored,
            )
            for ids, wanted in asked
        ]
        return {**found[0], **found[1]}

    matches, arrivals = find(), question.arrivals
    late = {one for one, match in matches.items() if arrivals and arrivals.is_late(match.summary.ready_at)}
    if arrivals is None or not late:
        return matches, False
    saved = sum(
        min(EXTRACT_TOKENS, one.tokens) - matches[one.artifact_id].summary.tokens
        for one in artifacts
        if one.artifact_id in late
    )
    block = sum(matches[one.artifact_id].summary.tokens for one in artifacts if one.artifact_id in matches)
    return (matches, True) if arrivals.pays(saved, block) else (find(arrivals.as_of), False)


def _available(
    artifact: Artifact,
    text: CachedText | None,
    match: Match | None,
    old: Superseded | None,
) -> Available:
    stale = old is not None and old.reason is SupersededReason.CHANGED
    return Available(
        artifact,
        full=text.content if text else None,
        exact=_summary(match) if match and match.how is ReadingForm.EXACT else None,
        near=_summary(match) if match and match.how is ReadingForm.NEAR else None,
        extract=_extractor(text) if text else None,
        stale_by=old.by_seq if old and stale else None,
        gone=old.reason.value if old and not stale else "",
    )


def _summary(match: Match) -> Reading:
    summary = match.summary
    return Reading(
        match.how,
        summary.text,
        summary.tokens,
        focus=summary.focus,
        similarity=match.similarity,
        call_ids=tuple(map(str, summary.call_ids)),
        tokens_wide=summary.tokens_wide,
        is_partial=summary.method in PARTIAL_METHODS,
        other_summarizer=match.other_summarizer,
    )


def _extractor(text: CachedText) -> Extract | None:
    index = text.index
    if index is None:
        return None

    @lru_cache(maxsize=8)
    def read(query: str, most_tokens: int) -> Reading | None:
        found = extract(text.content, index, query, budget_tokens=most_tokens, count=count_text)
        if not found.text.strip():
            return None
        return Reading(
            ReadingForm.EXTRACT, found.text, found.tokens, places=tuple(place.label for place in found.places)
        )

    return read
