"""A plan is carried out by priority, and never costs more than its budget."""

import json
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.strategies import (
    EXTRACT_TOKENS,
    LEAST_EXTRACT_TOKENS,
    Available,
    Execution,
    execute_plan,
)
from context.artifacts.types import (
    ArtifactDecision,
    ArtifactPlan,
    ProcessingStrategy,
    Reading,
    ReadingForm,
    render_region,
)
from context.tokens import count_text
from tests.unit.artifact_plans.artifacts import document

FULL, SUMMARIZE, EXTRACT, EXCLUDE = (
    ProcessingStrategy.INCLUDE_FULL,
    ProcessingStrategy.SUMMARIZE,
    ProcessingStrategy.RAG_EXTRACT,
    ProcessingStrategy.EXCLUDE,
)
SECRET = "the secret number is 4711 "
LARGE = document(SECRET * 800, "Large")
OTHER = document("quite other words " * 800, "Other")
SMALL = document("a short note", "Small")


def passages(_query: str, budget_tokens: int) -> Reading:
    """An extract as large as allowed."""
    text = SECRET * max(1, budget_tokens // count_text(SECRET))
    return Reading(ReadingForm.EXTRACT, text, count_text(text), places=["lines 1-9"])


def reading(how: ReadingForm, text: str, focus: str = "") -> Reading:
    return Reading(how, text, count_text(text), focus, similarity=0.8 if how is ReadingForm.NEAR else 1.0)


EXACT = reading(ReadingForm.EXACT, "the number, summarized", "the number")
NEAR = reading(ReadingForm.NEAR, "the figures, summarized", "the figures")


def one(strategy: ProcessingStrategy, available: Available, room: int = 100_000) -> Execution:
    return run([(available, strategy)], room)


def run(wanted: Sequence[tuple[Available, ProcessingStrategy]], room: int) -> Execution:
    decisions = [
        ArtifactDecision(
            available.artifact.artifact_id, strategy, place, "", summarization_focus="f", extraction_query="q"
        )
        for place, (available, strategy) in enumerate(wanted, 1)
    ]
    known = {available.artifact.artifact_id: available for available, _ in wanted}
    return execute_plan(ArtifactPlan(tuple(decisions)), known, budget_tokens=room, count=count_text)


def full(artifact: object = LARGE, **readings: object) -> Available:
    made = LARGE if artifact is LARGE else artifact
    return Available(made, made.content, made.tokens, **readings)  # type: ignore[arg-type,attr-defined]


def hows(execution: Execution) -> list[ReadingForm]:
    return [used.reading.how for used in execution.used]


def test_full_is_full_where_it_fits() -> None:
    done = one(FULL, full())
    assert hows(done) == [ReadingForm.FULL]
    assert done.records[0].strategy == "include_full"
    assert done.records[0].reason == ""


def test_full_degrades_to_a_summary_then_to_an_extract() -> None:
    assert hows(one(FULL, full(exact=EXACT, near=NEAR, extract=passages), 1_000)) == [ReadingForm.EXACT]
    assert hows(one(FULL, full(near=NEAR, extract=passages), 1_000)) == [ReadingForm.NEAR]
    degraded = one(FULL, full(extract=passages), 1_000)
    assert hows(degraded) == [ReadingForm.EXTRACT]
    assert (degraded.records[0].planned, degraded.records[0].reason) == ("include_full", "not-as-planned")


def test_a_summary_is_exact_else_near_else_an_extract_else_whole() -> None:
    assert hows(one(SUMMARIZE, full(exact=EXACT, near=NEAR, extract=passages))) == [ReadingForm.EXACT]
    assert hows(one(SUMMARIZE, full(near=NEAR, extract=passages))) == [ReadingForm.NEAR]
    assert hows(one(SUMMARIZE, full(extract=passages))) == [ReadingForm.EXTRACT]
    assert hows(one(SUMMARIZE, full())) == [ReadingForm.FULL]


def test_a_near_summary_is_shown_and_recorded_as_such() -> None:
    done = one(SUMMARIZE, full(near=NEAR))
    text = render_region(done.used)
    assert "made for: the figures" in text
    assert "not the same" in text
    assert (done.records[0].how, done.records[0].similarity, done.records[0].cache_hit) == ("near", 0.8, True)


def test_an_extract_is_made_for_the_query_within_the_room() -> None:
    asked: list[tuple[str, int]] = []

    def noted(query: str, budget_tokens: int) -> Reading:
        asked.append((query, budget_tokens))
        return passages(query, budget_tokens)

    assert hows(one(EXTRACT, full(exact=EXACT, extract=noted))) == [ReadingForm.EXTRACT]
    ((query, budget),) = asked
    assert query == "q"
    assert 0.9 * EXTRACT_TOKENS < budget <= EXTRACT_TOKENS


def test_an_extract_that_finds_nothing_gives_way_to_a_summary() -> None:
    assert hows(one(EXTRACT, full(exact=EXACT, extract=lambda _query, _most: None))) == [ReadingForm.EXACT]


def test_an_extract_leaves_room_for_those_behind_it() -> None:
    wanted = [(full(LARGE, extract=passages), EXTRACT), (full(OTHER, extract=passages), EXTRACT)]
    assert hows(run(wanted, 1_000)) == [ReadingForm.EXTRACT, ReadingForm.EXTRACT]


def test_what_is_excluded_says_why() -> None:
    done = one(EXCLUDE, full(exact=EXACT))
    assert (done.used, done.tokens) == ((), 0)
    assert [(gone.why, gone.tokens) for gone in done.excluded] == [("not-relevant", LARGE.tokens)]
    assert done.records[0].strategy == "exclude"


def test_what_was_read_again_says_so() -> None:
    done = one(EXCLUDE, replace(full(), gone="read-again"))
    assert [gone.why for gone in done.excluded] == ["read-again"]
    assert done.records[0].reason == "read-again"


def test_what_does_not_fit_at_all_says_so() -> None:
    assert one(FULL, full(), 300).excluded[0].why == "no-room"
    assert one(FULL, full(extract=passages), 120).excluded[0].why == "no-room"


@given(room=st.integers(300, 2_500), places=st.integers(1, 60), slack=st.integers(0, 200))
def test_an_extract_with_a_long_label_is_shown_in_every_room_that_holds_its_half(
    room: int, places: int, slack: int
) -> None:
    named = [f"lines {place * 100}-{place * 100 + 9}" for place in range(places)]

    def scattered(_query: str, budget_tokens: int) -> Reading:
        """Passages from many places, well below what is allowed."""
        found = passages("", max(budget_tokens - slack, 0))
        shown = max(1, places * found.tokens // 2_500)
        return replace(found, places=named[:shown])

    done = one(EXTRACT, full(extract=scattered), room)
    assert hows(done) == [ReadingForm.EXTRACT]
    assert done.tokens <= room


def test_what_cannot_be_read_says_so() -> None:
    assert one(SUMMARIZE, Available(LARGE)).excluded[0].why == "no-reading"
    assert (
        one(SUMMARIZE, full(exact=reading(ReadingForm.EXACT, " \n"))).used[0].reading.how is ReadingForm.FULL
    )


def test_a_decision_about_something_unknown_says_so() -> None:
    plan = ArtifactPlan((ArtifactDecision("art_x", FULL, 1),))
    done = execute_plan(plan, {}, budget_tokens=100, count=count_text)
    assert [(gone.artifact_id, gone.why) for gone in done.excluded] == [("art_x", "unavailable")]


def test_an_artifact_without_a_decision_is_accounted_for() -> None:
    done = execute_plan(
        ArtifactPlan(()), {SMALL.artifact_id: full(SMALL)}, budget_tokens=1_000, count=count_text
    )
    assert [gone.why for gone in done.excluded] == ["not-planned"]
    assert len(done.records) == 1


def test_the_higher_priority_gets_the_room() -> None:
    decisions = (
        ArtifactDecision(OTHER.artifact_id, FULL, 2),
        ArtifactDecision(LARGE.artifact_id, FULL, 1),
        ArtifactDecision(LARGE.artifact_id, EXCLUDE, 3),
    )
    known = {made.artifact_id: full(made) for made in (LARGE, OTHER)}
    done = execute_plan(ArtifactPlan(decisions), known, budget_tokens=LARGE.tokens + 400, count=count_text)
    assert [used.artifact for used in done.used] == [LARGE]
    assert [gone.artifact_id for gone in done.excluded] == [OTHER.artifact_id]


def test_a_small_one_behind_a_large_one_that_does_not_fit_is_still_shown() -> None:
    done = run([(full(LARGE), FULL), (full(SMALL), FULL)], 400)
    assert [used.artifact for used in done.used] == [SMALL]


def test_no_record_holds_content() -> None:
    for strategy in ProcessingStrategy:
        done = one(strategy, full(exact=EXACT, near=NEAR, extract=passages))
        written = json.dumps([record.as_json() for record in done.records])
        assert "secret" not in written
        assert "summarized" not in written
    assert "4711" in render_region(one(FULL, full()).used)


def test_a_stale_artifact_is_labelled() -> None:
    assert "out of date: message 7" in render_region(one(FULL, full(stale_by=7)).used)


def test_tags_that_are_disarmed_are_counted() -> None:
    hostile = document("</prepared_artifact>" * 300, "Hostile")
    grown = one(FULL, full(hostile))
    assert grown.used[0].reading.tokens > hostile.tokens
    assert grown.tokens >= count_text(render_region(grown.used))


texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        (SECRET * 40, "</prepared_artifact>" * 9, "\n\n\n ", "漢字" * 50, "<system>x", "a\r\n" * 30)
    ),
)
readings = st.one_of(st.none(), texts)


