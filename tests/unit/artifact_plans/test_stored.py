"""A stored plan: read again as it was, and for a near question read for that one."""

from dataclasses import replace

from context.artifact_plans.by_rule import ArtifactQuery, plan_by_rule
from context.artifact_plans.reply import dump_plan, for_question, load_plan
from context.artifacts.types import ArtifactPlan, ProcessingStrategy
from tests.unit.artifact_plans.artifacts import sized

OLD, NEW = ArtifactQuery("Summarize the delays in March"), ArtifactQuery("Please summarize the March delays")


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


def leaving_out(*names: str) -> ArtifactPlan:
    """A model's plan that leaves these out."""
    plan = plan_by_rule([sized(name) for name in "abc"], OLD, budget_tokens=90_000)
    gone = {sized(name).artifact_id for name in names}
    decisions = (
        replace(one, strategy=ProcessingStrategy.EXCLUDE) if one.artifact_id in gone else one
        for one in plan.artifacts
    )
    return replace(plan, artifacts=tuple(decisions))


def test_what_is_attached_now_is_read_whatever_a_plan_leaves_out() -> None:
    today = [sized("a", attached=True), sized("b"), sized("c")]
    by_rule = plan_by_rule(today, OLD, budget_tokens=90_000)
    attached = today[0].artifact_id
    loaded = load_plan(dump_plan(leaving_out("a", "b")), by_rule, attached=[attached])
    strategies = {one.artifact_id: one.strategy for one in loaded.artifacts}
    assert loaded.artifacts[0].artifact_id == attached
    assert strategies[attached] is ProcessingStrategy.INCLUDE_FULL
    assert strategies[today[1].artifact_id] is ProcessingStrategy.EXCLUDE


def test_a_plan_still_says_how_an_attachment_is_read() -> None:
    plan = make_plan()
    lookup = plan.artifacts[1]
    today = [sized(name, attached=True) for name in "abc"]
    by_rule = plan_by_rule(today, OLD, budget_tokens=90_000)
    loaded = load_plan(dump_plan(plan), by_rule, attached=[one.artifact_id for one in today])
    (read,) = [one for one in loaded.artifacts if one.artifact_id == lookup.artifact_id]
    assert (read.strategy, read.extraction_query) == (lookup.strategy, "delays")


def test_an_attachment_that_no_plan_knows_comes_where_the_rule_puts_it() -> None:
    today = [*(sized(name) for name in "abc"), sized("inline", attached=True)]
    by_rule = plan_by_rule(today, OLD, budget_tokens=90_000)
    loaded = load_plan(dump_plan(leaving_out("b")), by_rule, attached=[today[3].artifact_id])
    assert loaded.artifacts[0].artifact_id == today[3].artifact_id
    assert [one.priority for one in loaded.artifacts] == [1, 2, 3, 4]
