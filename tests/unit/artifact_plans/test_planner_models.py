"""Each task has its model, and a request may choose among allowed ones only."""

from decimal import Decimal

import pytest

from context.artifact_plans.needs_plan import ModelConfig, ModelDefaults, is_expensive_primary
from context.errors import InvalidInputError

DEFAULTS = ModelDefaults()


def test_the_request_names_the_primary_and_the_settings_the_others() -> None:
    config = ModelConfig.from_request("o1", defaults=ModelDefaults("plan-1", "sum-1"), allowed=())
    assert config == ModelConfig("o1", "plan-1", "sum-1")


def test_the_usual_models_are_cheap_ones() -> None:
    config = ModelConfig.from_request("o1", defaults=DEFAULTS, allowed=())
    assert (config.context_planner, config.summarizer) == ("gpt-4o-mini", "gpt-4o-mini")


def test_an_allowed_override_is_taken() -> None:
    config = ModelConfig.from_request(
        "o1", planner="a", summarizer="b", defaults=DEFAULTS, allowed={"a", "b"}
    )
    assert (config.context_planner, config.summarizer) == ("a", "b")


def test_naming_the_default_is_no_override() -> None:
    named = ModelConfig.from_request("o1", planner="gpt-4o-mini", defaults=DEFAULTS, allowed=())
    assert named.context_planner == "gpt-4o-mini"


@pytest.mark.parametrize(
    ("field", "argument"), [("planner_model", "planner"), ("summarizer_model", "summarizer")]
)
def test_an_override_that_is_not_allowed_is_refused_by_its_field(field: str, argument: str) -> None:
    overrides = {argument: "gpt-9"}
    with pytest.raises(InvalidInputError, match=rf"{field}: 'gpt-9'.*allowed: a, gpt-4o-mini") as refused:
        ModelConfig.from_request("o1", **overrides, defaults=DEFAULTS, allowed=["a"])
    assert refused.value.numbers["allowed"] == ["a", "gpt-4o-mini"]


def test_the_primary_has_a_name() -> None:
    with pytest.raises(InvalidInputError, match="model"):
        ModelConfig.from_request(" ", defaults=DEFAULTS, allowed=())


@pytest.mark.parametrize(
    ("price", "is_expensive"),
    [("0.0000099", False), ("0.00001", False), ("0.0000100001", True), ("0.000015", True), ("0", False)],
)
def test_a_model_is_expensive_above_the_threshold(price: str, is_expensive: bool) -> None:
    assert is_expensive_primary(Decimal(price)) is is_expensive


def test_an_unknown_price_is_not_expensive() -> None:
    assert is_expensive_primary(None) is False


def test_the_threshold_can_be_another() -> None:
    assert is_expensive_primary(Decimal("0.000003"), threshold=0.000002) is True


@pytest.mark.parametrize(
    ("model", "usd", "expensive"),
    [
        ("claude-opus-4-5", "5", True),
        ("openrouter/anthropic/claude-opus-4.1", "15", True),
        ("claude-3-opus-20240229", "15", True),
        ("claude-opus-4-5", "2.5", False),
        ("claude-sonnet-4-5", "5", False),
        ("gpt-5-pro", "15", True),
        ("o1", "15", True),
        ("gpt-4o", "2.5", False),
        ("claude-opus-9", None, False),
    ],
)
def test_models_of_the_largest_class_are_expensive_though_they_became_cheaper(
    model: str, usd: str | None, expensive: bool
) -> None:
    price = None if usd is None else Decimal(usd) / 1_000_000
    assert is_expensive_primary(price, model=model) is expensive
