"""What an answer says of artifacts: complete, honest about cost, and without content."""

import json
from dataclasses import fields
from decimal import Decimal

from context.artifact_plans.needs_plan import PlanningReason
from context.artifact_plans.utilization import (
    ArtifactUsageRecord,
    ContextPlanningCost,
    ContextUtilizationMetadata,
    cache_stats,
)
from context.artifacts.types import ProcessingStrategy
from tests.unit.artifact_plans.artifacts import document

CENT = Decimal("0.01")


def record(**facts: object) -> ArtifactUsageRecord:
    plain: dict[str, object] = {
        "artifact_id": "art_1",
        "source": "step_1:web",
        "artifact_type": "tool_result",
        "strategy": "summarize",
        "original_size_chars": 10,
    }
    return ArtifactUsageRecord(**{**plain, **facts})  # type: ignore[arg-type]


def test_a_record_has_the_agreed_fields_and_survives_json() -> None:
    written = record(processed_size_chars=4, cache_hit=True, how="exact").as_json()
    assert json.loads(json.dumps(written)) == written
    agreed = {
        *("artifact_id", "source", "artifact_type", "strategy", "original_size_chars"),
        *("processed_size_chars", "cache_hit"),
    }
    assert agreed <= set(written)
    assert ArtifactUsageRecord(**written) == record(processed_size_chars=4, cache_hit=True, how="exact")


def test_a_record_has_no_place_for_content() -> None:
    names = {field.name for field in fields(ArtifactUsageRecord)}
    assert not names & {"content", "text", "preview", "title", "focus", "query"}


def test_a_record_of_an_excluded_artifact_holds_no_words_of_it() -> None:
    secret = document("the secret words", "secret title")
    left_out = ArtifactUsageRecord.excluded(secret, planned=ProcessingStrategy.SUMMARIZE, reason="no-room")
    assert "secret words" not in json.dumps(left_out.as_json())
    assert (left_out.strategy, left_out.planned, left_out.reason) == ("exclude", "summarize", "no-room")
    assert left_out.processed_size_chars is None


def test_costs_add_up() -> None:
    cost = ContextPlanningCost.of_calls(planner=[CENT], summarizer=[CENT, CENT])
    assert (cost.planner_cost, cost.summarizer_cost, cost.total_cost) == (CENT, 2 * CENT, 3 * CENT)
    assert cost.as_json() == {
        "planner_cost": "0.01",
        "summarizer_cost": "0.02",
        "total_cost": "0.03",
        "unpriced_calls": 0,
        "call_ids": [],
    }


def test_no_calls_cost_nothing() -> None:
    cost = ContextPlanningCost.of_calls()
    assert (cost.total_cost, cost.unpriced_calls) == (Decimal(0), 0)


def test_an_unknown_price_makes_the_total_unknown_and_is_counted() -> None:
    cost = ContextPlanningCost.of_calls(planner=[CENT], summarizer=[None, CENT])
    assert (cost.planner_cost, cost.summarizer_cost, cost.total_cost) == (CENT, None, None)
    assert cost.as_json()["total_cost"] is None
    assert cost.as_json()["unpriced_calls"] == 1


def test_tiny_prices_are_written_exactly() -> None:
    tiny = ContextPlanningCost.of_calls(planner=[Decimal("0.00000015")]).as_json()
    assert tiny["planner_cost"] == "0.00000015"


def test_cache_stats_count_hits_near_ones_and_misses() -> None:
    records = [
        record(how="exact", planned="summarize"),
        record(how="exact", planned="include_full"),
        record(how="near", planned="summarize"),
        record(how="extract", planned="summarize"),
        record(how=None, planned="summarize"),
        record(how="full", planned="include_full"),
        record(how=None, planned="exclude"),
    ]
    assert cache_stats(records) == {"hits": 2, "near": 1, "misses": 2}
    assert cache_stats([]) == {"hits": 0, "near": 0, "misses": 0}


def test_the_metadata_is_a_json_object_with_all_members() -> None:
    metadata = ContextUtilizationMetadata(
        model_name="gpt-4o",
        strategy="summary+history",
        tokens={"input": 10},
        messages=2,
        breakdown={"artifact": 5},
        goal="answer",
        artifacts_processed=[record()],
        llm_planning_used=True,
        planning_reason=PlanningReason.NEAR_LIMIT,
        planning_cost=ContextPlanningCost.of_calls(planner=[None]),
        cache_stats={"hits": 3, "misses": 1},
    )
    written = metadata.as_json()
    assert json.loads(json.dumps(written)) == written
    assert set(written) == {field.name for field in fields(ContextUtilizationMetadata)}
    assert written["planning_cost"]["planner_cost"] is None
    assert written["planning_reason"] == "near-limit"
    assert written["artifacts_processed"][0]["artifact_id"] == "art_1"


def test_a_window_without_artifacts_says_so() -> None:
    assert ContextUtilizationMetadata("m", "history").artifact_members() == {
        "artifacts_processed": [],
        "llm_planning_used": False,
        "planning_reason": "no-artifacts",
        "planning_fallback": None,
        "planning_cost": None,
        "cache_stats": None,
    }
