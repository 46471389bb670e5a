from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from context.priors.prior_set import make_prior_set
from context.priors.score import bind_priors, score_priors
from context.priors.state import see_catalog
from context.priors.types import NO_PRIORS, TELLING, JoinedPlan
from tests.unit.priors.plans import DAY, TOOLS, any_intent, any_plan, bound, counted, history, plan


def best(priors: Mapping[str, float]) -> str:
    return max(priors, key=lambda entry_id: (priors[entry_id], entry_id))


def test_what_was_chosen_for_such_words_is_supported() -> None:
    assert best(score_priors(bound(history()), "will the forecast say rain")) == "weather"


def test_a_request_that_was_made_before_is_supported_most_of_all() -> None:
    plans = [*history(), *(plan("forecast letter", "bank") for _ in range(6))]
    assert best(score_priors(bound(plans), "Forecast letter!")) == "bank"


def test_words_of_all_tools_support_none() -> None:
    assert not score_priors(bound(history()), "household")


def test_an_intent_of_unknown_words_supports_none() -> None:
    assert not score_priors(bound(history()), "zymurgy")


def test_with_little_evidence_support_shrinks() -> None:
    support = [
        score_priors(bound(history(each)), "forecast rain umbrella").get("weather", 0.0)
        for each in (1, 4, 30)
    ]
    assert support == sorted(support)
    assert support[0] < support[2] / 2


def test_requests_made_before_are_telling_and_one_word_of_a_large_catalog_is_not() -> None:
    large = bound(history(20), entries=[*TOOLS, *(f"tool{number}" for number in range(200))])
    again = score_priors(large, "forecast rain household")
    assert again["weather"] >= TELLING
    assert max(score_priors(large, "forecast zymurgy").values()) < TELLING


def test_the_history_of_one_tool_alone_supports_nothing() -> None:
    priors = score_priors(bound(history(20, tools=["weather"])), "inbox letter household")
    assert not priors


def test_a_failure_counts_against_a_tool_but_does_not_bury_it() -> None:
    plans = history()
    before = score_priors(bound(plans), "forecast rain")["weather"]
    failed = [*plans, *(plan("forecast rain", "weather", ok=False) for _ in range(8))]
    after = score_priors(bound(failed), "forecast rain")
    assert 0 < after["weather"] < before
    many = [*plans, *(plan("forecast rain", "weather", ok=False) for _ in range(500))]
    assert score_priors(bound(many), "forecast sunny").get("weather", 0.0) >= 0.0


def test_a_tool_that_only_failed_has_no_support() -> None:
    plans = [*history(), *(plan("quiz riddle", "games", ok=False) for _ in range(20))]
    assert "games" not in score_priors(bound(plans, entries=[*TOOLS, "games"]), "quiz riddle")


def test_a_tool_that_always_failed_is_not_tried_as_if_it_were_new() -> None:
    """Little of the catalog is known, so that those which nobody tried are raised."""
    failed = [plan("quiz riddle", "games", ok=False) for _ in range(200)]
    entries = [*TOOLS, "games", *(f"untried{number}" for number in range(300))]
    made = bound([*history(), *failed], entries=entries)
    assert "games" not in made.novelty
    assert "untried1" in made.novelty
    told = score_priors(made, "quiz riddle", explain=True)
    assert told.reasons["games"] == ("did its work in about 0 recent plans, failed in about 200",)


def test_a_new_tool_that_fails_is_tried_less_and_less() -> None:
    novelties = []
    for failures in (0, 1, 10, 200):
        state = counted([*history(), *(plan("quiz", "games", ok=False) for _ in range(failures))])
        see_catalog(state, dict.fromkeys(TOOLS, DAY))
        made = bind_priors(make_prior_set(state), [*TOOLS, "games"])
        novelties.append(made.novelty.get("games", 0.0))
    assert novelties == sorted(novelties, reverse=True)
    assert novelties[0] > novelties[1] > novelties[2] > novelties[3] == 0.0


def test_recent_plans_outweigh_old_ones() -> None:
    old = [plan("standup recap", "notes", day=DAY - 400) for _ in range(20)]
    new = [plan("standup recap", "calendar", day=DAY) for _ in range(20)]
    priors = score_priors(bound([*history(), *old, *new]), "standup recap")
    assert priors["calendar"] > priors.get("notes", 0.0)


def test_a_tool_that_the_catalog_has_no_more_is_not_named() -> None:
    without = [tool for tool in TOOLS if tool != "weather"]
    assert "weather" not in score_priors(bound(history(), entries=without), "forecast rain")


def test_an_entry_that_was_added_since_is_novel_and_the_others_are_not() -> None:
    state = counted(history())
    see_catalog(state, dict.fromkeys(TOOLS, DAY))
    priors = score_priors(bind_priors(make_prior_set(state), [*TOOLS, "added"]), "forecast rain")
    assert set(priors.novelty) == {"added"}


def test_where_little_of_a_catalog_was_tried_its_silence_says_little() -> None:
    entries = [*TOOLS, *(f"untried{number}" for number in range(300))]
    assert set(bound(history(), entries=entries).novelty) == set(entries) - set(TOOLS)
    assert not bound(history(), entries=TOOLS).novelty


def test_without_history_nothing_is_said() -> None:
    assert score_priors(bound([], entries=TOOLS), "forecast") == NO_PRIORS


def test_reasons_name_the_words_and_the_record() -> None:
    plans = [*history(), plan("forecast", "weather", ok=False), plan("rain", "weather", ok=False)]
    reasons = score_priors(bound(plans), "forecast for rain", explain=True).reasons["weather"]
    assert any("forecast" in reason for reason in reasons)
    assert "failed in about 2" in reasons[-1]


def test_reasons_are_given_where_they_are_asked_for_only() -> None:
    assert not score_priors(bound(history()), "forecast rain").reasons


def test_a_category_helps_where_words_do_not() -> None:
    plans = [
        one._replace(category="planning" if one.tools[0].tool == "maps" else "other") for one in history()
    ]
    assert best(score_priors(bound(plans), "zymurgy", category="planning")) == "maps"


@given(st.lists(any_plan, max_size=40), any_intent)
def test_support_is_in_range_and_of_entries_of_the_catalog(plans: Sequence[JoinedPlan], intent: str) -> None:
    priors = score_priors(bound(plans, entries=TOOLS[:5]), intent, explain=True)
    assert set(priors) <= set(TOOLS[:5])
    assert all(0.0 < support <= 1.0 for support in priors.values())
    assert set(priors.reasons) <= set(TOOLS[:5])


@given(st.text(max_size=400))
def test_any_text_is_an_intent(intent: str) -> None:
    score_priors(BOUND, intent, explain=True)


BOUND = bound(history())
