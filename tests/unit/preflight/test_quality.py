"""What preflight is worth on messages of others, and that its time is bounded."""

import time

import pytest

from benchmarks import preflight as benchmark
from context.preflight.classify import classify
from context.preflight.config import PreflightConfig
from tests.data import data_dir


@pytest.mark.data
def test_on_messages_of_others_little_is_harmed_and_much_is_saved() -> None:
    data_dir("preflight")
    data_dir("helmdeck")
    tools, asked = benchmark.tool_names(), benchmark.labelled()
    ours = benchmark.by_preflight(tools, PreflightConfig())
    for half in (0, 1):
        graded = benchmark.grade([one for one in asked if one.half == half], ours, tools)
        assert graded["harm"] <= benchmark.WANTED_HARM
        assert graded["saving"] >= benchmark.WANTED_SAVING
        assert all(cell["recall"] >= 0.6 for cell in graded["categories"].values())


@pytest.mark.data
def test_in_other_scripts_nearly_nothing_is_harmed() -> None:
    data_dir("multilingual")
    data_dir("helmdeck")
    tools = benchmark.tool_names()
    graded = benchmark.grade(
        benchmark.multilingual(), benchmark.by_preflight(tools, PreflightConfig()), tools
    )
    assert graded["harm"] <= benchmark.WANTED_HARM


HOSTILE = {
    "one word": "a" * 10_000,
    "marks": "!?" * 5_000,
    "dots": "a." * 5_000,
    "slashes": "/" * 10_000,
    "quotes": "'" * 10_000,
    "apostrophes": "a'" * 5_000,
    "blanks": " " * 10_000,
    "lines": "- x\n" * 2_500,
    "digits": "1. " * 3_333,
    "fences": "```" * 3_333,
    "han": "好" * 10_000,
    "hangul": "가" * 10_000,
    "arabic": "ولل" * 3_333,
    "accents": "e\u0301" * 5_000,
    "emoji": "\U0001f44d" * 10_000,
    "new words": " ".join(f"q{place:x}z" for place in range(2_000)),
    "phrases": "what is the how do you " * 450,
    "dollars": "$a$b " * 2_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_takes_long(text: str) -> None:
    """The bound is far above what it takes, and far below what a pattern that backtracks would."""
    began = time.thread_time()
    classify(text)
    assert time.thread_time() - began < 0.05


def test_a_longer_text_takes_no_longer_than_the_part_that_is_read() -> None:
    def spent(text: str) -> float:
        began = time.thread_time()
        classify(text)
        return time.thread_time() - began

    short, long = "fix the bug and go on " * 200, "fix the bug and go on " * 20_000
    assert min(spent(long) for _ in range(5)) < 5 * min(spent(short) for _ in range(5)) + 0.002
