"""Profiles: one model is the same at every host; exact ids, then the longest prefix, then the fallback."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.providers.model_windows import model_ids
from context.providers.profiles import (
    FALLBACK,
    ModelPrice,
    ModelProfile,
    ProfileOverride,
    Tier,
    catalog_budget,
    find_profile,
    price_ids,
    resolve_profile,
)
from context.tokens import guarantee

PREFIXES = (
    "anthropic/claude-",
    "anthropic/claude-sonnet-",
    "openai/gpt-4",
    "openai/gpt-4o",
    "openai/gpt-3.5",
    "google/gemini-2.5-pro",
    "meta-llama/llama-3.1-70b",
    "meta-llama/llama-3.3-70b",
    "meta-llama/llama-3.3-70b-instruct:free",
    "mistralai/",
    "deepseek/deepseek-v3.2",
    "qwen/qwen-2.5-",
    "moonshotai/kimi-k2",
    "z-ai/glm-",
    "openrouter/free",
)
PROFILES = [ModelProfile(prefix, Tier.B, 32_000, 2_000) for prefix in PREFIXES]


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-"),
        ("claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic/claude-sonnet-"),
        ("bedrock/converse/eu.anthropic.claude-sonnet-4-20250514-v1:0", "anthropic/claude-sonnet-"),
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic/claude-sonnet-"),
        ("anthropic.claude-sonnet-4-6", "anthropic/claude-sonnet-"),
        (
            "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-5",
            "anthropic/claude-sonnet-",
        ),
        ("vertex_ai/claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-"),
        ("openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-"),
        ("databricks/databricks-claude-sonnet-4", "anthropic/claude-sonnet-"),
        ("anthropic:claude-sonnet-4-5", "anthropic/claude-sonnet-"),
        ("anthropic/claude-3.5-haiku", "anthropic/claude-"),
        ("gpt-4o", "openai/gpt-4o"),
        ("GPT-4o-mini", "openai/gpt-4o"),
        ("azure/gpt-4o-2024-08-06", "openai/gpt-4o"),
        ("azure/us/gpt-4o", "openai/gpt-4o"),
        ("openrouter/openai/gpt-4o:extended", "openai/gpt-4o"),
        ("ft:gpt-4o-2024-08-06:org::id", "openai/gpt-4o"),
        ("gpt-4-turbo", "openai/gpt-4"),
        ("azure/gpt-35-turbo", "openai/gpt-3.5"),
        ("gemini/gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("vertex_ai/gemini-2.5-pro-preview-05-06", "google/gemini-2.5-pro"),
        ("google-gla:gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo", "meta-llama/llama-3.3-70b"),
        ("together_ai/meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo", "meta-llama/llama-3.1-70b"),
        ("bedrock/us.meta.llama3-3-70b-instruct-v1:0", "meta-llama/llama-3.3-70b"),
        ("groq/llama-3.3-70b-versatile", "meta-llama/llama-3.3-70b"),
        ("fireworks_ai/accounts/fireworks/models/llama-v3p1-70b-instruct", "meta-llama/llama-3.1-70b"),
        ("openrouter/meta-llama/llama-3.3-70b-instruct:free", "meta-llama/llama-3.3-70b-instruct:free"),
        ("mistral/mistral-large-latest", "mistralai/"),
        ("bedrock/mistral.mistral-7b-instruct-v0:2", "mistralai/"),
        ("fireworks_ai/accounts/fireworks/models/deepseek-v3p2", "deepseek/deepseek-v3.2"),
        ("deepinfra/deepseek-ai/DeepSeek-V3.2", "deepseek/deepseek-v3.2"),
        ("bedrock/us.deepseek.v3.2", "deepseek/deepseek-v3.2"),
        ("azure_ai/fw-deepseek-v3.2", "deepseek/deepseek-v3.2"),
        ("together_ai/Qwen/Qwen2.5-72B-Instruct-Turbo", "qwen/qwen-2.5-"),
        ("fireworks_ai/accounts/fireworks/models/qwen2p5-72b-instruct", "qwen/qwen-2.5-"),
        ("moonshot/kimi-k2-0905-preview", "moonshotai/kimi-k2"),
        ("openrouter/z-ai/glm-4.5-air:free", "z-ai/glm-"),
        ("zai/glm-4.6", "z-ai/glm-"),
        ("openrouter/free", "openrouter/free"),
        ("openrouter/openrouter/free", "openrouter/free"),
        ("nousresearch/hermes-3-llama-3.1-70b", ""),
        ("my-own-model", ""),
        ("", ""),
    ],
)
def test_a_model_has_one_profile_at_every_host(model: str, prefix: str) -> None:
    assert find_profile(model, PROFILES).prefix == prefix


def test_an_unknown_model_is_trusted_with_little() -> None:
    profile = find_profile("never-heard-of", PROFILES)
    assert (profile.tier, profile.input_tokens, profile.output_tokens) == (Tier.C, 16_000, 1_500)
    assert (profile.top_n, profile.catalog_bytes, profile.filter_pass) == (12, 10_000, True)


def test_the_id_as_given_comes_before_any_longer_prefix() -> None:
    exact = ModelProfile("gpt-4o", Tier.C, 1, 1)
    assert find_profile("gpt-4o", [*PROFILES, exact]) is exact


@given(st.text(max_size=60))
def test_no_name_of_a_model_is_too_odd(model: str) -> None:
    assert model_ids(model)[0] == model.strip().lower()
    assert find_profile(model, PROFILES) in [*PROFILES, FALLBACK]


@given(st.permutations(PROFILES), st.sampled_from(("azure/gpt-4o", "gpt-4-turbo", "claude-sonnet-5", "x")))
def test_the_order_of_profiles_says_nothing(profiles: list[ModelProfile], model: str) -> None:
    assert find_profile(model, profiles) == find_profile(model, PROFILES)


def test_a_tenants_override_wins_over_everything_shared_and_changes_only_what_it_says() -> None:
    overrides = [ProfileOverride("openai/", tier=Tier.C), ProfileOverride("azure/", output_tokens=7)]
    shared = find_profile("gpt-4o", PROFILES)
    assert resolve_profile("gpt-4o", PROFILES, overrides=overrides).tier is Tier.C
    assert resolve_profile("gpt-4o", PROFILES, overrides=overrides).input_tokens == shared.input_tokens
    at_azure = resolve_profile("azure/gpt-4o", PROFILES, overrides=overrides[1:])
    assert (at_azure.tier, at_azure.output_tokens) == (Tier.B, 7)


def test_a_price_is_the_one_of_the_host_where_it_is_known() -> None:
    prices = [ModelPrice("gpt-4o", Decimal("2.5")), ModelPrice("azure/gpt-4o", Decimal(3))]
    assert resolve_profile("azure/gpt-4o", PROFILES, prices=prices).input_usd == 3
    assert resolve_profile("openrouter/openai/gpt-4o", PROFILES, prices=prices).input_usd == Decimal("2.5")
    assert resolve_profile("openai/gpt-4o", PROFILES, prices=prices).usd_per_input_token == Decimal(
        "0.0000025"
    )


def test_an_unknown_price_is_unknown_and_not_nothing() -> None:
    profile = resolve_profile("gpt-4o", PROFILES, prices=[ModelPrice("gpt-4o-mini", Decimal(1))])
    assert (profile.input_usd, profile.usd_per_input_token) == (None, None)


def test_a_known_window_bounds_the_input_and_an_operator_may_lift_it() -> None:
    prices = [ModelPrice("gpt-4o", context_window=10_000)]
    assert resolve_profile("gpt-4o", PROFILES, prices=prices).input_tokens == 8_000
    lifted = resolve_profile(
        "gpt-4o", PROFILES, overrides=[ProfileOverride("gpt-4o", input_tokens=9_000)], prices=prices
    )
    assert lifted.input_tokens == 9_000


def test_prices_are_looked_up_under_the_makers_own_name_too() -> None:
    assert price_ids("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")[-1] == "claude-sonnet-4-5"
    assert "gpt-4o-2024-08-06" in price_ids("openai/gpt-4o-2024-08-06")


@pytest.mark.parametrize("reserve", [0, 1_000])
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "x"])
def test_a_catalog_of_the_budgets_size_fits_the_models_own_tokens(model: str, reserve: int) -> None:
    profile = ModelProfile("", Tier.B, 32_000, 2_000, catalog_bytes=22_000)
    budget = catalog_budget(profile, model, reserve_tokens=reserve)
    assert guarantee(budget.tokens + reserve, model) <= 32_000 < guarantee(budget.tokens + reserve + 3, model)
    assert budget.bytes == 22_000


def test_a_reserve_larger_than_the_input_leaves_nothing() -> None:
    budget = catalog_budget(ModelProfile("", Tier.A, 1_000, 100), "gpt-4o", reserve_tokens=2_000)
    assert (budget.tokens, budget.bytes) == (0, None)
