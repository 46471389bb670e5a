"""What OpenAI alone knows is written for other providers as they take it."""

import json
from typing import Any

import pytest

from context.shape.check import check_shape
from context.shape.rules import Rule
from context.shape.target import target_of
from context.types import JsonObject, Wire
from context.wire import check_pairs
from context.wire.neutral import LossKind
from tests.unit.shape.windows import HELLO, call, calling, lay, result, said, sent

CHAT, GPT = Wire.OPENAI, "gpt-4o"
OTHERS = [
    "mistral-large-latest",
    "gemini-2.5-pro",
    "deepseek-chat",
    "anthropic/claude-sonnet-4-5",
    "qwen3-32b",
]
FREE: JsonObject = {"id": "aaaaaaaaa", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
OLD: JsonObject = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
SEEN: JsonObject = {"role": "function", "name": "look", "content": "seen"}


@pytest.mark.parametrize("model", OTHERS)
def test_a_free_form_call_is_one_of_a_function_for_other_providers(model: str) -> None:
    bodies = [HELLO, calling(FREE), result("aaaaaaaaa"), said()]
    window = lay(bodies, model)
    (made,) = sent(window)[1]["tool_calls"]
    assert made["type"] == "function"
    assert json.loads(made["function"]["arguments"]) == {"input": "*** Begin"}
    assert "custom" not in made
    assert LossKind.ARGUMENTS in {loss.kind for loss in window.certificate.losses}
    assert check_shape(bodies, target_of(CHAT, model)) != []
    assert window.certificate.accepted_shape.accepted
    assert sent(lay(bodies, GPT))[1]["tool_calls"] == [FREE]


@pytest.mark.parametrize("model", OTHERS)
@pytest.mark.parametrize("stored", [3, 2])
def test_calls_of_the_older_shape_become_todays_on_both_sides(model: str, stored: int) -> None:
    bodies = [HELLO, OLD, SEEN]
    window = lay(bodies[:stored], model, new=[*bodies[stored:], said()] if stored == 2 else [said(), HELLO])
    made, answer = sent(window)[1], sent(window)[2]
    assert made["tool_calls"][0]["function"] == OLD["function_call"]
    assert (answer["role"], answer["content"]) == ("tool", "seen")
    assert made["tool_calls"][0]["id"] == answer["tool_call_id"]
    assert "function_call" not in made
    assert "name" not in answer
    assert check_pairs(sent(window), CHAT) == []
    assert window.certificate.tool_pairs_intact
    assert window.certificate.accepted_shape.accepted
    assert Rule.CALL_SHAPE in window.certificate.accepted_shape.rules
    assert check_shape(bodies, target_of(CHAT, model)) != []


def test_calls_of_the_older_shape_stay_for_openai_and_repeat_elsewhere() -> None:
    assert sent(lay([HELLO, OLD, SEEN, said()], GPT))[1:3] == [OLD, SEEN]
    window = lay([HELLO, OLD, SEEN, OLD, SEEN, said()], "gemini-2.5-pro")
    assert check_pairs(sent(window), CHAT) == []
    assert [body["role"] for body in sent(window)] == [
        *("user", "assistant", "tool", "assistant", "tool", "assistant", "user")
    ]


@pytest.mark.parametrize("model", OTHERS)
@pytest.mark.parametrize(
    "beside", [{"refusal": "I will not."}, {"audio": {"id": "audio_1", "transcript": "I will not."}}]
)
@pytest.mark.parametrize("content", [None, ""])
def test_words_beside_the_content_become_the_content(model: str, beside: JsonObject, content: Any) -> None:
    bodies = [HELLO, said(content, **beside), HELLO, said()]
    window = lay(bodies, model)
    assert sent(window)[1] == {"role": "assistant", "content": "I will not."}
    assert window.certificate.accepted_shape.accepted
    assert check_shape(bodies, target_of(CHAT, model)) != []
    assert sent(lay(bodies, GPT))[1] == bodies[1]


def test_a_spoken_answer_without_its_words_is_left_out_for_other_providers() -> None:
    window = lay([HELLO, said(None, audio={"id": "audio_1"}), HELLO, said()], "gemini-2.5-pro")
    assert check_pairs(sent(window), CHAT) == []
    assert LossKind.MEDIA in {loss.kind for loss in window.certificate.losses}


def test_a_transcript_goes_into_other_formats() -> None:
    bodies = [HELLO, said(None, audio={"id": "audio_1", "transcript": "Hello there."})]
    window = lay(bodies, "claude-sonnet-4-5", Wire.ANTHROPIC, stored_in=CHAT, new=[HELLO])
    assert "Hello there." in json.dumps(sent(window))


def test_a_call_of_today_stays_the_same_beside_one_of_the_older_shape() -> None:
    both = calling(call("call_1", "find"), function_call={"name": "look", "arguments": "{}"})
    window = lay([HELLO, both, result("call_1"), SEEN, said()], "gemini-2.5-pro")
    names = [each["function"]["name"] for each in sent(window)[1]["tool_calls"]]
    assert names == ["find", "look"]
    assert check_pairs(sent(window), CHAT) == []
