import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.priors.types import (
    KEY_BITS,
    KIND_MASK,
    MAX_TERMS,
    FeatureKind,
    feature_keys,
    feature_names,
)


def kinds(intent: str, category: str = "") -> list[int]:
    return [key & KIND_MASK for key in feature_keys(intent, category)]


def test_an_intent_gives_its_words_its_pairs_and_its_exact_wording() -> None:
    assert kinds("forecast rain tomorrow") == [FeatureKind.WORD] * 3 + [FeatureKind.PAIR] * 2 + [
        FeatureKind.EXACT
    ]


def test_a_category_is_a_feature_of_its_own() -> None:
    assert kinds("rain", "weather")[-1] == FeatureKind.CATEGORY


def test_little_words_case_and_endings_make_no_difference() -> None:
    assert feature_keys("Is there rain in the forecasts?") == feature_keys("RAIN forecast")


@pytest.mark.parametrize(
    "intent", ["东京明天的天气怎么样", "какая погода завтра", "ما هو الطقس غدا", "¿qué tiempo hará?"]
)
def test_every_script_has_features(intent: str) -> None:
    assert len(feature_keys(intent)) >= 3


@pytest.mark.parametrize("intent", ["", "   ", "🙂🙂", "?!", "\n\t"])
def test_an_intent_without_words_has_none(intent: str) -> None:
    assert feature_keys(intent) == []


def test_a_long_intent_is_read_at_its_two_ends() -> None:
    long = "alpha " + " ".join(f"filler{number}" for number in range(50_000)) + " omega"
    keys = feature_keys(long)
    assert len(keys) <= 2 * MAX_TERMS
    assert {feature_keys("alpha")[0], feature_keys("omega")[0]} <= set(keys)


def test_the_order_of_words_tells_pairs_apart() -> None:
    assert set(feature_keys("mail letter")) != set(feature_keys("letter mail"))


@given(st.text(max_size=300), st.text(max_size=10))
def test_every_feature_is_a_number_in_range_once_and_has_a_name(intent: str, category: str) -> None:
    keys = feature_keys(intent, category)
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 1 << KEY_BITS for key in keys)
    assert set(keys) <= set(feature_names(intent, category))
