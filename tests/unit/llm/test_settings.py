"""Which models are chosen, and what the settings refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from llm.settings import DEFAULT_MODEL, EXTRACTIVE, PROVIDER_KEYS, LlmSettings
from models.ledger.settings import BudgetSettings

NAMES = ("CONTEXT_PLANNER_MODEL", "SUMMARIZER_MODEL", "AFTERTURN_SUMMARIZER_MODEL")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROVIDER_KEYS, *NAMES, "AFTERTURN_LLM_API_BASE", "AFTERTURN_LLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def models_of(settings: LlmSettings) -> tuple[str, str]:
    return settings.summarizer_model, settings.context_planner_model


def test_without_any_key_the_built_in_model_answers() -> None:
    assert models_of(LlmSettings()) == (EXTRACTIVE, EXTRACTIVE)


@pytest.mark.parametrize("name", PROVIDER_KEYS)
def test_with_a_key_the_default_model_answers(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "k")
    assert models_of(LlmSettings()) == (DEFAULT_MODEL, DEFAULT_MODEL)


def test_a_blank_key_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert models_of(LlmSettings()) == (EXTRACTIVE, EXTRACTIVE)


def test_an_own_server_counts_as_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_LLM_API_BASE", "http://127.0.0.1:9/v1")
    assert models_of(LlmSettings()) == (DEFAULT_MODEL, DEFAULT_MODEL)


def test_a_named_model_is_taken_without_any_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUMMARIZER_MODEL", "ollama/small")
    assert models_of(LlmSettings()) == ("ollama/small", EXTRACTIVE)


def test_the_prefixed_name_is_taken_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_SUMMARIZER_MODEL", "openai/mine")
    assert LlmSettings().summarizer_model == "openai/mine"


def test_an_empty_name_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUMMARIZER_MODEL", "")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert LlmSettings().summarizer_model == DEFAULT_MODEL


def test_fallbacks_are_off_by_default_and_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LlmSettings().llm_fallback_models == ()
    monkeypatch.setenv("AFTERTURN_LLM_FALLBACK_MODELS", "openai/a, openai/b,")
    assert LlmSettings().llm_fallback_models == ("openai/a", "openai/b")


def test_prices_are_read_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_LLM_PRICES", '{"openai/mine": {"input": 1, "output": 2.5}}')
    assert float(LlmSettings().llm_prices["openai/mine"].output) == 2.5


def test_settings_do_not_change_afterwards() -> None:
    settings, name = LlmSettings(), "llm_park_s"
    with pytest.raises(ValidationError, match="frozen"):
        setattr(settings, name, 1)


def test_a_key_is_not_printed() -> None:
    assert "hidden-key" not in repr(LlmSettings.model_validate({"llm_api_key": "hidden-key"}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"llm_deadline_base_s": 601},
        {"llm_connect_timeout_s": 31},
        {"llm_breaker_open_s": 700},
        {"llm_lost_after_s": 600},
        {"summarizer_max_output_tokens": 128_000},
        {"planner_window_tokens": 1500},
    ],
)
def test_settings_that_contradict_each_other_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="AFTERTURN_"):
        LlmSettings.model_validate(wrong)


@given(st.integers(0, 2_000_000), st.integers(0, 2_000_000), st.integers(0, 64_000), st.integers(0, 12))
def test_a_deadline_grows_within_its_bounds(one: int, other: int, output: int, timeouts: int) -> None:
    settings = LlmSettings()
    low, high = sorted((one, other))
    deadlines = [
        settings.llm_deadline_base_s,
        settings.deadline_s(low, 0),
        settings.deadline_s(high, 0),
        settings.deadline_s(high, output),
        settings.deadline_s(high, output, timeouts=timeouts),
        settings.llm_deadline_max_s,
    ]
    assert deadlines == sorted(deadlines)


@pytest.mark.parametrize(
    ("input_tokens", "output_tokens", "timeouts", "deadline_s"),
    [
        (0, 0, 0, 30),
        (1, 0, 0, 30.5),
        (1_000, 0, 0, 30.5),
        (1_001, 0, 0, 31),
        (0, 4_000, 0, 230),
        (20_000, 4_000, 0, 240),
        (20_000, 4_000, 1, 480),
        (20_000, 4_000, 2, 600),
        (128_000, 2_000, 0, 194),
        (0, 100_000, 0, 600),
    ],
)
def test_a_slow_model_has_the_time_that_its_answer_takes(
    input_tokens: int, output_tokens: int, timeouts: int, deadline_s: float
) -> None:
    """4,000 tokens at 20 a second are 200 s; and who was cut once is not cut again at the same place."""
    assert LlmSettings().deadline_s(input_tokens, output_tokens, timeouts=timeouts) == deadline_s


def test_a_limit_that_may_end_a_call_is_refused_by_name() -> None:
    settings = LlmSettings()
    settings.check_below(task_soft_limit_s=601, task_hard_limit_s=601)
    with pytest.raises(ValueError, match="task_soft_limit_s"):
        settings.check_below(task_soft_limit_s=600, task_hard_limit_s=700)


def test_a_cap_can_be_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_TENANT_USD_PER_DAY", "none")
    assert BudgetSettings().caps.tenant_usd_per_day is None


def test_a_sessions_cap_above_its_tenants_is_refused() -> None:
    with pytest.raises(ValidationError, match="AFTERTURN_SESSION_TOKENS_PER_DAY"):
        BudgetSettings(session_tokens_per_day=10, tenant_tokens_per_day=5)
