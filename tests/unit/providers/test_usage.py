"""Usage reports: what they say, which may be compared, and what the comparison is worth."""

from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.providers.usage import (
    LEAST_GROWTH_TOKENS,
    Growth,
    MessageSize,
    Report,
    ReportedTurn,
    measure_growth,
    model_key,
    read_report,
)
from context.tokens import Count
from context.types import JsonObject, Role

MODEL = "gpt-4o"
FIXED = 900
"""What the platform sends beside history and never tells."""


def said(role: Role, tokens: int, *, calls: int = 0) -> MessageSize:
    return MessageSize(role, Count(tokens, tokens, 1, calls))


def talk(
    sizes: list[tuple[int, int]], *, factor: float = 1.3, fixed: int = FIXED, **facts: Any
) -> list[ReportedTurn]:
    """Turns of a question and an answer each, as a platform reports them that sends its whole history."""
    before = [0, *accumulate(map(sum, sizes))]
    return [
        ReportedTurn(
            1,
            (said(Role.USER, asked), said(Role.ASSISTANT, answered)),
            model=MODEL,
            usage={"prompt_tokens": round(factor * (fixed + sent + asked)), "completion_tokens": answered},
            **facts,
        )
        for (asked, answered), sent in zip(sizes, before, strict=False)
    ]


STEADY = [(40, 160)] * 6


def reported(turn: ReportedTurn, **usage: object) -> ReportedTurn:
    return replace(turn, usage={**(turn.usage or {}), **usage})


@given(
    st.lists(st.tuples(st.integers(20, 500), st.integers(20, 2_000)), min_size=3, max_size=12),
    st.floats(0.7, 1.6),
    st.integers(0, 20_000),
)
def test_the_growth_of_a_context_shows_the_factor_whatever_else_is_sent(
    sizes: list[tuple[int, int]], factor: float, fixed: int
) -> None:
    growth = measure_growth(talk(sizes, factor=factor, fixed=fixed))
    if growth:
        assert growth.estimated >= LEAST_GROWTH_TOKENS
        assert growth.reported / growth.estimated == pytest.approx(factor, rel=0.03)


def test_the_growth_reaches_from_the_first_comparable_report_to_the_newest() -> None:
    assert measure_growth(talk(STEADY, factor=1.0)) == Growth(estimated=1_000, reported=1_000, reports=5)


def test_one_report_alone_says_nothing() -> None:
    assert measure_growth(talk([(400, 4_000)])) is None
    assert measure_growth([]) is None


def test_a_small_growth_is_not_measured() -> None:
    assert measure_growth(talk([(10, 20)] * 3)) is None


def test_reports_before_a_change_of_the_model_are_not_compared() -> None:
    turns = talk(STEADY)
    other = [replace(turn, model="gpt-4.1") for turn in turns[:-1]]
    assert measure_growth([*other, turns[-1]]) is None


def test_a_dated_release_of_the_same_model_is_the_same_model() -> None:
    turns = talk(STEADY, factor=1.0)
    dated = [replace(turn, model="azure/gpt-4o-2024-08-06") for turn in turns[:-1]]
    assert measure_growth([*dated, turns[-1]]) == measure_growth(turns)


def test_reports_before_a_reset_are_not_compared() -> None:
    turns = talk(STEADY)
    assert measure_growth([*(replace(turn, generation=0) for turn in turns[:-1]), turns[-1]]) is None


@pytest.mark.parametrize("at", range(6))
def test_no_two_reports_are_compared_across_a_swap_of_the_summary(at: int) -> None:
    turns = talk(STEADY, factor=1.0)
    turns[at] = replace(turns[at], swapped=True)
    growth = measure_growth(turns)
    assert (growth.estimated if growth else 0) == 200 * max(4 - at, 0)


