"""What preflight is worth on messages of others, and that its time is in proportion to a message."""

import pytest

from benchmarks import preflight as benchmark
from context.preflight.config import PreflightRules
from context.preflight.decide import classify
from tests.data import data_dir
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.linear.texts import Shape


@pytest.mark.data
def test_on_messages_of_others_little_is_harmed_and_much_is_saved() -> None:
    data_dir("preflight")
    data_dir("helmdeck")
    tools, asked = benchmark.tool_names(), benchmark.labelled()
    ours = benchmark.by_preflight(tools, PreflightRules())
    for half in (0, 1):
        graded = benchmark.grade([one for one in asked if one.half == half], ours, tools)
        assert graded["harm"] <= benchmark.WANTED_HARM
        assert graded["saving"] >= benchmark.WANTED_SAVING
        assert all(cell["recall"] >= 0.6 for cell in graded["categories"].values())


@pytest.mark.data
def test_no_source_of_messages_is_harmed_by_words_that_others_speak_for() -> None:
    data_dir("preflight")
    data_dir("helmdeck")
    for row in benchmark.left_out(benchmark.labelled(), benchmark.tool_names()):
        assert max(row["harm"], row["harm seen"]) <= benchmark.WANTED_HARM, row["left out"]


@pytest.mark.data
def test_in_other_scripts_nearly_nothing_is_harmed() -> None:
    data_dir("multilingual")
    data_dir("helmdeck")
    tools = benchmark.tool_names()
    graded = benchmark.grade(benchmark.multilingual(), benchmark.by_preflight(tools, PreflightRules()), tools)
    assert graded["harm"] <= benchmark.WANTED_HARM


HOSTILE = (
    *(
        "a",
        "!?",
        "a.",
        "/",
        "'",
        "a'",
        " ",
        "- x\n",
        "1. ",
        "```",
        "好",
        "가",
        "ولل",
        "e\u0301",
        "\U0001f44d",
    ),
    *(" ".join(f"q{place:x}z" for place in range(2_000)), "what is the how do you ", "$a$b "),
)


@pytest.mark.parametrize("unit", HOSTILE, ids=[repr(unit)[:12] for unit in HOSTILE])
def test_no_text_takes_long(unit: str) -> None:
    assert grows_in_proportion(classify, Shape(unit).text)
