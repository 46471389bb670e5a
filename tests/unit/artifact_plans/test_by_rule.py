"""The plan by rule: complete, ordered, and for reasons."""

from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.by_rule import ArtifactQuery, plan_by_rule, weigh_relevance
from context.artifacts.superseded import Superseded, SupersededReason
from context.artifacts.types import Artifact, ArtifactPlan, ProcessingStrategy
from tests.unit.artifact_plans.artifacts import document, result, sized

FULL, SUMMARIZE, EXTRACT, EXCLUDE = (
    ProcessingStrategy.INCLUDE_FULL,
    ProcessingStrategy.SUMMARIZE,
    ProcessingStrategy.RAG_EXTRACT,
    ProcessingStrategy.EXCLUDE,
)
BUDGET = sized("budget", chars=8_000, preview="the budget of the city in thousands", historical=True)
WEATHER = sized("weather", chars=8_000, preview="rain and wind over the coast", historical=True)
CURRENT = sized("current", chars=8_000, preview="unrelated words of this turn")
ATTACHED = sized("attached", chars=8_000, preview="nothing in common", attached=True)


def plan(*artifacts: Artifact, question: str = "what about the budget", room: int = 100_000) -> ArtifactPlan:
    return plan_by_rule(artifacts, ArtifactQuery(question), budget_tokens=room)


def strategies(made: ArtifactPlan) -> dict[str, ProcessingStrategy]:
    return {decision.artifact_id: decision.strategy for decision in made.artifacts}


def order(made: ArtifactPlan) -> list[str]:
    return [decision.artifact_id for decision in made.artifacts]


def test_what_fits_is_included_in_full() -> None:
    made = plan(BUDGET, CURRENT)
    assert set(strategies(made).values()) == {FULL}
    assert all("everything fits" in decision.relevance_rationale for decision in made.artifacts)


def test_what_does_not_fit_is_summarized_for_an_open_question() -> None:
    (decision,) = plan(BUDGET, room=1_000).artifacts
    assert (decision.strategy, decision.summarization_focus) == (SUMMARIZE, "what about the budget")
    assert decision.extraction_query is None


def test_what_does_not_fit_is_looked_up_for_a_specific_question() -> None:
    (decision,) = plan(BUDGET, question="who wrote the budget of 2023?", room=1_000).artifacts
    assert (decision.strategy, decision.extraction_query) == (EXTRACT, "who wrote the budget of 2023?")
    assert decision.summarization_focus is None


def test_a_broad_question_is_answered_by_summaries() -> None:
    assert strategies(plan(BUDGET, question="summarize the budget of 2023", room=1_000)) == {
        BUDGET.artifact_id: SUMMARIZE
    }


def test_a_focus_is_read_for_before_the_question() -> None:
    made = plan_by_rule([BUDGET], ArtifactQuery("and?", focus="schools"), budget_tokens=100)
    assert made.artifacts[0].summarization_focus == "schools"


def test_what_has_nothing_in_common_is_excluded_where_room_is_missing() -> None:
    made = plan(WEATHER, BUDGET, room=2_500)
    assert strategies(made) == {WEATHER.artifact_id: EXCLUDE, BUDGET.artifact_id: FULL}
    assert made.artifacts[-1].artifact_id == WEATHER.artifact_id
    assert "nothing in common" in made.artifacts[-1].relevance_rationale


def test_a_preview_alone_excludes_nothing_while_there_is_room() -> None:
    assert strategies(plan(WEATHER, BUDGET))[WEATHER.artifact_id] is FULL


def test_a_whole_text_without_a_word_in_common_is_excluded_at_any_room() -> None:
    rain = result("rain and wind over the coast", "history:msg_3:weather", historical=True)
    money = result("the budget of the city", "history:msg_5:search", historical=True)
    assert strategies(plan(rain, money)) == {rain.artifact_id: EXCLUDE, money.artifact_id: FULL}


def test_what_is_attached_or_of_this_turn_is_never_irrelevant() -> None:
    made = plan(ATTACHED, CURRENT, BUDGET, room=5_000)
    assert EXCLUDE not in strategies(made).values()


def test_where_nothing_matches_nothing_is_called_irrelevant() -> None:
    made = plan(WEATHER, BUDGET, question="quantum entanglement", room=3_000)
    assert EXCLUDE not in strategies(made).values()


def test_a_question_without_words_of_its_own_goes_by_age() -> None:
    made = plan(WEATHER, BUDGET, question="and then?", room=3_000)
    assert order(made) == [BUDGET.artifact_id, WEATHER.artifact_id]
    assert EXCLUDE not in strategies(made).values()


def test_attachments_of_the_request_come_first() -> None:
    assert order(plan(ATTACHED, BUDGET, CURRENT))[0] == ATTACHED.artifact_id


def test_the_relevant_comes_before_the_newer() -> None:
    assert order(plan(BUDGET, WEATHER)) == [BUDGET.artifact_id, WEATHER.artifact_id]


def test_of_equals_the_newer_comes_first() -> None:
    older, newer = (sized(name, preview="the budget", historical=True) for name in ("a", "b"))
    assert order(plan(older, newer)) == [newer.artifact_id, older.artifact_id]