def test_a_stretch_with_media_is_not_measured() -> None:
    turns = talk(STEADY, factor=1.0)
    picture = replace(turns[2].messages[0], has_media=True)
    turns[2] = replace(turns[2], messages=(picture, turns[2].messages[1]))
    assert measure_growth(turns) == Growth(estimated=400, reported=400, reports=2)


def test_a_turn_without_a_report_is_bridged() -> None:
    turns = talk(STEADY, factor=1.0)
    turns[3] = replace(turns[3], usage=None)
    assert measure_growth(turns) == Growth(estimated=1_000, reported=1_000, reports=4)


def test_an_answer_that_was_broken_off_and_never_sent_again_is_ignored() -> None:
    turns = talk(STEADY, factor=1.0)
    lost = said(Role.ASSISTANT, 330)
    turns[2] = replace(turns[2], messages=(turns[2].messages[0], lost))
    growth = measure_growth(turns)
    assert growth
    assert growth.reported == growth.estimated


GARBAGE: dict[str, JsonObject] = {
    "zero": {"prompt_tokens": 0},
    "negative": {"prompt_tokens": -4_000},
    "a word": {"prompt_tokens": "4000"},
    "a fraction": {"prompt_tokens": 4_000.5},
    "true": {"prompt_tokens": True},
    "nothing": {},
    "less than the turn itself": {"prompt_tokens": 3, "completion_tokens": 160},
    "without what came from the cache": {"input_tokens": 60, "output_tokens": 160},
    "more from the cache than at all": {
        "prompt_tokens": 2_500,
        "prompt_tokens_details": {"cached_tokens": 90_000},
    },
    "a negative cache": {"input_tokens": 3_000, "cache_read_input_tokens": -500},
    "less in total": {"prompt_tokens": 2_500, "total_tokens": 900},
    "the calls of a provider's tool": {"input_tokens": 2_500, "server_tool_use": {"web_search_requests": 2}},
    "many times as much": {"prompt_tokens": 60_000},
    "larger than the window": {"prompt_tokens": 128_001},
}


@pytest.mark.parametrize("case", GARBAGE)
def test_a_report_that_cannot_be_true_teaches_nothing(case: str) -> None:
    turns = talk(STEADY, context_window=128_000)
    assert measure_growth(turns)
    assert measure_growth([*turns[:-1], replace(turns[-1], usage=GARBAGE[case])]) is None


@pytest.mark.parametrize("case", GARBAGE)
def test_a_report_that_cannot_be_true_stops_no_later_one(case: str) -> None:
    turns = talk(STEADY, context_window=128_000)
    turns[2] = replace(turns[2], usage=GARBAGE[case])
    growth = measure_growth(turns)
    assert growth
    assert growth.reported / growth.estimated == pytest.approx(1.3, rel=0.03)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "prompt_tokens",
                        "input_tokens",
                        "output_tokens",
                        "cached_tokens",
                        "prompt_tokens_details",
                        "output_tokens_details",
                        "server_tool_use",
                        "cache_read_input_tokens",
                        "total_tokens",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).filter(lambda value: isinstance(value, dict))
)
def test_no_shape_of_a_report_makes_reading_fail(usage: Any) -> None:
    report = read_report(usage)
    assert report is None or report.input_tokens > 0
    assert measure_growth([*talk(STEADY)[:-1], replace(talk(STEADY)[-1], usage=usage)]) is None or report


def test_a_context_that_no_longer_grows_is_not_measured() -> None:
    turns = talk(STEADY)
    stuck = [reported(turn, prompt_tokens=30_000) for turn in turns]
    assert measure_growth(stuck) is None


def test_what_was_reported_before_the_platform_left_history_out_is_not_compared() -> None:
    sizes = [(100, 900)] * 8
    turns = talk(sizes, factor=1.0)
    shorter = [reported(t, prompt_tokens=(t.usage or {})["prompt_tokens"] - 3_000) for t in turns[5:]]
    assert measure_growth([*turns[:5], *shorter]) == Growth(estimated=2_000, reported=2_000, reports=2)


