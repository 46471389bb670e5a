"""What a chat's request began with, written again from the log: the same to the last byte, or not at all."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from context.conversation.transcript import participants, render_transcript
from context.conversation.turns import split_turns
from context.summary.prompt import SummaryInput, riding_message
from context.tokens import measure_tools
from context.tokens.budget import Budget
from context.types import JsonObject, Message, Wire
from context.window.assemble import ActiveSummary, build_messages
from context.window.prefix_reuse import ChatPrefix, caches_by_itself, find_ride, prefix_of, ride_messages
from context.window.types import Window, WindowRequest
from tests.unit.histories import answers, calls, number, says, whole_histories
from tests.unit.windows import TOOLS, ask, counted, request, requests

NOTES = ActiveSummary(3, 1, 4, "They agreed on Friday.")
ROOMY = {"window": 60_000, "output": 500}
TALK = number(
    [
        *(says("user", "Where is pallet 7?"), *calls(["c1", "c2"]), *answers(["c1"]), *answers(["c2"])),
        *(
            says("assistant", "In hall 2."),
            says("user", "Move it </transcript> now."),
            says("assistant", "Done."),
        ),
    ],
    5,
)


def sent(asked: WindowRequest, tools: list[JsonObject] | None = None) -> tuple[Window, ChatPrefix | None]:
    window = build_messages(asked)
    return window, prefix_of(asked, window, tools or [])


def chat(tail: list[Message] = TALK, notes: ActiveSummary | None = NOTES) -> WindowRequest:
    system = says("system", "Mind the rain.")
    return request(tail, system=system, notes=notes, tools=measure_tools(TOOLS), **ROOMY)


def asked_of(messages: list[Message], previous: str | None = None) -> SummaryInput:
    lines = render_transcript(messages)
    return SummaryInput(lines, 300, "en", previous, participants(lines))


@settings(max_examples=40)
@given(requests())
def test_what_is_ridden_is_what_the_chat_sent(drawn: tuple[WindowRequest, list[JsonObject]]) -> None:
    asked, tools = drawn
    try:
        window, prefix = sent(asked, tools)
    except Exception:  # noqa: BLE001 - what cannot be sent is the assembler's subject
        return
    if prefix is None:
        return
    notes = asked.notes if prefix.notes_version else None
    messages = [one for one in asked.tail if prefix.from_seq <= one.seq <= prefix.to_seq]
    for turn in split_turns(messages):
        ride = find_ride(prefix, notes, messages, up_to_seq=turn.last_seq)
        if ride is None:  # a broken pair or a shortened result: the chat sent other words than are stored
            continue
        assert window.items[: len(ride.items)] == ride.items
        assert all(m.raw not in ride.items for m in asked.new if m.raw not in {one.raw for one in messages})


@settings(max_examples=25)
@given(whole_histories())
def test_every_chat_of_whole_turns_that_fits_is_ridden_up_to_each_of_them(tail: list[Message]) -> None:
    window, prefix = sent(chat(tail), TOOLS)
    assert prefix is not None
    messages = [one for one in counted(tail) if prefix.from_seq <= one.seq <= prefix.to_seq]
    for turn in split_turns(messages):
        ride = find_ride(prefix, NOTES, messages, up_to_seq=turn.last_seq)
        assert ride is not None
        assert window.items[: len(ride.items)] == ride.items


@settings(max_examples=25)
@given(whole_histories(), st.data())
def test_a_message_that_says_something_else_is_never_ridden(tail: list[Message], data: st.DataObject) -> None:
    _, prefix = sent(chat(tail))
    if prefix is None:
        return
    messages = [one for one in counted(tail) if prefix.from_seq <= one.seq <= prefix.to_seq]
    place = data.draw(st.integers(0, len(messages) - 1))
    messages[place] = replace(says("user", "something else that nobody said"), seq=messages[place].seq)
    assert find_ride(prefix, NOTES, messages, up_to_seq=prefix.to_seq) is None


def test_a_roomy_chat_is_ridden_to_the_end_of_any_of_its_turns() -> None:
    window, prefix = sent(chat(), TOOLS)
    assert prefix is not None
    assert (prefix.from_seq, prefix.to_seq, prefix.notes_version) == (5, 11, 3)
    whole = find_ride(prefix, NOTES, TALK, up_to_seq=11)
    first = find_ride(prefix, NOTES, TALK, up_to_seq=9)
    assert whole is not None
    assert first is not None
    assert whole.items == window.items[:9]
    assert first.items == window.items[:7]
    assert whole.tools == tuple(TOOLS)


def test_other_notes_another_prompt_or_other_tools_are_another_prefix() -> None:
    _, prefix = sent(chat(), TOOLS)
    assert prefix is not None
    others = (
        find_ride(prefix, replace(NOTES, text="They agreed on Monday."), TALK, up_to_seq=11),
        find_ride(prefix, None, TALK, up_to_seq=11),
        find_ride(replace(prefix, system=None), NOTES, TALK, up_to_seq=11),
        find_ride(replace(prefix, tools=()), NOTES, TALK, up_to_seq=11),
    )
    assert others == (None, None, None, None)


def test_a_turn_that_goes_on_is_no_part_of_it() -> None:
    waiting = number([*TALK, says("user", "And pallet 8?"), *calls(["c9"])], 5)
    asked = replace(chat(waiting), new=counted(answers(["c9"])))
    _, prefix = sent(asked)
    assert prefix is not None
    assert prefix.to_seq == 11


def test_a_call_that_was_never_answered_is_left_out_on_both_ways() -> None:
    """The assembler takes it out of the window, so that the beginning of the chat has it no more."""
    talk = number([says("user", "And 8?"), *calls(["c9"], "I look."), *TALK])
    window, prefix = sent(chat(talk))
    assert prefix is not None
    ride = find_ride(prefix, NOTES, counted(talk), up_to_seq=prefix.to_seq)
    assert ride is not None
    assert ride.items == window.items[: len(ride.items)]
    assert "c9" not in "".join(ride.items)


def test_a_window_that_says_other_words_than_its_messages_is_no_prefix() -> None:
    asked = chat()
    window, prefix = sent(asked, TOOLS)
    assert prefix is not None
    altered = replace(window, items=(window.items[0], *window.items[2:]))
    assert prefix_of(asked, altered, TOOLS) is None


def test_other_formats_are_not_ridden() -> None:
    said = number([says("user", "Hello.", Wire.ANTHROPIC), says("assistant", "Hello.", Wire.ANTHROPIC)])
    asked = request(said, wire=Wire.ANTHROPIC, new=ask(wire=Wire.ANTHROPIC), **ROOMY)
    assert sent(asked)[1] is None


def test_results_that_were_shortened_to_fit_are_not_ridden() -> None:
    long = number(
        [
            says("user", "look"),
            *calls(["c1"]),
            *answers(["c1"], "row of figures\n" * 9_000),
            says("assistant", "so"),
        ]
    )
    asked = replace(request(long), budget=Budget(8_000, 500))
    window, prefix = sent(asked)
    assert len(window.items) > 1
    stored = counted(long)
    assert prefix is None or find_ride(prefix, None, stored, up_to_seq=prefix.to_seq) is None


def test_the_instruction_comes_last_and_lists_the_messages_with_their_speakers() -> None:
    _, prefix = sent(chat())
    assert prefix is not None
    ride = find_ride(prefix, NOTES, TALK, up_to_seq=9)
    assert ride is not None
    messages = ride_messages(ride, asked_of(TALK[:5], NOTES.text), base_version=3)
    assert [json.dumps(m, ensure_ascii=False) for m in messages[:-1]] == [
        json.dumps(json.loads(item), ensure_ascii=False) for item in ride.items
    ]
    said = messages[-1]["content"]
    assert messages[-1]["role"] == "user"
    assert "update the previous notes with messages 5 to 9" in said
    assert "[5] user: Where is pallet 7?" in said
    assert NOTES.text not in said
    assert NOTES.text in ride_messages(ride, asked_of(TALK[:5], NOTES.text), base_version=4)[-1]["content"]


def test_nothing_that_was_said_closes_the_list() -> None:
    said = riding_message(asked_of(TALK))["content"]
    assert said.count("</transcript>") == 1


def test_models_whose_cache_needs_marks_are_told_apart() -> None:
    assert caches_by_itself("openai/gpt-4o-mini")
    assert caches_by_itself("deepseek/deepseek-chat")
    assert not caches_by_itself("openrouter/anthropic/claude-haiku-4.5")
