"""A conversation keeps its steps, and their results become artifacts."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from context.artifacts.split import split_results
from context.artifacts.steps import (
    ConversationMessage,
    ReasoningStepRecord,
    all_artifacts,
    document_artifact,
    extract_artifacts_from_messages,
    extract_artifacts_from_steps,
    read_accesses,
    read_conversation,
)
from context.artifacts.superseded import Reason, find_superseded
from context.artifacts.toolcalls import read_calls
from context.artifacts.types import ArtifactType, ContentKind
from context.tokens import count_text
from context.types import Message, Wire
from tests.unit.artifacts.results import LONG
from tests.unit.histories import answers, calls, number, says

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def turn(wire: Wire = Wire.OPENAI, text: str = "found") -> list[Message]:
    """A user asks, two tools are called in parallel, the assistant answers."""
    asked = [says("user", "look", wire), *calls(["c1", "c2"], wire=wire)]
    return number([*asked, *answers(["c1", "c2"], text, wire), says("assistant", "done", wire)])


def step(output: str, tool: str = "web_scraper", place: int = 1) -> ReasoningStepRecord:
    return ReasoningStepRecord(place, tool, '{"url": "https://e.org"}', output, f"c{place}", place)


@pytest.mark.parametrize("wire", Wire)
def test_the_steps_belong_to_the_words_that_they_led_to(wire: Wire) -> None:
    asked, answered = read_conversation(turn(wire))
    assert (asked.role, asked.content, asked.reasoning_steps) == ("user", "look", ())
    assert (answered.role, answered.content) == ("assistant", "done")
    assert [(one.step, one.tool, one.output) for one in answered.reasoning_steps] == [
        (1, "look", "found"),
        (2, "look", "found"),
    ]
    assert answered.sequence_number == turn(wire)[-1].seq


def test_steps_of_an_open_turn_stand_without_words() -> None:
    asked, waiting = read_conversation(turn()[:-1])
    assert asked.content == "look"
    assert (waiting.role, waiting.content, waiting.sequence_number) == ("assistant", "", 4)
    assert len(waiting.reasoning_steps) == 2


def test_steps_that_a_user_interrupts_stay_before_the_interruption() -> None:
    messages = number([*turn()[:-1], says("user", "stop"), says("assistant", "ok")])
    assert [(one.role, len(one.reasoning_steps)) for one in read_conversation(messages)] == [
        ("user", 0),
        ("assistant", 2),
        ("user", 0),
        ("assistant", 0),
    ]


def test_messages_without_tools_have_no_steps() -> None:
    messages = number([says("system", "be kind"), says("user", "hi"), says("assistant", "hello")])
    assert [one.reasoning_steps for one in read_conversation(messages)] == [()] * len(messages)
    assert read_conversation([]) == []


def test_no_steps_give_no_artifacts() -> None:
    assert extract_artifacts_from_steps([], timestamp=NOW) == []
    assert extract_artifacts_from_steps([step("")], timestamp=NOW) == []


def test_one_step_gives_one_artifact() -> None:
    (artifact,) = extract_artifacts_from_steps([step("words")], timestamp=NOW)
    assert artifact.source == "step_1:web_scraper"
    assert artifact.artifact_type is ArtifactType.TOOL_RESULT
    assert (artifact.size_chars, artifact.tokens, artifact.content) == (5, count_text("words"), "words")
    assert (artifact.timestamp, artifact.is_historical) == (NOW, False)
    assert artifact.metadata["subject"] == "url:https://e.org\nweb_scraper"


def test_several_steps_give_artifacts_with_ids_of_their_own() -> None:
    steps = [step(f"words {place}", place=place) for place in range(1, 6)]
    found = extract_artifacts_from_steps(steps, timestamp=NOW)
    assert len({artifact.artifact_id for artifact in found}) == 5


def test_the_same_content_is_one_artifact_of_its_last_step() -> None:
    steps = [step("same", place=1), step("other", place=2), step("same", place=3)]
    found = extract_artifacts_from_steps(steps, timestamp=NOW)
    assert [artifact.source for artifact in found] == ["step_2:web_scraper", "step_3:web_scraper"]


def test_results_of_earlier_turns_are_historical() -> None:
    said = ConversationMessage("assistant", "done", (step("words", "web_search"),), 3)
    (artifact,) = extract_artifacts_from_messages([said], timestamp=NOW)
    assert artifact.source == "history:msg_3:web_search"
    assert artifact.metadata["historical"] is True
    assert artifact.is_historical


def test_short_results_can_be_left_out() -> None:
    assert extract_artifacts_from_steps([step("1234")], timestamp=NOW, least_chars=5) == []


def split_turn(messages: Sequence[Message]) -> tuple[list[Message], str]:
    known = read_calls(messages)
    split = [split_results(message, least_chars=1000, calls=known) for message in messages]
    (content,) = {artifact.content for one in split for artifact in one.artifacts}
    return [one.message for one in split], content


@pytest.mark.parametrize("wire", Wire)
def test_a_pointer_is_the_stored_artifact(wire: Wire) -> None:
    messages, content = split_turn(turn(wire, LONG))
    stored = document_artifact(content, timestamp=NOW)
    conversation = read_conversation(messages)
    (artifact,) = extract_artifacts_from_messages(
        conversation, timestamp=NOW, stored={stored.artifact_id: stored}
    )
    assert artifact.content == LONG
    assert artifact.source == f"history:msg_{messages[-1].seq}:look"


def test_a_pointer_to_what_is_not_stored_is_no_artifact() -> None:
    messages, _ = split_turn(turn(text=LONG))
    assert extract_artifacts_from_messages(read_conversation(messages), timestamp=NOW) == []


def test_a_document_is_an_artifact() -> None:
    made = document_artifact('{"a": 1}', timestamp=NOW, title="Report", source="report.json")
    assert (made.source, made.title, made.kind) == ("attachment:report.json", "Report", ContentKind.JSON)
    assert made.artifact_type is ArtifactType.DOCUMENT
    assert document_artifact("x", timestamp=NOW, kind=ContentKind.HTML).kind is ContentKind.HTML


def test_all_sources_come_together_and_what_is_attached_is_not_historical() -> None:
    current = extract_artifacts_from_steps([step("one")], timestamp=NOW)
    said = ConversationMessage(
        "assistant", "", (step("two"), step("three", place=2), step("one", place=3)), 7
    )
    historical = extract_artifacts_from_messages([said], timestamp=NOW)
    attached = [document_artifact("two", timestamp=NOW, title="Two"), document_artifact("4", timestamp=NOW)]
    together = all_artifacts(current, historical, attached)
    assert [(artifact.content, artifact.is_historical) for artifact in together] == [
        ("one", False),
        ("two", False),
        ("three", True),
        ("4", False),
    ]
    assert all_artifacts([], [], []) == []


def test_the_accesses_of_messages_tell_old_readings() -> None:
    messages, _ = split_turn(number([*turn(text=LONG), *turn(text=LONG)]))
    accesses = read_accesses(messages)
    assert [access.seq for access in accesses] == [3, 4, 8, 9]
    assert {old.reason for old in find_superseded(accesses).values()} == {Reason.READ_AGAIN}
