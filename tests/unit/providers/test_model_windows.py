"""The windows that models are known for, without a price list and at any host."""

import pytest

from context.providers.model_windows import known_window
from models.conversations.session_state import SessionState


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4.1", 1_047_576),
        ("azure/gpt-4.1-nano", 1_047_576),
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("openrouter/anthropic/claude-opus-4.1", 200_000),
        ("claude-2.0", 100_000),
        ("vertex_ai/gemini-2.5-pro", 1_048_576),
        ("deepseek/deepseek-chat", 131_072),
        ("openrouter/meta-llama/llama-3.3-70b-instruct", 128_000),
        ("openrouter/meta-llama/llama-3.3-70b-instruct:free", None),
        ("a-model-of-ours", None),
        ("", None),
    ],
)
def test_a_model_is_known_at_any_host(model: str, window: int | None) -> None:
    assert known_window(model) == window


@pytest.mark.parametrize(
    ("session", "window"),
    [
        (SessionState("s", model="gpt-4.1"), 1_047_576),
        (SessionState("s", model="gpt-4.1", context_window=64_000), 64_000),
        (SessionState("s", model="a-model-of-ours", max_tokens=1_000), 4_000),
        (SessionState("s", max_tokens=1_000), 4_000),
    ],
)
def test_the_background_goes_by_the_window_that_a_sessions_model_is_known_for(
    session: SessionState, window: int
) -> None:
    assert session.budget.context_window == window


def test_a_limit_in_force_lowers_a_known_window() -> None:
    assert SessionState("s", model="gpt-4.1").budget_within(9_000).context_window == 9_000