def agent(turns: int, calls: int, usage: str, *, factor: float = 1.0) -> list[ReportedTurn]:
    """Turns of several calls each; the platform reports the last call's usage or all calls' together."""
    sent, made = FIXED, []
    for _ in range(turns):
        messages, inputs = [said(Role.USER, 40)], []
        sent += 40
        for step in range(calls):
            inputs.append(sent)
            last = step == calls - 1
            parts = [said(Role.ASSISTANT, 120 if last else 60, calls=0 if last else 1)]
            parts += [] if last else [said(Role.TOOL, 200)]
            messages += parts
            sent += sum(part.count.tokens for part in parts)
        outputs = [part.count.tokens for part in messages if part.role is Role.ASSISTANT]
        tokens = (sum(inputs), sum(outputs)) if usage == "sum" else (inputs[-1], outputs[-1])
        made.append(
            ReportedTurn(
                1,
                messages,
                model=MODEL,
                usage={"prompt_tokens": round(factor * tokens[0]), "completion_tokens": tokens[1]},
            )
        )
    return made


@pytest.mark.parametrize("calls", [2, 3, 5, 9])
def test_the_last_calls_usage_of_a_turn_of_several_is_measured(calls: int) -> None:
    growth = measure_growth(agent(6, calls, "last", factor=1.2))
    assert growth
    assert growth.reported / growth.estimated == pytest.approx(1.2, rel=0.02)


@pytest.mark.parametrize("calls", [2, 3, 5, 9])
def test_the_usage_of_several_calls_added_up_is_not_measured(calls: int) -> None:
    assert measure_growth(agent(6, calls, "sum")) is None


def test_without_the_output_nobody_knows_whether_several_calls_were_added_up() -> None:
    turns = [
        replace(t, usage={"prompt_tokens": (t.usage or {})["prompt_tokens"]}) for t in agent(6, 2, "sum")
    ]
    assert measure_growth(turns) is None


def test_an_empty_answer_at_the_end_is_not_the_answer_that_was_reported() -> None:
    turns = agent(6, 2, "last")
    broken = [replace(turn, messages=[*turn.messages, said(Role.USER, 30)]) for turn in turns]
    aborted = [replace(turn, messages=[*turn.messages, said(Role.ASSISTANT, 4)]) for turn in broken]
    assert measure_growth(aborted)


@pytest.mark.parametrize(
    ("usage", "report"),
    [
        ({"prompt_tokens": 50, "completion_tokens": 7}, Report(50, 7)),
        (
            {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": 9},
            Report(103, 9),
        ),
        (
            {
                "input_tokens": 20,
                "input_tokens_details": {"cached_tokens": 16},
                "output_tokens": 30,
                "output_tokens_details": {"reasoning_tokens": 24},
                "total_tokens": 50,
            },
            Report(20, 30, 24),
        ),
        ({"promptTokenCount": 12, "candidatesTokenCount": 4}, Report(12, 4)),
        ({"input_tokens": 12, "server_tool_use": {"web_search_requests": 0}}, Report(12)),
    ],
)
def test_reports_of_every_provider_are_read(usage: JsonObject, report: Report) -> None:
    assert read_report(usage) == report


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("gpt-4o", "gpt-4o"),
        ("azure/GPT-4o-2024-08-06", "gpt-4o"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5"),
        ("vertex_ai/claude-3-5-sonnet@20240620", "claude-3-5-sonnet"),
        ("mistral/mistral-large-latest", "mistral-large"),
        ("openrouter/qwen/qwen3-32b:free", "qwen3-32b"),
        ("claude-opus-4-6", "claude-opus-4-6"),
        ("-latest", "-latest"),
        ("", ""),
    ],
)
def test_a_model_is_known_under_all_its_names(name: str, key: str) -> None:
    assert model_key(name) == key


@given(st.text(max_size=30))
def test_the_key_of_a_key_is_itself(name: str) -> None:
    assert model_key(model_key(name)) == model_key(name)
