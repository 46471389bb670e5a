"""Read a planner's reply, and the stored form of a plan."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import isfinite
from typing import Any

from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.prompt import MAX_FOCUS_CHARS, reference
from context.artifacts.types import Artifact, ArtifactDecision, ArtifactPlan, ProcessingStrategy
from context.decode import DecodeCause, decode_json
from context.text.cut import one_line
from context.types import JsonObject

_RATIONALE_CHARS = 300
_REASONING_CHARS = 1_000
_LAST = 1_000_000
_ID_KEYS = ("artifact_id", "id", "artifact", "ref")
_STRATEGIES = {
    **{strategy.value: strategy for strategy in ProcessingStrategy},
    "full": ProcessingStrategy.INCLUDE_FULL,
    "include": ProcessingStrategy.INCLUDE_FULL,
    "summary": ProcessingStrategy.SUMMARIZE,
    "summarise": ProcessingStrategy.SUMMARIZE,
    "rag": ProcessingStrategy.RAG_EXTRACT,
    "extract": ProcessingStrategy.RAG_EXTRACT,
    "omit": ProcessingStrategy.EXCLUDE,
    "skip": ProcessingStrategy.EXCLUDE,
}


class Flaw(StrEnum):
    """Faults of a model's decision."""

    UNKNOWN_ID = "unknown-id"
    REPEATED_ID = "repeated-id"
    MISSING_ID = "missing-id"
    WRONG_STRATEGY = "wrong-strategy"
    WRONG_PRIORITY = "wrong-priority"
    ATTACHMENT_EXCLUDED = "attachment-excluded"


@dataclass(frozen=True)
class PlanReading:
    """Result of reading a model's answer.

    Attributes:
        plan: A decision for every artifact: the model's, or the rule's without a valid decision.
        decided: The number of the model's decisions, >= 0.
        failure: The reason for no decision: `safety`, `truncated`, `empty` or `malformed`; None with some.
        flaws: The number of faults, by kind.
    """

    plan: ArtifactPlan
    decided: int
    failure: DecodeCause | None
    flaws: Mapping[Flaw, int]

    @property
    def is_planned(self) -> bool:
        """True if the model planned anything."""
        return self.failure is None


def read_plan(
    text: str | None,
    artifacts: Sequence[Artifact],
    *,
    wanted: ArtifactQuery,
    by_rule: ArtifactPlan,
    finish_reason: str | None = None,
) -> PlanReading:
    """Read a plan and make it complete.

    Unknown ids are dropped; of a repeated id the first decision counts. The rule decides about a missing id,
    a decision with an unknown strategy, and the exclusion of an attachment of the request. A priority that is
    no number puts a decision in its place in the list. A missing focus or query becomes the question's.

    Args:
        text: The model's reply, with any text around the JSON.
        artifacts: The planned artifacts, in the order shown to the model.
        wanted: The question.
        by_rule: The plan by rule, with a decision for every artifact.
        finish_reason: The model's reason to stop, if named by the provider.

    Returns:
        A complete plan; the plan by rule if the reply holds no plan.
    """
    decoded = decode_json(text, accept=_is_plan, finish_reason=finish_reason)
    if not decoded.ok:
        return PlanReading(by_rule, 0, decoded.cause, {})
    body = decoded.value
    reasoning = body.get("reasoning") if isinstance(body, dict) else None
    reader = _DecisionReader(artifacts, wanted)
    chosen = reader.read(_entries(body))
    if not chosen and artifacts:
        return PlanReading(by_rule, 0, DecodeCause.EMPTY, reader.flaws)
    rest = [decision for decision in by_rule.artifacts if decision.artifact_id not in chosen]
    reader.note(Flaw.MISSING_ID, sum(one.artifact_id not in reader.seen for one in rest))
    plan = ArtifactPlan(_ordered([*chosen.values(), *rest]), _text(reasoning, _REASONING_CHARS))
    return PlanReading(plan, len(chosen), None, reader.flaws)


def _is_plan(value: object) -> bool:
    if isinstance(value, dict):
        return isinstance(value.get("artifacts"), list)
    entries = value if isinstance(value, list) else []
    return bool(entries) and all(isinstance(entry, dict) and "strategy" in entry for entry in entries)


def _entries(body: object) -> list[dict[str, Any]]:
    found = body.get("artifacts") if isinstance(body, dict) else body
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _ordered(decisions: Iterable[ArtifactDecision]) -> tuple[ArtifactDecision, ...]:
    """Number the decisions anew, excluded artifacts last."""
    listed = sorted(decisions, key=lambda one: one.strategy is ProcessingStrategy.EXCLUDE)
    return tuple(replace(decision, priority=place) for place, decision in enumerate(listed, 1))


