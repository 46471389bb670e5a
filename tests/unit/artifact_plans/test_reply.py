"""A model's plan is used as far as it can be, and completed by the rule."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.by_rule import ArtifactQuery, plan_by_rule
from context.artifact_plans.prompt import MAX_FOCUS_CHARS
from context.artifact_plans.reply import Flaw, PlanReading, read_plan
from context.artifacts.types import ArtifactDecision, ProcessingStrategy
from context.decode import DecodeCause
from tests.unit.artifact_plans.artifacts import sized

FULL, SUMMARIZE, EXTRACT, EXCLUDE = (
    ProcessingStrategy.INCLUDE_FULL,
    ProcessingStrategy.SUMMARIZE,
    ProcessingStrategy.RAG_EXTRACT,
    ProcessingStrategy.EXCLUDE,
)
ONE, TWO, THREE = (sized(name, historical=True) for name in ("one", "two", "three"))
ATTACHED = sized("attached", attached=True)
ARTIFACTS = [ONE, TWO, THREE, ATTACHED]
WANTED = ArtifactQuery("what does it cost?")
BY_RULE = plan_by_rule(ARTIFACTS, WANTED, budget_tokens=10**6)


def read(reply: Any, **facts: Any) -> PlanReading:
    text = reply if isinstance(reply, str) or reply is None else json.dumps(reply)
    return read_plan(text, ARTIFACTS, wanted=WANTED, by_rule=BY_RULE, **facts)


def entry(name: str = "A1", strategy: Any = "summarize", priority: Any = 1, **facts: Any) -> dict[str, Any]:
    return {"artifact_id": name, "strategy": strategy, "priority": priority, **facts}


def plan(*entries: Any) -> dict[str, Any]:
    return {"artifacts": list(entries), "reasoning": "because"}


def decisions(reading: PlanReading) -> dict[str, ArtifactDecision]:
    return {decision.artifact_id: decision for decision in reading.plan.artifacts}


WHOLE = plan(
    entry("A1", "include_full", 2, relevance_rationale="small"),
    entry("A2", "summarize", 1, summarization_focus="the price"),
    entry("A3", "exclude", 4),
    entry("A4", "rag_extract", 3, extraction_query="price"),
)


def test_a_whole_plan_is_taken_by_priority() -> None:
    reading = read(WHOLE)
    assert [(one.artifact_id, one.strategy, one.priority) for one in reading.plan.artifacts] == [
        (TWO.artifact_id, SUMMARIZE, 1),
        (ONE.artifact_id, FULL, 2),
        (ATTACHED.artifact_id, EXTRACT, 3),
        (THREE.artifact_id, EXCLUDE, 4),
    ]
    assert (reading.decided, reading.is_planned, reading.flaws) == (4, True, {})
    assert reading.plan.reasoning == "because"
    found = decisions(reading)
    assert found[TWO.artifact_id].summarization_focus == "the price"
    assert found[ATTACHED.artifact_id].extraction_query == "price"
    assert found[ONE.artifact_id].relevance_rationale == "small"


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "```json\n{}\n```",
        "<think>A1 is {{small}}</think>{}",
        "Here is the plan:\n{}\nDone.",
        "\ufeff{}",
    ],
)
def test_what_stands_around_the_plan_does_not_matter(around: str) -> None:
    assert read(around.replace("{}", json.dumps(WHOLE)).replace("{{", "{").replace("}}", "}")) == read(WHOLE)


def test_a_bare_list_is_a_plan() -> None:
    assert read(WHOLE["artifacts"]).decided == 4


def test_full_ids_are_known_as_well() -> None:
    reading = read(plan(entry(ONE.artifact_id.upper(), "exclude")))
    assert decisions(reading)[ONE.artifact_id].strategy is EXCLUDE


def test_unknown_ids_are_dropped() -> None:
    reading = read(plan(entry("A1", "exclude"), entry("A9"), entry("art_f00"), {"strategy": "summarize"}))
    assert reading.flaws[Flaw.UNKNOWN_ID] == 3
    assert set(decisions(reading)) == {artifact.artifact_id for artifact in ARTIFACTS}


def test_missing_ids_are_decided_by_the_rule() -> None:
    reading = read(plan(entry("A2", "exclude")))
    assert decisions(reading)[ONE.artifact_id].strategy is FULL
    assert decisions(reading)[TWO.artifact_id].strategy is EXCLUDE
    assert reading.flaws == {Flaw.MISSING_ID: 3}
    assert reading.decided == 1


def test_of_a_repeated_id_the_first_decision_counts() -> None:
    reading = read(plan(entry("A1", "exclude"), entry("a1 ", "include_full")))
    assert decisions(reading)[ONE.artifact_id].strategy is EXCLUDE
    assert reading.flaws[Flaw.REPEATED_ID] == 1


@pytest.mark.parametrize("strategy", ["delete", "", None, 3, ["summarize"]])
def test_an_unknown_strategy_is_decided_by_the_rule(strategy: Any) -> None:
    reading = read(plan(entry("A1", strategy), entry("A2", "exclude")))
    assert decisions(reading)[ONE.artifact_id].strategy is FULL
    assert reading.flaws[Flaw.WRONG_STRATEGY] == 1


@pytest.mark.parametrize("strategy", ["SUMMARIZE", "summarise", " Summary ", "rag-extract", "Include Full"])
def test_another_spelling_of_a_strategy_is_understood(strategy: str) -> None:
    assert Flaw.WRONG_STRATEGY not in read(plan(entry("A1", strategy))).flaws


@pytest.mark.parametrize("priority", ["high", None, True, [1], {}, "1e999", float("nan")])
def test_a_priority_that_is_no_number_becomes_the_place_in_the_list(priority: Any) -> None:
    reading = read(plan(entry("A1", priority=1), entry("A2", priority=priority), entry("A3", priority=3)))
    assert [one.artifact_id for one in reading.plan.artifacts[:3]] == [
        ONE.artifact_id,
        TWO.artifact_id,
        THREE.artifact_id,
    ]
    assert reading.flaws[Flaw.WRONG_PRIORITY] == 1


@pytest.mark.parametrize("priority", ["2", 2.0, " 2 "])
def test_a_priority_may_be_written_as_text(priority: Any) -> None:
    reading = read(plan(entry("A1", priority=priority), entry("A2", priority=1)))
    assert reading.plan.artifacts[0].artifact_id == TWO.artifact_id
    assert Flaw.WRONG_PRIORITY not in reading.flaws


def test_an_attachment_of_this_request_is_not_excluded() -> None:
    reading = read(plan(entry("A4", "exclude"), entry("A1", "exclude")))
    assert decisions(reading)[ATTACHED.artifact_id].strategy is FULL
    assert reading.flaws[Flaw.ATTACHMENT_EXCLUDED] == 1


def test_a_missing_focus_or_query_becomes_the_question() -> None:
    reading = read(plan(entry("A1", "summarize"), entry("A2", "rag_extract", extraction_query="  ")))
    assert decisions(reading)[ONE.artifact_id].summarization_focus == WANTED.question
    assert decisions(reading)[TWO.artifact_id].extraction_query == WANTED.question


def test_a_focus_is_one_bounded_line_and_only_where_it_belongs() -> None:
    facts = {"summarization_focus": "a\n" * 5_000, "extraction_query": 7}
    reading = read(plan(entry("A1", "summarize", **facts), entry("A2", "exclude", **facts)))
    focus = decisions(reading)[ONE.artifact_id].summarization_focus or ""
    assert len(focus) <= MAX_FOCUS_CHARS
    assert "\n" not in focus
    assert decisions(reading)[TWO.artifact_id].summarization_focus is None


@pytest.mark.parametrize(
    ("reply", "finish_reason", "cause"),
    [
        (None, None, DecodeCause.EMPTY),
        ("", None, DecodeCause.EMPTY),
        ("I cannot help with that.", None, DecodeCause.SAFETY),
        (json.dumps(WHOLE)[:-20], None, DecodeCause.TRUNCATED),
        (json.dumps(WHOLE)[:-20], "length", DecodeCause.TRUNCATED),
        ("no plan here", None, DecodeCause.MALFORMED),
        ('{"artifacts": "all"}', None, DecodeCause.MALFORMED),
        ('{"artifacts": []}', None, DecodeCause.EMPTY),
        ('{"artifacts": ["A1"]}', None, DecodeCause.EMPTY),
        ('{"artifacts": [{"artifact_id": "B7", "strategy": "exclude"}]}', None, DecodeCause.EMPTY),
    ],
)
def test_where_there_is_no_plan_the_rule_answers_and_says_why(
    reply: str | None, finish_reason: str | None, cause: DecodeCause
) -> None:
    reading = read(reply, finish_reason=finish_reason)
    assert reading.plan == BY_RULE
    assert (reading.failure, reading.is_planned, reading.decided) == (cause, False, 0)


names = st.sampled_from(("A1", "A2", "a3", "A4", "A9", "", ONE.artifact_id))
values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
strategies = st.one_of(st.sampled_from([strategy.value for strategy in ProcessingStrategy]), values)
entries = st.one_of(
    values,
    st.fixed_dictionaries(
        {},
        optional={
            "artifact_id": st.one_of(names, values),
            "strategy": strategies,
            "priority": values,
            "summarization_focus": values,
            "extraction_query": values,
            "relevance_rationale": values,
        },
    ),
)


@given(st.one_of(st.text(max_size=40), st.lists(entries, max_size=6).map(lambda drawn: plan(*drawn)), values))
def test_whatever_a_model_writes_every_artifact_is_decided_once(reply: Any) -> None:
    reading = read(reply)
    assert sorted(decisions(reading)) == sorted(artifact.artifact_id for artifact in ARTIFACTS)
    assert len(reading.plan.artifacts) == len(ARTIFACTS)
    assert [one.priority for one in reading.plan.artifacts] == [1, 2, 3, 4]
    for one in reading.plan.artifacts:
        assert (one.summarization_focus is not None) is (one.strategy is SUMMARIZE)
        assert (one.extraction_query is not None) is (one.strategy is EXTRACT)
    assert decisions(reading)[ATTACHED.artifact_id].strategy is not EXCLUDE
