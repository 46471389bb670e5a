"""Profiles in Postgres: what the migration says of models, overrides, and prices that are imported."""

from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from context.providers.profiles import FALLBACK, ModelPrice, ProfileOverride, Tier, find_profile
from models.catalogs.model_profile import (
    Imported,
    find_prices,
    import_prices,
    list_overrides,
    list_profiles,
    load_profile,
    price_per_input_token,
    remove_override,
    set_override,
)
from models.scope import Scope
from models.tenants.tenant import ensure_tenant

GPT = ModelPrice("gpt-4o", Decimal("2.5"), Decimal(10), Decimal("1.25"), 128_000)


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "operator")


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("anthropic/claude-opus-4-5", ("A", 192_000, 8_000, 0, "SC")),
        ("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", ("A", 196_000, 4_000, 0, "SC")),
        ("anthropic.claude-3-opus-20240229-v1:0", ("A", 192_000, 4_000, 0, "SC")),
        ("vertex_ai/claude-3-sonnet@20240229", ("A", 192_000, 4_000, 0, "SC")),
        ("openrouter/anthropic/claude-3-haiku", ("A", 192_000, 4_000, 0, "SC")),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", ("A", 192_000, 4_000, 0, "SC")),
        ("anthropic/claude-3-5-sonnet-20241022", ("A", 192_000, 8_000, 0, "SC")),
        ("anthropic/claude-3.7-sonnet", ("A", 192_000, 8_000, 0, "SC")),
        ("azure/gpt-5.1-chat", ("A", 111_000, 4_000, 0, "SC")),
        ("azure/gpt-35-turbo-instruct-0914", ("B", 2_000, 2_000, 12_000, "")),
        ("gemini/gemini-gemma-2-9b-it", ("B", 6_500, 1_500, 12_000, "")),
        ("xai/grok-2-vision", ("B", 30_000, 2_000, 22_000, "S")),
        ("dashscope/kimi-k2.7-code", ("C", 227_000, 1_500, 10_000, "HF")),
        ("azure/gpt-4o-mini", ("A", 100_000, 4_000, 0, "SC")),
        ("openai/gpt-5-mini", ("A", 268_000, 4_000, 0, "SC")),
        ("openai/gpt-5.4", ("A", 918_000, 4_000, 0, "SC")),
        ("o3-mini", ("A", 195_600, 4_400, 0, "SHC")),
        ("vertex_ai/gemini-2.5-flash", ("A", 1_044_000, 2_500, 0, "SC")),
        ("groq/llama-3.3-70b-versatile", ("B", 32_000, 2_000, 22_000, "")),
        ("google/gemma-2-9b-it", ("B", 6_500, 1_500, 12_000, "")),
        ("mistral/mistral-large-latest", ("B", 30_000, 2_000, 22_000, "S")),
        ("deepseek/deepseek-chat", ("B", 128_000, 2_000, 22_000, "C")),
        ("xai/grok-4.3", ("B", 254_000, 2_000, 22_000, "S")),
        ("openrouter/meta-llama/llama-3.3-70b-instruct:free", ("C", 16_000, 1_500, 10_000, "F")),
        ("openrouter/openrouter/free", ("C", 16_000, 1_500, 10_000, "F")),
        ("openrouter/nvidia/nemotron-3-super-120b-a12b:free", ("C", 16_000, 1_500, 10_000, "F")),
        ("openrouter/z-ai/glm-4.5-air:free", ("C", 16_000, 1_500, 10_000, "F")),
        ("moonshot/kimi-k2.5", ("C", 254_000, 1_500, 10_000, "HF")),
        ("never-heard-of", ("C", 16_000, 1_500, 10_000, "F")),
    ],
)
def test_the_migration_knows_the_models_of_the_day(
    db: Connection, model: str, known: tuple[str, int, int, int, str]
) -> None:
    profile = find_profile(model, list_profiles(db))
    flags = {
        "S": profile.strict_json,
        "H": profile.hybrid_reasoning,
        "F": profile.filter_pass,
        "C": profile.prefix_cache,
    }
    sizes = (profile.tier, profile.input_tokens, profile.output_tokens, profile.catalog_bytes)
    assert (*sizes, "".join(flag for flag, is_set in flags.items() if is_set)) == known


