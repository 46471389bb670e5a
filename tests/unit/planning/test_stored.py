"""A stored plan: read again as it was, and for a near question read for that one."""

from dataclasses import replace

from context.artifacts.types import ArtifactPlan, ProcessingStrategy
from context.planning.deterministic import Wanted, plan_by_rule
from context.planning.stored import dump_plan, for_question, load_plan
from tests.unit.planning.artifacts import sized

OLD, NEW = Wanted("Summarize the delays in March"), Wanted("Please summarize the March delays")


def make_plan() -> ArtifactPlan:
    plan = plan_by_rule([sized("a"), sized("b"), sized("c")], OLD, budget_tokens=900)
    lookup = replace(
        plan.artifacts[1],
        strategy=ProcessingStrategy.RAG_EXTRACT,
        summarization_focus=None,
        extraction_query="delays",
    )
    return replace(plan, artifacts=(plan.artifacts[0], lookup, *plan.artifacts[2:]))


def test_a_stored_plan_is_read_again_as_it_was() -> None:
    plan = make_plan()
    assert load_plan(dump_plan(plan), plan) == plan


def test_a_near_questions_plan_keeps_its_choices_and_reads_for_this_question() -> None:
    plan = make_plan()
    taken = for_question(plan, NEW)
    assert [(one.artifact_id, one.strategy, one.priority) for one in taken.artifacts] == [
        (one.artifact_id, one.strategy, one.priority) for one in plan.artifacts
    ]
    assert taken.artifacts[0].summarization_focus == NEW.query
    assert (taken.artifacts[1].extraction_query, taken.artifacts[1].summarization_focus) == (NEW.query, None)
