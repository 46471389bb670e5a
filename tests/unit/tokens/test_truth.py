"""Counts against what providers reported."""

from functools import cache

import pytest

from benchmarks.claude_bound import judge, judge_windows, read_session, read_sets
from benchmarks.token_counts import Sample, delta_parts, measure, published_errors, summarize, text_parts
from tests.data import data_dir, read_jsonl, session_file

pytestmark = pytest.mark.data


@cache
def _requests() -> tuple[Sample, ...]:
    return tuple(measure(text_parts(read_jsonl(data_dir("token_truth") / "text.jsonl.gz"))))


@cache
def _deltas() -> tuple[Sample, ...]:
    session = read_jsonl(session_file())
    return tuple(measure(delta_parts(read_jsonl(data_dir("token_truth") / "pi_deltas.jsonl"), session)))


def test_every_published_chat_count_is_exact() -> None:
    counts = published_errors(read_jsonl(data_dir("token_truth") / "openai_published.jsonl"))
    assert len(counts) >= 10
    assert {name: ours for name, (_, ours) in counts.items()} == {
        name: said for name, (said, _) in counts.items()
    }


def test_recorded_requests_are_counted_within_a_few_percent() -> None:
    errors = summarize(list(_requests()))["median_error"]
    assert errors["after"] <= 0.035
    assert errors["after"] < errors["o200k"] / 5


def test_the_growth_of_a_recorded_session_is_counted_within_a_few_percent() -> None:
    errors = summarize(list(_deltas()))["median_error"]
    assert errors["after"] <= 0.03
    assert errors["after"] < errors["chars*2/5"] / 4


def test_the_guarantee_undercounts_at_most_one_record_in_a_hundred() -> None:
    samples = [*_requests(), *_deltas()]
    assert sum(sample.undercounts for sample in samples) <= len(samples) * 0.01


def test_openai_chat_without_tools_is_counted_exactly_in_the_middle() -> None:
    plain = [each for each in _requests() if each.group == "openai openai" and each.model.startswith("gpt-4")]
    assert summarize(plain)["median_error"]["before"] <= 0.02


def test_images_are_counted_within_a_few_percent() -> None:
    samples = measure(text_parts(read_jsonl(data_dir("token_truth") / "images.jsonl.gz")))
    assert summarize(samples)["median_error"]["before"] <= 0.04
    assert sum(each.undercounts for each in samples) <= 1


def test_no_set_of_claudes_counts_is_above_a_bound_learned_from_the_other_sets() -> None:
    rows = judge(read_sets())
    assert len(rows) >= 5
    assert [(row["set"], row["under"], row["under_left_out"]) for row in rows] == [
        (row["set"], 0, 0) for row in rows
    ]


def test_a_large_window_of_claude_is_bounded_an_eighth_above_its_bill_at_most() -> None:
    windows = judge_windows(read_session()[1])
    assert windows["under"] == 0
    assert windows["overhead"] <= 1.125
    assert windows["overhead_calibrated"] <= windows["overhead"]