def test_weak_models_are_shown_part_of_a_catalog_and_strong_ones_all_of_it(db: Connection) -> None:
    for profile in list_profiles(db):
        assert (profile.catalog_bytes == 0) == (profile.tier is Tier.A), profile.prefix
        assert (profile.cache_ttl_s is None) != profile.prefix_cache, profile.prefix


def test_the_built_in_model_is_free(db: Connection, tenant: UUID) -> None:
    assert price_per_input_token(Scope(db, tenant), "extractive") == 0


def test_an_unknown_model_has_no_price(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    assert price_per_input_token(scope, "openai/gpt-oss-20b") is None
    assert load_profile(scope, "never-heard-of") == FALLBACK


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("claude-opus-4-5", "5"),
        ("claude-opus-4-1-20250805", "15"),
        ("claude-opus-4", "15"),
        ("openrouter/anthropic/claude-opus-4.1", "15"),
        ("claude-3-opus-20240229", "15"),
        ("anthropic/claude-opus-4-5-20251101", "5"),
        ("bedrock/anthropic.claude-opus-4-5-20251101-v1:0", "5"),
        ("azure/gpt-4o", "2.5"),
        ("openrouter/openai/gpt-4", "30"),
        ("gemini/gemini-2.5-pro", "1.25"),
        ("vertex_ai/gemini-2.5-pro", "1.25"),
        ("xai/grok-4.3", "1.25"),
    ],
)
def test_a_well_known_model_has_its_price_before_any_import(
    db: Connection, tenant: UUID, model: str, usd: str
) -> None:
    scope = Scope(db, tenant)
    assert price_per_input_token(scope, model) == Decimal(usd) / 1_000_000
    assert load_profile(scope, model).context_window is not None


def test_prices_are_imported_once_and_updated_where_they_differ(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    mini = ModelPrice("gpt-4o-mini", Decimal("0.15"))
    assert import_prices(db, [GPT, mini]) == Imported(listed=2, changed=2)
    assert import_prices(db, [GPT, mini]) == Imported(listed=2, changed=0)
    assert import_prices(db, [GPT, ModelPrice("gpt-4o-mini")]) == Imported(listed=2, changed=1)
    assert find_prices(db, ["gpt-4o"]) == [GPT]
    assert price_per_input_token(scope, "azure/gpt-4o") == Decimal("0.0000025")
    assert price_per_input_token(scope, "gpt-4o-mini") is None


def test_a_long_list_is_imported_whole(db: Connection) -> None:
    prices = [ModelPrice(f"model-{number}", Decimal(number)) for number in range(2_500)]
    assert import_prices(db, prices) == Imported(2_500, 2_500)


def test_an_import_leaves_what_an_operator_set(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    set_override(scope, ProfileOverride("openai/gpt-4o", tier=Tier.B, input_usd=Decimal(7)))
    import_prices(db, [GPT])
    profile = load_profile(scope, "gpt-4o")
    assert (profile.tier, profile.input_usd, profile.output_usd) == (
        Tier.B,
        Decimal(7),
        Decimal(10),
    )


def test_an_override_is_a_tenants_own_is_added_to_and_can_be_taken_back(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    other = ensure_tenant(db, "other")
    set_override(scope, ProfileOverride("openai/", tier=Tier.C, filter_pass=True))
    set_override(scope, ProfileOverride("openai/", output_tokens=99))
    assert list_overrides(scope) == [
        ProfileOverride("openai/", tier=Tier.C, filter_pass=True, output_tokens=99)
    ]
    assert load_profile(Scope(db, other), "gpt-4o").tier is Tier.A
    assert load_profile(scope, "gpt-4o").output_tokens == 99
    assert remove_override(scope, "openai/")
    assert not remove_override(scope, "openai/")
    assert load_profile(scope, "gpt-4o").tier is Tier.A


def test_the_seeded_rows_outlive_a_test_that_empties_the_tables(empty_db: object, engine: object) -> None:
    del empty_db
    with engine.connect() as connection:  # type: ignore[attr-defined]
        assert connection.execute(text("select count(*) from model_profile")).scalar() > 40