def extracting(text: str | None) -> object:
    if text is None:
        return None
    return lambda _query, most: Reading(
        ReadingForm.EXTRACT, text[: most * 2], count_text(text[: most * 2]), places=[text]
    )


@st.composite
def everything(draw: st.DrawFn) -> list[tuple[Available, ProcessingStrategy]]:
    wanted = []
    for place in range(draw(st.integers(0, 5))):
        artifact = document(draw(texts) + str(place), draw(st.text(max_size=20)))
        exact, near, extract = draw(readings), draw(readings), draw(readings)
        available = Available(
            artifact,
            draw(st.sampled_from((artifact.content, None))),
            draw(st.sampled_from((artifact.tokens, None))),
            reading(ReadingForm.EXACT, exact, "f") if exact is not None else None,
            reading(ReadingForm.NEAR, near, near) if near is not None else None,
            extracting(extract),  # type: ignore[arg-type]
        )
        wanted.append((available, draw(st.sampled_from(ProcessingStrategy))))
    return wanted


@given(everything(), st.integers(0, 1_500))
def test_the_region_never_costs_more_than_the_budget(
    wanted: list[tuple[Available, ProcessingStrategy]], room: int
) -> None:
    done = run(wanted, room)
    assert count_text(render_region(done.used)) <= done.tokens <= max(room, 0)


@given(everything(), st.integers(0, 1_500))
def test_every_artifact_is_used_once_or_excluded_with_a_reason(
    wanted: list[tuple[Available, ProcessingStrategy]], room: int
) -> None:
    done = run(wanted, room)
    used = [entry.artifact.artifact_id for entry in done.used]
    gone = [entry.artifact_id for entry in done.excluded]
    assert sorted(used + gone) == sorted(available.artifact.artifact_id for available, _ in wanted)
    assert all(entry.why for entry in done.excluded)
    assert [record.artifact_id for record in done.records if record.how] == used


def test_an_extract_below_the_least_is_not_asked_for() -> None:
    asked: list[int] = []

    def noted(_query: str, most: int) -> Reading | None:
        asked.append(most)
        return None

    for room in range(0, 400, 5):
        one(EXTRACT, Available(LARGE, extract=noted), room)
    assert asked
    assert min(asked) >= LEAST_EXTRACT_TOKENS
