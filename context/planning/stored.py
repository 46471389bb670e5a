"""Storage format of a plan, to be read by another process."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from context.artifacts.types import ArtifactDecision, ArtifactPlan, ProcessingStrategy
from context.planning.deterministic import Wanted
from context.types import JsonObject


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


def for_question(plan: ArtifactPlan, wanted: Wanted) -> ArtifactPlan:
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
