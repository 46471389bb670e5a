"""A tenant's policy: every switch does what it says, and what cannot be used is refused by name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.errors import InvalidInputError
from context.preflight.config import FULL_MEMORY, CategoryConfig, PreflightRules, read_config, write_config
from context.preflight.decide import classify
from context.preflight.types import Category, Preflight, ThinkingLevel

TOOLS = ("message", "exec", "read", "write", "web_search", "web_fetch", "memory_get", "deploy_app")
QUESTION = "what is the tallest bridge in the world?"


def under(message: str = QUESTION, **policy: Any) -> Preflight:
    return classify(message, tools=TOOLS, config=read_config(policy))


def test_switched_off_nothing_is_classified() -> None:
    found = under(enabled=False)
    assert (found.categories, found.tool_allowlist, found.hint) == ((), None, None)
    assert found.memory == FULL_MEMORY
    assert found.thinking_level is ThinkingLevel.LOW


def test_each_switch_turns_off_its_own_part_only() -> None:
    whole = under()
    assert under(toolFiltering=False).tool_allowlist is None
    assert under(toolFiltering=False).memory == whole.memory != FULL_MEMORY
    assert under(memoryTuning=False).memory == FULL_MEMORY
    assert under(memoryTuning=False).tool_allowlist == whole.tool_allowlist
    assert under("hello there", thinkingTuning=False).thinking_level is ThinkingLevel.LOW
    assert under("hello there").thinking_level is ThinkingLevel.OFF
    assert under(promptAnnotation=False).hint is None
    assert under(promptAnnotation=False).categories == whole.categories


def test_what_is_always_included_stays() -> None:
    assert "deploy_app" in (under(alwaysInclude=["deploy_app"]).tool_allowlist or ())
    assert "message" in (under(alwaysInclude=[]).tool_allowlist or ())
    assert under("hello there", alwaysInclude=["exec"]).tool_allowlist == ("message", "exec")


def test_the_length_from_which_a_message_is_complex_can_be_set() -> None:
    long = "what is the tallest bridge " * 5
    assert Category.COMPLEX not in under(long).categories
    assert Category.COMPLEX in under(long, complexThreshold=100).categories


def test_without_the_fallback_an_unknown_message_keeps_only_what_is_always_included() -> None:
    assert under("zzz qqq").tool_allowlist is None
    assert under("zzz qqq", fallbackToFull=False).tool_allowlist == ("message",)


def test_own_words_are_enough_to_recognize_a_category() -> None:
    own = {
        "monitoring": {"extraPatterns": ["Flux Kompensator", "warp*", "磁力"], "extraTools": ["deploy_app"]}
    }
    for message in ("the flux kompensator", "warpfield", "看看磁力"):
        assert Category.MONITORING in under(message, categories=own).categories
    assert Category.MONITORING not in under("the flux", categories=own).categories
    assert "deploy_app" in (under("warpfield", categories=own).tool_allowlist or ())


def test_a_level_of_thought_can_be_set_by_category() -> None:
    high = {"research": {"thinkingLevel": "high"}}
    assert under(categories=high).thinking_level is ThinkingLevel.HIGH


def test_a_disabled_category_is_never_recognized() -> None:
    off = {"complex": {"disabled": True}}
    assert Category.COMPLEX not in under("x" * 400, categories=off).categories


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "a|b", "[ab]", "^x", "a.*b", "\\w+", "a{9}", "x**", "a*b", "", "  ", "!!", "two words*"],
)
def test_a_pattern_that_is_no_word_or_phrase_is_refused_by_its_place(pattern: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_config({"categories": {"coding": {"extraPatterns": ["fine", pattern]}}})
    assert refused.value.field == "policy.categories.coding.extraPatterns[1]" or refused.value.field.endswith(
        "[1]"
    )


@pytest.mark.parametrize("pattern", ["c++", "node.js", "$SOL", "what's new", "Größe", "деплой*", "部署"])
def test_words_with_signs_in_them_are_taken_as_they_are(pattern: str) -> None:
    config = read_config({"categories": {"coding": {"extraPatterns": [pattern]}}})
    assert Category.CODING in classify(pattern.rstrip("*"), config=config).categories


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ([], "policy"),
        ({"enable": True}, "policy.enable"),
        ({"enabled": 1}, "enabled"),
        ({"complexThreshold": 0}, "complexThreshold"),
        ({"complexThreshold": True}, "complexThreshold"),
        ({"minConfidence": 2}, "minConfidence"),
        ({"alwaysInclude": "message"}, "alwaysInclude"),
        ({"alwaysInclude": [""]}, "alwaysInclude[0]"),
        ({"categories": {"cooking": {}}}, "categories.cooking"),
        ({"categories": {"coding": {"thinkingLevel": "much"}}}, "categories.coding.thinkingLevel"),
        ({"categories": {"coding": {"patterns": []}}}, "categories.coding.patterns"),
        ({"categories": {"coding": {"extraPatterns": ["x" * 101]}}}, "categories.coding.extraPatterns[0]"),
        ({"categories": {"coding": {"extraPatterns": ["x"] * 201}}}, "categories.coding.extraPatterns"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(policy: Any, field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_config(policy)
    assert refused.value.field == field


def test_both_spellings_of_a_name_mean_the_same() -> None:
    assert read_config({"tool_filtering": False}) == read_config({"toolFiltering": False})


def test_what_a_policy_does_not_say_is_taken_from_its_base() -> None:
    base = PreflightRules(complex_threshold=50, always_include=("ask",))
    assert read_config({"enabled": False}, base=base) == PreflightRules(
        enabled=False, complex_threshold=50, always_include=("ask",)
    )


texts = st.lists(st.text(alphabet="abc xyz", min_size=1, max_size=9).filter(str.strip), max_size=3).map(tuple)
changes = st.builds(
    CategoryConfig,
    extra_patterns=texts.map(lambda found: tuple(text.strip() for text in found)),
    extra_tools=texts,
    thinking_level=st.one_of(st.none(), st.sampled_from(ThinkingLevel)),
    disabled=st.booleans(),
)
policies = st.builds(
    PreflightRules,
    enabled=st.booleans(),
    tool_filtering=st.booleans(),
    always_include=texts,
    complex_threshold=st.integers(1, 1000),
    min_confidence=st.floats(0, 1),
    categories=st.dictionaries(st.sampled_from(Category), changes, max_size=3),
)


@given(policies)
def test_a_policy_that_was_written_reads_the_same(policy: PreflightRules) -> None:
    assert read_config(write_config(policy)) == policy
