"""Every rule is on the page that says whom it concerns; a window is looked at in time with its length."""

from context.shape.rule_names import ShapeRule
from context.types import Wire
from tests.data import ROOT
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.shape.windows import HELLO, call, calling, lay, result, said


def test_every_rule_stands_on_the_page_with_its_source() -> None:
    page = (ROOT / "docs/reference/provider-shapes.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert {row.split("`")[1] for row in rows} == set(ShapeRule)
    assert all(row.rstrip("| ").rpartition("|")[2].strip() for row in rows)


def test_four_times_the_messages_take_about_four_times_the_time() -> None:
    turn = [
        HELLO,
        calling(call("call_1", arguments='{"q":"x"}')),
        result("call_1"),
        said([{"type": "text", "text": "a"}]),
    ]

    assert grows_in_proportion(lambda text: lay(turn * (len(text) // 20), "gpt-4o", Wire.OPENAI), "x".__mul__)