def test_what_was_read_again_is_excluded() -> None:
    old = {BUDGET.artifact_id: Superseded(SupersededReason.READ_AGAIN, 9)}
    made = plan_by_rule([BUDGET, CURRENT], ArtifactQuery("the budget"), budget_tokens=10**6, superseded=old)
    assert strategies(made) == {BUDGET.artifact_id: EXCLUDE, CURRENT.artifact_id: FULL}
    assert "read again in message 9" in made.artifacts[-1].relevance_rationale


def test_a_stale_reading_is_the_last_to_get_room() -> None:
    old = {BUDGET.artifact_id: Superseded(SupersededReason.CHANGED, 9)}
    made = plan_by_rule(
        [BUDGET, WEATHER, CURRENT], ArtifactQuery("the budget"), budget_tokens=10**6, superseded=old
    )
    assert order(made)[-1] == BUDGET.artifact_id
    assert "changed since in message 9" in made.artifacts[-1].relevance_rationale


def test_an_attachment_that_was_read_before_stays() -> None:
    old = {ATTACHED.artifact_id: Superseded(SupersededReason.REPEATED, 9)}
    made = plan_by_rule([ATTACHED], ArtifactQuery("the budget"), budget_tokens=10**6, superseded=old)
    assert strategies(made) == {ATTACHED.artifact_id: FULL}


def test_the_best_is_whole_while_the_others_can_still_be_read() -> None:
    made = plan(CURRENT, BUDGET, room=2_600)
    assert strategies(made) == {BUDGET.artifact_id: FULL, CURRENT.artifact_id: SUMMARIZE}


def test_better_relevance_than_that_of_a_preview_is_believed() -> None:
    made = plan_by_rule(
        [BUDGET, WEATHER],
        ArtifactQuery("the budget"),
        budget_tokens=10**6,
        relevance={WEATHER.artifact_id: 0.9, BUDGET.artifact_id: 0.0},
    )
    assert strategies(made) == {WEATHER.artifact_id: FULL, BUDGET.artifact_id: EXCLUDE}


def test_the_focus_counts_among_the_words() -> None:
    wanted = ArtifactQuery("and?", focus="compare the budget")
    assert weigh_relevance([BUDGET], wanted.text)[BUDGET.artifact_id].shared == 1


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    both = [document(f"the report of {town}", town) for town in ("Lima", "Oslo", "Rome")]
    weighed = weigh_relevance(both, "report Lima")
    assert (weighed[both[0].artifact_id].score or 0) > 2 * (weighed[both[1].artifact_id].score or 0) > 0


def test_no_artifacts_give_an_empty_plan() -> None:
    assert plan().artifacts == ()


artifacts = st.lists(
    st.tuples(
        st.integers(0, 40_000),
        st.sampled_from(("", "the budget", "rain", "who and when")),
        st.booleans(),
        st.booleans(),
    ),
    max_size=8,
).map(
    lambda drawn: [
        sized(f"tool {place}", chars=chars, preview=preview, historical=historical, attached=attached)
        for place, (chars, preview, historical, attached) in enumerate(drawn)
    ]
)
questions = st.sampled_from(("", "the budget", "who wrote the budget?", "summarize", "天气"))


@given(artifacts, questions, st.integers(0, 20_000))
def test_every_artifact_is_decided_once_in_order(drawn: list[Artifact], question: str, room: int) -> None:
    made = plan(*drawn, question=question, room=room)
    assert sorted(order(made)) == sorted(artifact.artifact_id for artifact in drawn)
    assert [decision.priority for decision in made.artifacts] == list(range(1, len(drawn) + 1))
    assert all(decision.relevance_rationale for decision in made.artifacts)


@given(artifacts, questions, st.integers(0, 20_000))
def test_what_is_included_in_full_fits_together(drawn: list[Artifact], question: str, room: int) -> None:
    made = plan(*drawn, question=question, room=room)
    sizes = {artifact.artifact_id: artifact.tokens for artifact in drawn}
    assert (
        sum(sizes[decision.artifact_id] for decision in made.artifacts if decision.strategy is FULL) <= room
    )


@given(artifacts, questions, st.integers(0, 20_000))
def test_the_same_values_give_the_same_plan(drawn: list[Artifact], question: str, room: int) -> None:
    assert plan(*drawn, question=question, room=room) == plan(*drawn, question=question, room=room)


def test_a_summary_for_this_very_question_goes_before_an_extract() -> None:
    artifacts = [sized("a"), sized("b")]
    wanted = ArtifactQuery("How many crates are in container MSKU-481516?")
    plan = plan_by_rule(artifacts, wanted, budget_tokens=400, answered=frozenset({artifacts[0].artifact_id}))
    strategies = {one.artifact_id: one.strategy for one in plan.artifacts}
    assert strategies[artifacts[0].artifact_id] is ProcessingStrategy.SUMMARIZE
    assert strategies[artifacts[1].artifact_id] is ProcessingStrategy.RAG_EXTRACT
