"""Execution of a plan: readings by priority, while they fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from context.artifact_plans.by_rule import LEAST_READING_TOKENS
from context.artifact_plans.utilization import ArtifactUsageRecord
from context.artifacts.types import (
    STRATEGY_OF,
    Artifact,
    ArtifactDecision,
    ArtifactPlan,
    ProcessingStrategy,
    Reading,
    ReadingForm,
    UsedArtifact,
    closing,
    frame,
    label,
)
from context.text.tags import disarm

EXTRACT_TOKENS = 2_000
"""Default limit of one extract in tokens: a look-up needs no more, however much room there is."""

LEAST_EXTRACT_TOKENS = 40
"""An extract of less says nothing."""

NO_ROOM = "no-room"
"""Reason of an artifact whose shortest reading is larger than the room."""

_EXTRACT_TRIES = 4
"""Most extracts tried for one artifact, since a label costs more with each place of its extract."""

_SEAM_TOKENS = 4
"""Tokens for the line breaks around a text, and for the seam between two joined texts."""

Extract = Callable[[str, int], Reading | None]
"""Reads the passages that answer a query within a token limit; None without any."""


@dataclass(frozen=True)
class Available:
    """Available readings of an artifact.

    Attributes:
        artifact: The artifact.
        full: The whole text; None if not loaded.
        full_tokens: The cost, in the count of the budget; None for the artifact's own count.
        exact: A summary for the wanted focus.
        near: A summary for a near focus.
        extract: Reads passages; None if not possible.
        stale_by: The message whose call changed the artifact's subject.
        gone: The reason why a later result replaces the artifact, such as `read-again`; empty for none.
    """

    artifact: Artifact
    full: str | None = None
    full_tokens: int | None = None
    exact: Reading | None = None
    near: Reading | None = None
    extract: Extract | None = None
    stale_by: int | None = None
    gone: str = ""


@dataclass(frozen=True)
class ExcludedArtifact:
    """An artifact not shown by the window.

    Attributes:
        artifact_id: The artifact.
        source: The source.
        why: `read-again` (a later call read the same), `not-relevant` (by the plan), `not-planned`,
            `unavailable`, `no-reading` or `no-room`.
        tokens: The cost in full, >= 0.
    """

    artifact_id: str
    source: str
    why: str
    tokens: int


@dataclass(frozen=True)
class Execution:
    """Result of a plan.

    Attributes:
        used: The shown artifacts, by priority.
        records: The use of each artifact, by priority; no content.
        excluded: The artifacts not shown, with reasons.
        tokens: The cost of the region, 0 if nothing is shown; never above the budget.
    """

    used: tuple[UsedArtifact, ...]
    records: tuple[ArtifactUsageRecord, ...]
    excluded: tuple[ExcludedArtifact, ...]
    tokens: int


def execute_plan(
    plan: ArtifactPlan,
    available: Mapping[str, Available],
    *,
    budget_tokens: int,
    count: Callable[[str], int],
    extract_tokens: int = EXTRACT_TOKENS,
) -> Execution:
    """Choose a reading for each artifact, in the order of priority, within the budget.

    Wanted in full: in full, else by summary, else by extract. Wanted as a summary: for this focus, else for a
    near focus with a note, else an extract, else in full. Wanted as an extract: an extract, else a summary,
    else in full. An artifact that fits in none of these ways is excluded, with a reason. An extract leaves a
    small reading's room for every artifact behind it.

    Args:
        plan: Decisions by priority.
        available: The readings of each artifact, by id. A decision about another id is `unavailable`, and an
            artifact without a decision is `not-planned`. Of two decisions about an artifact the first counts.
        budget_tokens: The room for the region, its frame and labels included, >= 0.
        count: Counts the tokens of a short text, in the count of the budget.
        extract_tokens: The most tokens of one extract, >= 0.

    Returns:
        The shown artifacts, with an account of all.
    """
    run = _StrategyRun(available, budget_tokens, count, extract_tokens)
    ordered = _in_order(plan)
    waiting = sum(decision.strategy is not _EXCLUDE for decision in ordered)
    for decision in ordered:
        waiting -= decision.strategy is not _EXCLUDE
        run.take(decision, behind=waiting)
    planned = {decision.artifact_id for decision in ordered}
    for artifact_id in available:
        if artifact_id not in planned:
            run.leave_out(artifact_id, "not-planned")
    return run.finished()


def _in_order(plan: ArtifactPlan) -> list[ArtifactDecision]:
    decisions: dict[str, ArtifactDecision] = {}
    for decision in sorted(plan.artifacts, key=lambda decision: decision.priority):
        decisions.setdefault(decision.artifact_id, decision)
    return list(decisions.values())


_ORDER = {
    ProcessingStrategy.INCLUDE_FULL: (
        ReadingForm.FULL,
        ReadingForm.EXACT,
        ReadingForm.NEAR,
        ReadingForm.EXTRACT,
    ),
    ProcessingStrategy.SUMMARIZE: (
        ReadingForm.EXACT,
        ReadingForm.NEAR,
        ReadingForm.EXTRACT,
        ReadingForm.FULL,
    ),
    ProcessingStrategy.RAG_EXTRACT: (
        ReadingForm.EXTRACT,
        ReadingForm.EXACT,
        ReadingForm.NEAR,
        ReadingForm.FULL,
    ),
    ProcessingStrategy.EXCLUDE: (),
}
_EXCLUDE = ProcessingStrategy.EXCLUDE


class _StrategyRun:
    """The room left, and the decisions made so far."""

    def __init__(
        self,
        available: Mapping[str, Available],
        budget: int,
        count: Callable[[str], int],
        extract_tokens: int,
    ) -> None:
        self._available = available
        self._budget = budget
        self._count = count
        self._extract_tokens = extract_tokens
        self._spent = 0
        self._around = count(frame()) + _SEAM_TOKENS
        self._used: list[UsedArtifact] = []
        self._records: list[ArtifactUsageRecord] = []
        self._excluded: list[ExcludedArtifact] = []

    @property
    def _room(self) -> int:
        return self._budget - self._around - self._spent

    def take(self, decision: ArtifactDecision, *, behind: int) -> None:
        """Use an artifact as well as the room allows."""
        one = self._available.get(decision.artifact_id)
        if one is None:
            self._excluded.append(ExcludedArtifact(decision.artifact_id, "", "unavailable", 0))
            return
        tried = False
        for how in _ORDER[decision.strategy]:
            used = self._reading(one, how, decision, behind)
            if used is not None and used.tokens <= self._room:
                self._use(used, decision)
                return
            tried = tried or used is not None or (how is ReadingForm.EXTRACT and one.extract is not None)
        why = NO_ROOM if tried else "no-reading"
        why = one.gone or "not-relevant" if decision.strategy is _EXCLUDE else why
        self.leave_out(decision.artifact_id, why, decision.strategy)

    def _reading(
        self, one: Available, how: ReadingForm, decision: ArtifactDecision, behind: int
    ) -> UsedArtifact | None:
        if how is ReadingForm.EXACT:
            return self._shown(one, one.exact)
        if how is ReadingForm.NEAR:
            return self._shown(one, one.near)
        if how is ReadingForm.FULL:
            return self._shown(one, _full(one))
        return self._extracted(one, decision, behind)

    def _extracted(self, one: Available, decision: ArtifactDecision, behind: int) -> UsedArtifact | None:
        if one.extract is None:
            return None
        fair = max(self._room - LEAST_READING_TOKENS * behind, min(self._room, LEAST_READING_TOKENS))
        room = min(fair, self._extract_tokens)
        wanted = decision.extraction_query or decision.summarization_focus or ""
        most = room - self._label_tokens(one, Reading(ReadingForm.EXTRACT, "", 0))
        for _ in range(_EXTRACT_TRIES):
            if most < LEAST_EXTRACT_TOKENS:
                return None
            used = self._shown(one, one.extract(wanted, most))
            if used is None or used.tokens <= self._room:
                return used
            most = min(room - self._label_tokens(one, used.reading), most - 1)
        return None

    def _shown(self, one: Available, reading: Reading | None) -> UsedArtifact | None:
        """Disarm a text, and count it again only if changed."""
        if reading is None or not reading.text.strip():
            return None
        text = disarm(reading.text)
        tokens = reading.tokens
        shown = reading
        if text != reading.text:
            tokens = self._count(text)
            shown = replace(reading, text=text, tokens=tokens, tokens_wide=None)
        return UsedArtifact(one.artifact, shown, tokens + self._label_tokens(one, shown), one.stale_by)

    def _label_tokens(self, one: Available, reading: Reading) -> int:
        opening = label(UsedArtifact(one.artifact, reading, stale_by=one.stale_by))
        return self._count(opening) + self._count(closing()) + _SEAM_TOKENS

    def _use(self, used: UsedArtifact, decision: ArtifactDecision) -> None:
        reading, done = used.reading, STRATEGY_OF[used.reading.how]
        self._spent += used.tokens
        self._used.append(used)
        self._records.append(
            ArtifactUsageRecord(
                artifact_id=used.artifact.artifact_id,
                source=used.artifact.source,
                artifact_type=used.artifact.artifact_type.value,
                strategy=done.value,
                original_size_chars=used.artifact.size_chars,
                processed_size_chars=len(reading.text),
                cache_hit=reading.how in {ReadingForm.EXACT, ReadingForm.NEAR},
                planned=decision.strategy.value,
                how=reading.how.value,
                tokens=used.tokens,
                similarity=reading.similarity if reading.how is ReadingForm.NEAR else None,
                other_summarizer=reading.other_summarizer,
                reason="" if done is decision.strategy else "not-as-planned",
            )
        )

    def leave_out(self, artifact_id: str, why: str, planned: ProcessingStrategy = _EXCLUDE) -> None:
        """Show nothing of an artifact, and say why."""
        one = self._available[artifact_id]
        self._records.append(ArtifactUsageRecord.excluded(one.artifact, planned=planned, reason=why))
        self._excluded.append(ExcludedArtifact(artifact_id, one.artifact.source, why, _full_tokens(one)))

    def finished(self) -> Execution:
        """Close the account."""
        tokens = self._spent + self._around if self._used else 0
        return Execution(tuple(self._used), tuple(self._records), tuple(self._excluded), tokens)


def _full_tokens(one: Available) -> int:
    return one.artifact.tokens if one.full_tokens is None else one.full_tokens


def _full(one: Available) -> Reading | None:
    if one.full is None:
        return None
    return Reading(ReadingForm.FULL, one.full, _full_tokens(one), tokens_wide=one.artifact.tokens_wide)
