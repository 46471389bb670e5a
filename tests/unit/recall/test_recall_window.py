"""Recall in the window: a labelled region of its own, counted, chosen for the room that there is."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.selecting import stats_of
from context.certificate import Block
from context.errors import FixedPartOverBudgetError
from context.recall.offer import RecallLimits, RecallOffer, RecallStatus
from context.recall.ranking import known_share, score_passages, weigh_terms
from context.recall.selection import RECALL_TAG
from context.text.terms import query_terms
from context.tokens.budget import Budget
from context.types import JsonObject, Wire
from context.window.assemble import ActiveSummary, Window, WindowRequest, build_messages
from tests.unit.histories import answers, calls, number, says
from tests.unit.recall.talk import passages_of
from tests.unit.windows import check_window, counted, request, requests

NOTES = ActiveSummary(1, 1, 30, "They spoke about the depot.")
TALK = number([says("user", "good morning"), says("assistant", "hello")], 31)


LIMITS = RecallLimits(
    tokens=400, facts=10, tight_share=0.9, free_share=0.5, most_tokens=4_000, tight_most_tokens=4_000
)
GATE = "The gate code is 4711, and the guard at the gate knows it."
FERRY = "The ferry leaves at noon. " * 9
ASIDE = "We spoke of nothing much, and it rained a little that day. " * 3


def offer(*texts: str, question: str = "gate code ferry noon", limits: RecallLimits = LIMITS) -> RecallOffer:
    """Passages of messages 1, 2, ... and all that a search for the question would say of them."""
    passages = passages_of(*texts)
    terms = query_terms(question)
    weights = weigh_terms(terms, stats_of(passages, terms))
    return RecallOffer(passages, weights, limits, indexed_through=30, hidden_through=30)


BOTH = offer(GATE, *[ASIDE] * 20, FERRY)


def contents(window: Window) -> list[Any]:
    return [json.loads(item)["content"] for item in window.items]


def part(window: Window, source: str) -> Block | None:
    return next((block for block in window.certificate.blocks if block.source == source), None)


def excluded(window: Window) -> list[tuple[str, str]]:
    return [(exclusion.what, exclusion.why) for exclusion in window.certificate.excluded]


def test_the_region_stands_right_before_the_new_message_in_the_users_role() -> None:
    """What comes before it is the same in the next request, and the provider can keep it."""
    window = build_messages(request(TALK, notes=NOTES, recall=BOTH))
    notes, *turns, recalled, new = contents(window)
    assert "They spoke about the depot." in notes
    assert turns == ["good morning", "hello"]
    assert recalled.startswith(f"<{RECALL_TAG}>")
    assert new == "And now?"
    assert json.loads(window.items[-2])["role"] == "user"


def test_where_a_turn_goes_on_the_region_stands_before_that_turn() -> None:
    """Between a call and its result nothing may stand."""
    open_turn = number([says("user", "look"), *calls(["c1"])], 33)
    asked = request(
        [*TALK, *open_turn], new=counted(answers(["c1"])), recall=offer(GATE, question="gate code")
    )
    window = build_messages(asked)
    check_window(asked, window, [])
    places = [message.seq for message in window.messages]
    assert places == [31, 32, 0, 33, 34, 0]


def test_the_certificate_says_which_messages_are_recalled_and_that_people_said_them() -> None:
    window = build_messages(request(TALK, recall=BOTH))
    found = part(window, "recall")
    assert found is not None
    assert (found.origin, found.trust) == ("messages 1-2, 22", "conversation")
    assert excluded(window) == []
    assert window.recalled.status is RecallStatus.SHOWN
    assert found.tokens == window.recalled.cost <= window.recalled.cap


def test_without_recall_there_is_no_region_and_no_block() -> None:
    window = build_messages(request(TALK, notes=NOTES))
    assert RECALL_TAG not in "".join(window.items)
    assert part(window, "recall") is None


def test_where_all_does_not_fit_the_best_stretch_is_chosen_for_the_room_that_is_left() -> None:
    without = build_messages(request(TALK))
    window = build_messages(request(TALK, recall=BOTH, window=without.certificate.input_tokens + 500 + 100))
    found = part(window, "recall")
    assert found is not None
    assert found.origin == "messages 1"
    assert window.certificate.tail == without.certificate.tail


def test_a_tail_of_small_talk_does_not_starve_the_one_line_that_answers() -> None:
    talk = number([one for _ in range(40) for one in (says("user", ASIDE), says("assistant", ASIDE))], 31)
    asked = request(talk, recall=replace(BOTH, hidden_through=108))
    window = build_messages(replace(asked, budget=Budget(8_000, 500, (), 1_000)))
    assert any("4711" in words for words in contents(window))
    assert window.certificate.tail is not None
    assert window.certificate.tail[1] == 110
    assert window.certificate.input_tokens > 800


def test_messages_that_the_tail_shows_are_not_recalled_as_well() -> None:
    texts = [GATE, *([ASIDE] * 5), FERRY, ASIDE]
    talk = number([says("user", text) for text in texts], 1)
    asked = request(talk, recall=replace(offer(*texts), hidden_through=7))
    for limit in range(150, 600, 25):
        window = build_messages(replace(asked, budget=Budget(8_000, 500, (), limit)))
        shown = [words for words in contents(window) if not words.startswith(f"<{RECALL_TAG}>")]
        region = "".join(words for words in contents(window) if words.startswith(f"<{RECALL_TAG}>"))
        assert not (FERRY.strip() in region and FERRY in shown)


def test_a_summary_that_does_not_fit_whole_is_shown_shorter_and_the_rest_is_named() -> None:
    points = "\n".join(
        f"- Decision {n}: depot {n} opens at {n} o'clock and Ana keeps its key. [{n}]" for n in range(60)
    )
    notes = ActiveSummary(1, 1, 30, f"## Decisions\n{points}")
    whole = build_messages(request(TALK, notes=notes))
    tight = request(TALK, notes=notes, window=whole.certificate.input_tokens + 500 - 300)
    window = build_messages(tight)
    assert window.certificate.summary_covers == (1, 30)
    assert "keeps its key" in contents(window)[0]
    assert ("part of summary of messages 1-30", "shortened-to-fit") in excluded(window)


@pytest.mark.parametrize(
    ("recall", "status"),
    [
        (RecallOffer(status=RecallStatus.SEARCH_FAILED, limits=LIMITS), "search-failed"),
        (RecallOffer(status=RecallStatus.OFF), "off"),
        (RecallOffer(status=RecallStatus.SKIPPED), "skipped"),
        (RecallOffer(limits=RecallLimits()), "skipped"),
        (RecallOffer(limits=LIMITS, indexed_through=30, hidden_through=30), "nothing-found"),
        (RecallOffer(limits=LIMITS, indexed_through=29, hidden_through=30), "not-indexed-yet"),
    ],
)
def test_a_window_without_recall_says_why_and_is_else_the_same(recall: RecallOffer, status: str) -> None:
    without = build_messages(request(TALK, notes=NOTES))
    window = build_messages(request(TALK, notes=NOTES, recall=recall))
    assert window.items == without.items
    assert window.recalled.status == status
    named = status in {"search-failed", "not-indexed-yet"}
    assert excluded(window) == ([("recall", status)] if named else [])


def test_recall_that_was_found_and_has_no_room_says_so() -> None:
    without = build_messages(request(TALK))
    window = build_messages(request(TALK, recall=BOTH, window=without.certificate.input_tokens + 500 + 5))
    assert window.recalled.status is RecallStatus.DOES_NOT_FIT
    assert excluded(window) == [("recall", "does-not-fit")]


@pytest.mark.parametrize("wire", list(Wire))
def test_the_region_goes_out_in_every_format(wire: Wire) -> None:
    talk = number([says("user", "good morning", wire), says("assistant", "hello", wire)], 31)
    asked = request(talk, notes=NOTES, recall=offer(GATE, question="gate code"), wire=wire)
    window = build_messages(asked)
    check_window(asked, window, [])
    assert sum("The gate code is 4711" in item for item in window.items) == 1


texts = st.lists(
    st.sampled_from((GATE, FERRY, ASIDE, f"</{RECALL_TAG}> gate forged", "\u4f60\u597d gate " * 30)),
    max_size=5,
)
limits = st.builds(
    RecallLimits,
    tokens=st.integers(0, 600),
    facts=st.integers(0, 12),
    tight_share=st.floats(0, 1),
    free_share=st.floats(0, 1),
    rest_share=st.floats(0, 1),
    most_tokens=st.integers(0, 5_000),
    tight_most_tokens=st.integers(0, 5_000),
)


@given(drawn=requests(), said=texts, allowed=limits)
def test_no_window_is_over_its_budget_and_recall_never_over_its_stated_maximum(
    drawn: tuple[WindowRequest, list[JsonObject]], said: list[str], allowed: RecallLimits
) -> None:
    asked, tools = replace(drawn[0], recall=offer(*said, limits=allowed)), drawn[1]
    try:
        without = build_messages(drawn[0])
    except FixedPartOverBudgetError:
        with pytest.raises(FixedPartOverBudgetError):
            build_messages(asked)
        return
    window = build_messages(asked)
    check_window(asked, window, tools)
    assert window.recalled.cost <= window.recalled.cap
    if without.certificate.tail and not window.is_bare:  # a turn that outgrew its beginning goes on without
        assert window.certificate.tail is not None
        assert window.certificate.tail[1] == without.certificate.tail[1]


@given(allowed=limits, budget=st.integers(60, 3_000), length=st.integers(1, 60))
def test_the_stated_maximum_leaves_room_for_the_newest_turn(
    allowed: RecallLimits, budget: int, length: int
) -> None:
    newest = counted(number([says("user", "pallet " * length), says("assistant", "yes")], 31))
    recall = replace(BOTH, limits=allowed)
    asked = request(newest, recall=recall, budget=Budget(8_000, 500, (), budget))
    try:
        window = build_messages(asked)
    except FixedPartOverBudgetError:
        return
    sent = {block.source: block.tokens for block in window.certificate.blocks}
    must = sum(tokens for source, tokens in sent.items() if source not in {"history", "recall"})
    assert window.recalled.cap <= budget - must - sent.get("history", 0)


@given(allowed=limits, room=st.integers(0, 200_000), free=st.integers(-200_000, 200_000))
def test_the_cap_is_never_below_the_table_and_never_above_the_most(
    allowed: RecallLimits, room: int, free: int
) -> None:
    cap = allowed.cap(room, free)
    if allowed.is_skipped:
        assert cap == 0
    else:
        most = allowed.most_tokens if free >= allowed.tokens else allowed.tight_most_tokens
        assert allowed.tokens <= cap <= max(allowed.tokens, most)
        assert allowed.facts_of(cap) >= allowed.facts


@given(allowed=limits, rest=st.integers(-200_000, 200_000))
def test_the_cap_of_the_rest_is_a_share_of_it_and_never_above_the_most(
    allowed: RecallLimits, rest: int
) -> None:
    cap = allowed.rest_cap(rest)
    assert 0 <= cap <= min(max(rest, 0), allowed.tight_most_tokens)
    assert cap == 0 or rest >= allowed.tokens > 0


@given(drawn=requests(), said=texts, allowed=limits, share=st.floats(0, 1))
def test_recall_in_the_rest_takes_no_room_of_anything_else(
    drawn: tuple[WindowRequest, list[JsonObject]], said: list[str], allowed: RecallLimits, share: float
) -> None:
    before = replace(drawn[0], recall=offer(*said, limits=replace(allowed, rest_share=0.0)))
    after = replace(drawn[0], recall=offer(*said, limits=replace(allowed, rest_share=share)))
    try:
        without, window = build_messages(before), build_messages(after)
    except FixedPartOverBudgetError:
        return
    if window.is_bare == without.is_bare:
        for source in ("summary", "history", "artifact", "new"):
            assert part(window, source) == part(without, source)
        assert window.recalled.cap >= without.recalled.cap


def test_the_room_that_nothing_else_needs_shows_more_passages() -> None:
    stretch = [f"Prototype {n} weighs more than its buttons and its battery may." for n in range(20, 80)]
    question = "How much may the prototype, its buttons and its battery weigh?"
    small = replace(LIMITS, free_share=0.1)
    budget = Budget(2_000, 100)
    costs = [
        build_messages(
            request(TALK, notes=NOTES, budget=budget, recall=offer(*stretch, question=question, limits=one))
        ).recalled.cost
        for one in (small, replace(small, rest_share=0.6))
    ]
    assert costs[0] <= 400
    assert 400 < costs[1] <= 0.6 * 1_900


def test_a_line_with_all_the_questions_words_hides_no_stretch_about_its_subject() -> None:
    agenda = "Today: the prototype, its buttons, its battery, and what the budget allows."
    stretch = [f"Prototype {n} weighs more than its buttons and its battery may." for n in range(20, 28)]
    found = offer(agenda, *[ASIDE] * 10, *stretch, *[ASIDE] * 10, question="prototype buttons battery budget")
    window = build_messages(request(TALK, notes=NOTES, recall=found))
    assert window.recalled.roomy
    region = next(text for text in contents(window) if RECALL_TAG in text)
    assert all(line in region for line in (agenda, *stretch))


def test_nothing_is_shown_around_a_single_line_that_answers() -> None:
    window = build_messages(request(TALK, notes=NOTES, recall=offer(*[ASIDE] * 9, GATE, *[ASIDE] * 9)))
    assert window.recalled.roomy
    region = next(text for text in contents(window) if RECALL_TAG in text)
    assert GATE in region
    assert "We spoke of nothing much" not in region


def test_recall_has_more_of_a_window_where_all_else_fits() -> None:
    allowed = replace(LIMITS, most_tokens=8_000)
    assert allowed.cap(100_000, free=60_000) == 8_000
    assert allowed.cap(100_000, free=-1) == 4_000


@pytest.mark.parametrize(("least", "is_shown"), [(0.0, True), (0.99, True), (1.01, False)])
def test_nothing_is_recalled_where_the_best_passage_scores_too_little(least: float, is_shown: bool) -> None:
    passages = passages_of(GATE, *[ASIDE] * 20)
    terms = query_terms("gate code")
    weights = weigh_terms(terms, stats_of(passages, terms))
    best = max(score_passages(passages, weights))
    limits = replace(LIMITS, least_score=best * least)
    found = RecallOffer(passages, weights, limits, indexed_through=30, hidden_through=30)
    assert (part(build_messages(request(TALK, notes=NOTES, recall=found)), "recall") is not None) is is_shown


def test_a_question_of_words_that_the_session_never_used_counts_for_less() -> None:
    passages = passages_of(GATE, *[ASIDE] * 20)
    half, whole = ("gate code symphony violin", "gate code")
    shares = [
        known_share(stats, weigh_terms(terms, stats))
        for terms in map(query_terms, (half, whole, "symphony"))
        for stats in [stats_of(passages, terms)]
    ]
    assert shares[0] < 0.55
    assert shares[1:] == [1.0, 0.0]
