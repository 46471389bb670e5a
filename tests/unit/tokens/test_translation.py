"""Stored counts become a model's own tokens: families, estimates, guarantees, calibration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.tokens import (
    UNCALIBRATED,
    Calibration,
    Count,
    ModelFamily,
    Request,
    ToolsCount,
    estimate,
    family_of,
    guarantee,
    observe,
    reported_input_tokens,
)
from context.tokens.calibration import FACTOR_MAX, FACTOR_MIN

MODELS = [
    "gpt-4o",
    "gpt-5-mini",
    "gpt-4",
    "claude-sonnet-4-5",
    "claude-opus-4-8",
    "claude-3-haiku",
    "gemini-2.5-pro",
]
MODELS += [
    "nova-lite",
    "llama-3.3",
    "mistral-large",
    "deepseek-chat",
    "qwen3",
    "grok-4",
    "something",
    "anthropic",
]
_COUNTS = st.builds(
    Count,
    tokens=st.integers(0, 10**6),
    wide=st.none() | st.integers(0, 10**6),
    messages=st.integers(0, 1000),
    calls=st.integers(0, 100),
)
_TOOLS = st.builds(
    ToolsCount, tokens=st.integers(0, 9999), wide=st.integers(0, 9999), tools=st.integers(0, 50)
)
_REQUESTS = st.none() | st.builds(
    Request, tools=_TOOLS, schema_tokens=st.integers(0, 999), forced=st.booleans(), thinking=st.booleans()
)
_CALIBRATIONS = st.builds(
    Calibration,
    model=st.just("m"),
    factor=st.floats(FACTOR_MIN, FACTOR_MAX),
    observations=st.integers(0, 100),
    spread=st.floats(0, 0.9),
)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-2024-08-06", ModelFamily.OPENAI),
        ("azure/gpt-4.1", ModelFamily.OPENAI),
        ("openrouter/openai/o3-mini", ModelFamily.OPENAI),
        ("openai.gpt-oss-120b-1:0", ModelFamily.OPENAI),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", ModelFamily.ANTHROPIC),
        ("vertex_ai/claude-3-5-sonnet@20240620", ModelFamily.ANTHROPIC),
        ("openrouter/anthropic/claude-opus-4.5", ModelFamily.ANTHROPIC),
        ("vertex_ai/gemini-2.5-pro", ModelFamily.GOOGLE),
        ("google/gemma-2-9b", ModelFamily.GOOGLE),
        ("groq/meta-llama/llama-4-scout-17b", ModelFamily.META),
        ("us.amazon.nova-micro-v1:0", ModelFamily.AMAZON),
        ("mistral/mistral-large-latest", ModelFamily.MISTRAL),
        ("ministral-8b", ModelFamily.MISTRAL),
        ("ministral-3b-latest", ModelFamily.MISTRAL),
        ("mathstral-7b", ModelFamily.MISTRAL),
        ("deepseek-ai/DeepSeek-R1", ModelFamily.DEEPSEEK),
        ("qwen/qwen3-32b", ModelFamily.QWEN),
        ("x-ai/grok-4", ModelFamily.XAI),
        ("zai/glm-5", ModelFamily.OTHER),
        ("", ModelFamily.OTHER),
    ],
)
def test_a_model_belongs_to_its_family_at_every_host(model: str, family: ModelFamily) -> None:
    assert family_of(model) is family


@pytest.mark.parametrize("family", list(ModelFamily))
def test_a_familys_own_name_names_it(family: ModelFamily) -> None:
    assert family_of(family) is family


@given(st.sampled_from(MODELS), _COUNTS, _REQUESTS, _CALIBRATIONS)
def test_the_guarantee_is_never_below_the_estimate(
    model: str, count: Count, request: Request | None, calibration: Calibration
) -> None:
    low = estimate(count, model, request, calibration=calibration)
    assert 0 <= low <= guarantee(count, model, request, calibration=calibration)


_MESSAGES = st.builds(
    lambda text, ratio, calls: Count(4 + 13 * calls + text, 4 + 13 * calls + round(text * ratio), 1, calls),
    text=st.integers(0, 10**5),
    ratio=st.floats(0.7, 2.5),
    calls=st.integers(0, 5),
)


@given(st.sampled_from(MODELS), _MESSAGES, _MESSAGES)
def test_more_messages_never_cost_less(model: str, count: Count, more: Count) -> None:
    assert guarantee(count + more, model) >= guarantee(count, model)


def test_openai_chat_is_guaranteed_at_its_exact_size() -> None:
    assert guarantee(10_000, "gpt-4o") == estimate(10_000, "gpt-4o") == 10_000


def test_claude_is_guaranteed_closer_where_the_wide_count_is_known() -> None:
    tight = guarantee(Count(10_000, 11_600, 20), "claude-sonnet-4-5")
    assert (
        estimate(Count(10_000, 11_600, 20), "claude-sonnet-4-5")
        < tight
        < guarantee(10_000, "claude-sonnet-4-5")
    )


def test_claudes_hidden_tool_prompt_is_counted() -> None:
    tools = Request(tools=ToolsCount(tokens=20, wide=30, tools=1))
    assert estimate(Count(20, 20, 1), "claude-sonnet-4-5", tools) > 500


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**7)), max_size=60))
def test_calibration_stays_within_its_bounds_whatever_is_reported(pairs: list[tuple[int, int]]) -> None:
    calibration = UNCALIBRATED
    for estimated, reported in pairs:
        calibration = observe(calibration, model="m", estimated=estimated, reported=reported)
    assert FACTOR_MIN <= calibration.factor <= FACTOR_MAX
    assert calibration.spread >= 0
    assert calibration.observations == len(pairs)


@given(st.floats(0.7, 1.8))
def test_calibration_finds_a_steady_factor(factor: float) -> None:
    calibration = UNCALIBRATED
    for _ in range(100):
        calibration = observe(calibration, model="m", estimated=20_000, reported=round(20_000 * factor))
    assert abs(calibration.apply(20_000) / (20_000 * factor) - 1) < 0.03


def test_one_outlier_moves_a_settled_calibration_little() -> None:
    calibration = UNCALIBRATED
    for _ in range(50):
        calibration = observe(calibration, model="m", estimated=20_000, reported=20_000)
    after = observe(calibration, model="m", estimated=20_000, reported=2_000_000)
    assert abs(after.factor - calibration.factor) < 0.02


def test_a_small_request_teaches_less_than_a_large_one() -> None:
    small = observe(UNCALIBRATED, model="m", estimated=20, reported=40)
    large = observe(UNCALIBRATED, model="m", estimated=20_000, reported=40_000)
    assert 1 < small.factor < large.factor


def test_another_model_starts_again() -> None:
    learned = Calibration(model="old", factor=1.8, observations=40, spread=0.1)
    assert observe(learned, model="new", estimated=10_000, reported=10_000).factor == 1.0
    assert observe(learned, model="new", estimated=10_000, reported=10_000).observations == 1


def test_numbers_that_say_nothing_teach_nothing() -> None:
    learned = Calibration(model="m", factor=1.1, observations=3)
    assert observe(learned, model="m", estimated=0, reported=10) is learned
    assert observe(learned, model="m", estimated=10, reported=0) is learned


def test_reports_that_run_higher_raise_the_guarantee() -> None:
    high = Calibration(model="m", factor=1.5, observations=50, spread=0.02)
    assert guarantee(10_000, "gpt-4o", calibration=high) >= 15_000


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 40}}, 100),
        ({"input_tokens": 3, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100}, 113),
        ({"inputTokens": 3, "cacheReadInputTokens": 7, "cacheWriteInputTokens": 0}, 10),
        ({"input_tokens": 20, "input_tokens_details": {"cached_tokens": 16}}, 20),
        ({"promptTokenCount": 12}, 12),
        ({"prompt_tokens": None, "input_tokens": "9"}, None),
        ({"prompt_tokens": True}, None),
        ({}, None),
    ],
)
def test_reported_usage_includes_what_came_from_a_cache(usage: dict[str, object], tokens: int | None) -> None:
    assert reported_input_tokens(usage) == tokens
