"""Ids used again in a later turn, fields that a stream leaves in blocks, sounds, screenshots, Gemma."""

from typing import Any

import pytest

from context.shape.check import check_shape
from context.shape.rule_names import ShapeRule, parts_of
from context.shape.target import target_of
from context.types import JsonObject, Wire
from context.wire import check_pairs
from tests.unit.shape.windows import HELLO, call, calling, lay, result, said, sent

WORDS: JsonObject = {"type": "text", "text": "listen"}
SOUND: JsonObject = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
SHOT: JsonObject = {"type": "image_url", "image_url": {"url": "https://a.invalid/1.png"}}


@pytest.mark.parametrize("call_id", ["call_0", "functions.look:0", "a" * 9, "x" * 70])
@pytest.mark.parametrize(
    "model", ["mistral-large-latest", "gpt-4o", "openrouter/anthropic/claude-sonnet-4.5", "deepseek-chat"]
)
@pytest.mark.parametrize("times", [2, 5])
def test_an_id_used_in_every_turn_stays_one_that_is_taken(call_id: str, model: str, times: int) -> None:
    turn = [HELLO, calling(call(call_id)), result(call_id), said()]
    window = lay(turn * times, model)
    assert window.certificate.accepted_shape.accepted, window.certificate.accepted_shape.faults
    items = sent(window)
    assert check_pairs(items, Wire.OPENAI) == []
    called = [one["id"] for body in items for one in body.get("tool_calls", ())]
    assert [body["tool_call_id"] for body in items if body["role"] == "tool"] == called
    assert all(target_of(Wire.OPENAI, model).takes_id(one) for one in called)


BLOCKS: list[tuple[str, JsonObject, JsonObject]] = [
    ("assistant", {"type": "text", "text": "b", "index": 0}, {"type": "text", "text": "b"}),
    (
        "assistant",
        {"type": "tool_use", "id": "t1", "name": "look", "input": {}, "partial_json": "{}"},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
    ),
    (
        "user",
        {"type": "tool_result", "tool_use_id": "t1", "name": "look", "content": [{**WORDS, "id": "p1"}]},
        {"type": "tool_result", "tool_use_id": "t1", "content": [WORDS]},
    ),
    (
        "assistant",
        {"type": "thinking", "thinking": "hm", "signature": "SIG", "index": 1},
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
    ),
    ("user", {"type": "text", "text": "c", "id": "p2"}, {"type": "text", "text": "c"}),
]


def test_blocks_go_to_claude_without_fields_that_it_refuses() -> None:
    talk: list[Any] = [
        HELLO,
        {"role": "assistant", "content": [BLOCKS[3][1], BLOCKS[0][1], BLOCKS[1][1]]},
        {"role": "user", "content": [BLOCKS[2][1], BLOCKS[4][1]]},
        {"role": "assistant", "content": "Done."},
    ]
    window = lay(talk, "claude-sonnet-4-5", Wire.ANTHROPIC)
    found = [block for body in sent(window) if isinstance(body["content"], list) for block in body["content"]]
    assert found == [BLOCKS[at][2] for at in (3, 0, 1, 2, 4)]
    assert ShapeRule.KNOWN_FIELDS in window.certificate.accepted_shape.rules
    assert window.certificate.losses
    assert check_shape(talk, target_of(Wire.ANTHROPIC, "claude-sonnet-4-5"))


def test_fields_that_claude_knows_stay() -> None:
    cited = {"type": "text", "text": "b", "citations": [{"type": "char_location", "cited_text": "x"}]}
    called = {
        "type": "tool_use",
        "id": "t1",
        "name": "look",
        "input": {"index": 1},
        "caller": {"type": "direct"},
    }
    talk: list[Any] = [
        HELLO,
        {"role": "assistant", "content": [cited, called]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": False}],
        },
        {"role": "assistant", "content": "Done."},
    ]
    assert sent(lay(talk, "claude-sonnet-4-5", Wire.ANTHROPIC))[:4] == talk


@pytest.mark.parametrize(
    ("model", "hears"),
    [
        ("gpt-4o-audio-preview", True),
        ("gemini-2.5-flash", True),
        ("qwen3-omni-flash", True),
        ("voxtral-small", True),
        ("my-own-model", True),
        ("gpt-4o", False),
        ("mistral-large-latest", False),
        ("grok-4", False),
        ("openrouter/anthropic/claude-sonnet-4.5", False),
    ],
)
def test_sounds_of_history_go_to_models_that_hear(model: str, hears: bool) -> None:
    window = lay([{"role": "user", "content": [WORDS, SOUND]}, said()], model)
    kinds = [part["type"] for part in sent(window)[0]["content"]]
    assert kinds == (["text", "input_audio"] if hears else ["text", "text"])
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize(
    "model", ["qwen3-max", "grok-4", "groq/llama-3.3-70b", "gemma-3-27b", "amazon/nova-pro-v1"]
)
def test_pictures_in_results_follow_them_where_results_are_words(model: str) -> None:
    turn = [HELLO, calling(call("a")), result("a", [WORDS, SHOT]), said()]
    window = lay(turn, model)
    items = sent(window)
    assert all(part["type"] == "text" for body in items if body["role"] == "tool" for part in body["content"])
    assert SHOT in [part for body in items if body["role"] == "user" for part in parts_of(body)]
    assert window.certificate.accepted_shape.accepted
    assert check_shape(turn, target_of(Wire.OPENAI, model))


def test_a_screenshot_becomes_a_note_for_a_model_that_sees_nothing() -> None:
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,QUJD"}
    action = {"type": "click", "x": 1, "y": 2, "button": "left"}
    talk: list[Any] = [
        HELLO,
        {"type": "computer_call", "id": "cu_1", "call_id": "c1", "status": "completed", "action": action},
        {"type": "computer_call_output", "call_id": "c1", "output": shot},
    ]
    window = lay(talk, "deepseek-chat", stored_in=Wire.RESPONSES)
    assert window.certificate.accepted_shape.accepted, window.certificate.accepted_shape.faults
    assert "image_url" not in "".join(window.items)
    assert [one.what for one in window.certificate.excluded] == ["image of message 3"]


@pytest.mark.parametrize(("model", "goes"), [("gemini-3-pro", True), ("gemma-3-27b", False)])
def test_geminis_thought_signature_does_not_go_to_gemma(model: str, goes: bool) -> None:
    signed = call("c1", extra_content={"google": {"thought_signature": "SIG"}})
    window = lay([HELLO, calling(signed), result("c1"), said()], model, made_by="gemini-3-pro")
    assert ("SIG" in "".join(window.items)) is goes
