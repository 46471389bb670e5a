"""What a provider's cache still holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.certificate import Block
from context.providers.prompt_cache import (
    CACHE_RULES,
    CACHE_TTL_S,
    Sent,
    cache_rule,
    cache_ttl_s,
    estimate_cache,
    is_other_model,
    keeps_list_of_tools,
    split_request,
)
from context.tokens import ModelFamily, family_of

tokens = st.integers(0, 10**7)
requests = st.builds(Sent, fixed=tokens, notes=tokens, history=tokens, new=tokens)
SENT = Sent(fixed=1_000, notes=200, history=5_000, new=50)


@pytest.mark.parametrize(
    ("model", "ttl_s"),
    [
        ("claude-opus-4-5", 300),
        ("bedrock/anthropic.claude-sonnet-4-5", 300),
        ("gpt-4o-mini", 600),
        ("openai/gpt-5-mini", 86_400),
        ("gpt-4.1", 86_400),
        ("gemini-2.5-flash", 3_600),
        ("some-model-of-our-own", CACHE_TTL_S["other"]),
        (None, CACHE_TTL_S["other"]),
    ],
)
def test_each_provider_forgets_in_its_own_time(model: str | None, ttl_s: float) -> None:
    assert cache_ttl_s(model) == ttl_s


def test_a_setting_for_a_family_wins_over_the_table() -> None:
    assert cache_ttl_s("gpt-5", {"openai": 60}) == 60


def test_a_setting_for_a_model_wins_over_one_for_its_family() -> None:
    assert cache_ttl_s("azure/gpt-5-mini", {"openai": 60, "gpt-5": 120, "gpt-5-mini": 7}) == 7


def test_a_setting_for_unknown_models_reaches_families_that_the_table_does_not_name() -> None:
    assert cache_ttl_s("llama-3.3-70b", {"other": 0}) == 0


@given(st.text(max_size=40), st.sampled_from([None, {"openai": 1.0}, {"x": 2.0}]))
def test_every_name_has_a_time(model: str, changes: dict[str, float] | None) -> None:
    assert cache_ttl_s(model, changes) >= 0


def test_families_of_the_table_exist() -> None:
    families = {family.value for family in ModelFamily}
    starts = set(CACHE_TTL_S) - families
    assert {"gpt-5", "gpt-4.1"} <= starts
    assert all(family_of(start) != ModelFamily.OTHER for start in starts)


@pytest.mark.parametrize(
    ("model", "before", "other"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", False),
        ("anthropic/claude-opus-4-5", "claude-opus-4-5", False),
        ("claude-sonnet-4-5", "claude-opus-4-5", True),
        ("gpt-4o", None, False),
        (None, "gpt-4o", False),
    ],
)
def test_a_date_or_a_host_makes_no_other_model(model: str | None, before: str | None, other: bool) -> None:
    assert is_other_model(model, before) is other


@given(requests, st.booleans(), st.booleans(), st.booleans())
def test_both_parts_are_the_whole_request(sent: Sent, warm: bool, notes: bool, moved: bool) -> None:
    use = estimate_cache(sent, warm=warm, notes_changed=notes, start_moved=moved)
    assert use.stable_prefix_tokens + use.changed_tokens == sent.total
    assert use.stable_prefix_tokens >= 0
    assert use.changed_tokens >= sent.new


@pytest.mark.parametrize(
    ("warm", "notes_changed", "start_moved", "stable"),
    [
        (True, False, False, 6_200),
        (True, False, True, 1_200),
        (True, True, False, 1_000),
        (True, True, True, 1_000),
        (False, False, False, 0),
    ],
)
def test_the_first_change_ends_the_prefix(
    warm: bool, notes_changed: bool, start_moved: bool, stable: int
) -> None:
    use = estimate_cache(SENT, warm=warm, notes_changed=notes_changed, start_moved=start_moved)
    assert use.stable_prefix_tokens == stable


def parts(*sources: str) -> list[Block]:
    return [Block(source, 10, "", "") for source in sources]


def test_a_window_is_split_by_what_stays_the_same() -> None:
    window = parts("system_prompt", "tools", "summary", "history", "new")
    assert split_request(window) == Sent(fixed=20, notes=10, history=10, new=10)


def test_what_follows_a_part_of_one_request_is_new_to_the_cache() -> None:
    window = parts("system_prompt", "summary", "recall", "history", "new")
    assert split_request(window) == Sent(fixed=10, notes=10, history=0, new=30)


@given(st.lists(st.sampled_from(["overhead", "tools", "summary", "recall", "artifact", "history", "new"])))
def test_no_token_of_a_window_is_lost(sources: list[str]) -> None:
    assert split_request(parts(*sources)).total == 10 * len(sources)


@pytest.mark.parametrize(
    ("model", "tokens", "found"),
    [
        ("gpt-4o", 1_023, 0),
        ("gpt-4o", 1_024, 1_024),
        ("gpt-4o", 1_151, 1_024),
        ("gpt-4o", 1_152, 1_152),
        ("claude-haiku-4-5", 4_095, 0),
        ("anthropic/claude-haiku-4-5-20251001", 4_097, 4_097),
        ("claude-sonnet-4-5", 1_024, 1_024),
        ("deepseek-chat", 130, 128),
        ("some-model-of-our-own", 1_023, 0),
    ],
)
def test_a_provider_finds_what_is_long_enough_in_its_steps(model: str, tokens: int, found: int) -> None:
    assert cache_rule(model).found(tokens) == found


@given(
    st.integers(0, 10**5), st.integers(0, 10**5), st.integers(0, 10**6), st.sampled_from(list(CACHE_RULES))
)
def test_a_list_of_tools_stays_only_where_a_change_costs_more(
    all_tokens: int, fewer: int, prefix: int, name: str
) -> None:
    rule = CACHE_RULES[name]
    keeps = keeps_list_of_tools(all_tokens=all_tokens, fewer_tokens=fewer, prefix_tokens=prefix, rule=rule)
    if keeps:
        assert fewer < all_tokens
        assert all_tokens + prefix >= rule.least_tokens
        assert rule.read_share * (all_tokens + prefix) < rule.write_share * (fewer + prefix)
    assert not keeps_list_of_tools(all_tokens=fewer, fewer_tokens=fewer, prefix_tokens=prefix, rule=rule)
