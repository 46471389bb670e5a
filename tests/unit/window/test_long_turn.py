"""A finished turn with more steps than its window holds: words, newest steps and answer stay."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.types import Message, Wire
from context.window.assemble import ActiveSummary, build_messages
from context.window.ending import NOTE
from tests.unit.histories import answers, calls, number, says
from tests.unit.windows import check_window, leaves_out_steps, request, texts_of

STEPS = 100


def agent_turn(steps: int = STEPS, wire: Wire = Wire.OPENAI, *, seq: int = 1, row: int = 90) -> list[Message]:
    """The turn of an agent: a task, calls with results, and an answer."""
    made = [says("user", "Count the crates of hall seven.", wire)]
    for place in range(steps):
        made += [
            *calls([f"c{place}"], "", wire),
            *answers([f"c{place}"], f"row {place} " + "of crates " * row, wire),
        ]
    return number([*made, says("assistant", "There are 117 crates.", wire)], seq)


@pytest.mark.parametrize("wire", Wire)
def test_a_long_finished_turn_keeps_its_task_its_newest_steps_and_its_answer(wire: Wire) -> None:
    turn = agent_turn(wire=wire)
    asked = request(turn, wire=wire)
    window = build_messages(asked)
    shown = texts_of(window)
    assert "Count the crates of hall seven." in shown
    assert "There are 117 crates." in shown
    assert f"row {STEPS - 1} " in shown
    assert NOTE in shown
    assert "row 0 " not in shown
    assert window.certificate.input_tokens > asked.budget.input_tokens * 0.6
    check_window(asked, window, [])


def test_the_omitted_steps_are_named_once_with_their_tokens() -> None:
    window = build_messages(request(agent_turn()))
    gone = [one for one in window.certificate.excluded if one.why == "does-not-fit"]
    assert [one.what.split("-")[0] for one in gone] == ["messages 2"]
    assert (gone[0].tokens or 0) > 3_000
    last = int(gone[0].what.split("-")[1])
    assert window.certificate.tail == (1, 2 * STEPS + 2)
    kept = [message.seq for message in window.messages if message.seq]
    assert kept == [1, *range(last + 1, 2 * STEPS + 3)]
    assert leaves_out_steps(window.certificate)
    assert not window.certificate.tail_contiguous


def test_a_turn_that_fits_with_shorter_results_keeps_every_step() -> None:
    window = build_messages(request(agent_turn(20, row=300)))
    assert NOTE not in texts_of(window)
    assert window.certificate.tail == (1, 42)
    assert window.certificate.tail_contiguous


def test_older_turns_are_left_out_where_the_newest_is_shortened() -> None:
    before = agent_turn(1)
    window = build_messages(request([*before, *agent_turn(seq=len(before) + 1)]))
    assert window.certificate.tail is not None
    assert window.certificate.tail[0] == len(before) + 1
    assert window.certificate.excluded[0].what == f"messages 1-{len(before)}"


@given(
    wire=st.sampled_from(Wire),
    steps=st.integers(1, 60),
    window=st.integers(700, 9_000),
    text=st.sampled_from(("", "They agreed.")),
)
def test_every_window_after_a_long_turn_keeps_the_promises_of_its_certificate(
    wire: Wire, steps: int, window: int, text: str
) -> None:
    notes = ActiveSummary(1, 1, 9, text) if text else None
    asked = request(agent_turn(steps, wire, seq=10), window=window, output=100, wire=wire, notes=notes)
    built = build_messages(asked)
    check_window(asked, built, [])
    if built.certificate.tail:
        assert "117 crates" in json.dumps(built.items)