class _DecisionReader:
    """Reader of decisions in turn."""

    def __init__(self, artifacts: Sequence[Artifact], wanted: ArtifactQuery) -> None:
        self._known = {artifact.artifact_id.casefold(): artifact for artifact in artifacts}
        self._known |= {reference(place).casefold(): artifact for place, artifact in enumerate(artifacts)}
        self._wanted = wanted
        self.seen: set[str] = set()
        self.flaws: dict[Flaw, int] = {}

    def read(self, entries: Sequence[Mapping[str, Any]]) -> dict[str, ArtifactDecision]:
        """Read the valid decisions, by artifact id, in the order of their priority."""
        found: list[tuple[float, ArtifactDecision]] = []
        for place, entry in enumerate(entries, 1):
            artifact = self._artifact(entry)
            strategy = self._strategy(entry, artifact) if artifact else None
            if artifact is not None and strategy is not None:
                priority = self._priority(entry.get("priority"), place)
                found.append((priority, self._decision(entry, artifact, strategy)))
        found.sort(key=lambda one: one[0])
        return {decision.artifact_id: decision for _, decision in found}

    def note(self, flaw: Flaw, times: int = 1) -> None:
        """Count a flaw."""
        if times:
            self.flaws[flaw] = self.flaws.get(flaw, 0) + times

    def _artifact(self, entry: Mapping[str, Any]) -> Artifact | None:
        named = next((entry[key] for key in _ID_KEYS if isinstance(entry.get(key), str)), "")
        artifact = self._known.get(named.strip().casefold())
        if artifact is None:
            self.note(Flaw.UNKNOWN_ID)
        elif artifact.artifact_id in self.seen:
            self.note(Flaw.REPEATED_ID)
            return None
        else:
            self.seen.add(artifact.artifact_id)
        return artifact

    def _strategy(self, entry: Mapping[str, Any], artifact: Artifact) -> ProcessingStrategy | None:
        written = entry.get("strategy")
        name = "_".join(written.casefold().replace("-", " ").split()) if isinstance(written, str) else ""
        strategy = _STRATEGIES.get(name)
        if strategy is None:
            self.note(Flaw.WRONG_STRATEGY)
        elif strategy is ProcessingStrategy.EXCLUDE and artifact.metadata.get("attached"):
            self.note(Flaw.ATTACHMENT_EXCLUDED)
            return None
        return strategy

    def _priority(self, written: object, place: int) -> float:
        try:
            number = float(written) if isinstance(written, str | int | float) else None
        except (ValueError, OverflowError):
            number = None
        if number is None or isinstance(written, bool) or not isfinite(number):
            self.note(Flaw.WRONG_PRIORITY)
            return place
        return min(max(number, 0), _LAST)

    def _decision(
        self, entry: Mapping[str, Any], artifact: Artifact, strategy: ProcessingStrategy
    ) -> ArtifactDecision:
        def asked(key: str, needed: ProcessingStrategy) -> str | None:
            if strategy is not needed:
                return None
            return _text(entry.get(key), MAX_FOCUS_CHARS) or self._wanted.query

        return ArtifactDecision(
            artifact_id=artifact.artifact_id,
            strategy=strategy,
            priority=1,
            relevance_rationale=_text(entry.get("relevance_rationale"), _RATIONALE_CHARS),
            summarization_focus=asked("summarization_focus", ProcessingStrategy.SUMMARIZE),
            extraction_query=asked("extraction_query", ProcessingStrategy.RAG_EXTRACT),
        )


def _text(value: object, max_chars: int) -> str:
    return one_line(value, max_chars) if isinstance(value, str) else ""


def dump_plan(plan: ArtifactPlan) -> JsonObject:
    """Write a plan as a JSON object, without any content of an artifact."""
    return {
        "artifacts": [{**asdict(one), "strategy": one.strategy.value} for one in plan.artifacts],
        "reasoning": plan.reasoning,
    }


def load_plan(
    stored: Mapping[str, Any], by_rule: ArtifactPlan, *, attached: Collection[str] = ()
) -> ArtifactPlan:
    """Read a stored plan and make it complete.

    Args:
        stored: As written by `dump_plan`.
        by_rule: The plan by rule for the present artifacts. It names the artifacts, and decides about an
            artifact unknown to the stored plan, with the place given by the rule.
        attached: Ids of attachments of the request. A plan may choose their reading but not exclude them; the
            rule replaces an exclusion.

    Returns:
        A decision for every present artifact, by priority.
    """
    decided = {one["artifact_id"]: _decision(one) for one in stored.get("artifacts", ())}
    followed = {
        artifact_id: one
        for artifact_id, one in decided.items()
        if one.strategy is not ProcessingStrategy.EXCLUDE or artifact_id not in attached
    }
    chosen = [followed[one.artifact_id] for one in by_rule.artifacts if one.artifact_id in followed]
    in_order = iter(sorted(chosen, key=lambda one: one.priority))
    merged = (next(in_order) if one.artifact_id in followed else one for one in by_rule.artifacts)
    decisions = (replace(one, priority=place) for place, one in enumerate(merged, 1))
    return ArtifactPlan(tuple(decisions), str(stored.get("reasoning") or ""))


def for_question(plan: ArtifactPlan, wanted: ArtifactQuery) -> ArtifactPlan:
    """Adapt a plan made for a near question: same choices and order, readings for the present question.

    Args:
        plan: The plan.
        wanted: The present question.
    """
    decisions = (
        replace(
            one,
            summarization_focus=wanted.query if one.strategy is ProcessingStrategy.SUMMARIZE else None,
            extraction_query=wanted.query if one.strategy is ProcessingStrategy.RAG_EXTRACT else None,
        )
        for one in plan.artifacts
    )
    return replace(plan, artifacts=tuple(decisions))


def _decision(stored: Mapping[str, Any]) -> ArtifactDecision:
    return ArtifactDecision(**{**stored, "strategy": ProcessingStrategy(stored["strategy"])})
