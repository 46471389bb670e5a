"""Messages of every shape and wire format are counted, and none makes counting fail."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.tokens import (
    MESSAGE_OVERHEAD,
    Count,
    count_message,
    count_text,
    measure_message,
    media_correction,
    total,
)
from context.tokens.message import EMPTY
from context.types import Wire

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + bytes(30_000)
).decode()
DATA_URL = f"data:image/png;base64,{PNG}"
ONE_IMAGE = 85 + 170 * 2


def test_a_plain_message_costs_its_text_and_its_wrapping() -> None:
    assert count_message({"role": "user", "content": "hello world"}) == 2 + MESSAGE_OVERHEAD


def test_a_name_and_reasoning_are_counted() -> None:
    plain = count_message({"role": "user", "content": "hello"})
    assert count_message({"role": "user", "content": "hello", "name": "alice"}) > plain
    assert (
        count_message({"role": "assistant", "content": "hello", "reasoning_content": "Let me think."}) > plain
    )


def test_a_tool_call_costs_its_name_and_arguments_but_not_its_id() -> None:
    def call(call_id: str, arguments: str) -> dict[str, Any]:
        function = {"name": "search", "arguments": arguments}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": function}]}

    assert count_message(call("call_0", "{}")) == count_message(call("call_" + "x" * 500, "{}"))
    assert count_message(call("c", '{"query": "a long question"}')) > count_message(call("c", "{}"))


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (Wire.OPENAI, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": DATA_URL}}]}),
        (
            Wire.ANTHROPIC,
            {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": PNG}}]},
        ),
        (Wire.RESPONSES, {"role": "user", "content": [{"type": "input_image", "image_url": DATA_URL}]}),
        (
            Wire.ANTHROPIC,
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": [{"type": "image", "source": {"type": "base64", "data": PNG}}],
                    }
                ],
            },
        ),
    ],
)
def test_an_image_costs_its_pixels_in_every_wire_format(wire: Wire, body: dict[str, Any]) -> None:
    assert ONE_IMAGE <= count_message(body, wire) <= ONE_IMAGE + 20


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (
            Wire.ANTHROPIC,
            {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {"q": "words"}}]},
        ),
        (
            Wire.RESPONSES,
            {"type": "function_call", "name": "f", "arguments": '{"q":"words"}', "call_id": "c"},
        ),
        (
            Wire.OPENAI,
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"q":"words"}'}}]},
        ),
    ],
)
def test_a_tool_call_costs_the_same_in_every_wire_format(wire: Wire, body: dict[str, Any]) -> None:
    count = measure_message(body, wire)
    assert count.calls == 1
    assert count.tokens == 16


@pytest.mark.parametrize(
    "body",
    [
        {"type": "function_call_output", "call_id": "c", "output": "sunny in Paris"},
        {"role": "tool", "tool_call_id": "c", "content": "sunny in Paris"},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "sunny in Paris"}],
        },
    ],
)
def test_a_tool_result_costs_the_same_in_every_wire_format(body: dict[str, Any]) -> None:
    assert count_message(body) == MESSAGE_OVERHEAD + 7 + count_text("sunny in Paris")


def test_thinking_counts_and_its_signature_does_not() -> None:
    def thinking(signature: str) -> dict[str, Any]:
        block = {"type": "thinking", "thinking": "Let me see.", "signature": signature}
        return {"role": "assistant", "content": [block]}

    assert count_message(thinking("x" * 4000)) == count_message(thinking(""))
    assert count_message(thinking("")) > MESSAGE_OVERHEAD


def test_encrypted_reasoning_counts_as_the_tokens_behind_it() -> None:
    item = {"type": "reasoning", "summary": [], "encrypted_content": "A" * 4000}
    assert 900 < count_message(item, Wire.RESPONSES) < 1100


def test_a_data_url_pasted_into_a_text_is_text() -> None:
    assert count_message({"role": "user", "content": f"see {DATA_URL}"}) > 5_000


def test_an_embedded_file_in_a_part_of_unknown_shape_is_not_counted_as_text() -> None:
    item = {"type": "image_generation_call", "result": PNG}
    assert count_message(item) < 1_000


def test_an_address_is_never_opened_and_counts_as_the_largest_image() -> None:
    url = {"type": "image_url", "image_url": {"url": "https://example.invalid/cat.png"}}
    assert count_message({"role": "user", "content": [url]}) >= 1_000
    low = {"type": "image_url", "image_url": {"url": "https://example.invalid/cat.png", "detail": "low"}}
    assert count_message({"role": "user", "content": [low]}) == 85 + MESSAGE_OVERHEAD


def test_audio_and_documents_count_by_their_size() -> None:
    def audio(size: int) -> dict[str, Any]:
        part = {"type": "input_audio", "input_audio": {"data": "A" * size, "format": "mp3"}}
        return {"role": "user", "content": [part]}

    def document(data: str) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "file", "file": {"file_data": data}}]}

    assert 10 * 60 < count_message(audio(160_000)) < 2_000
    pdf = document("data:application/pdf;base64," + "A" * 40_000)
    text = document("data:text/plain;base64," + "A" * 40_000)
    assert 1_000 < count_message(pdf) < count_message(text)


_KEYS = st.sampled_from(
    [
        *(
            "role",
            "content",
            "type",
            "text",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "image_url",
            "source",
        ),
        *(
            "data",
            "url",
            "detail",
            "input",
            "output",
            "thinking",
            "file",
            "input_audio",
            "summary",
            "reasoning",
        ),
    ]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=20,
)
_TYPES = st.sampled_from(
    ["text", "image_url", "image", "tool_use", "tool_result", "thinking", "file", "input_audio"]
)
_PARTS = st.builds(
    lambda kind, rest: {**rest, "type": kind}, _TYPES, st.dictionaries(_KEYS, _JSON, max_size=4)
)


@given(
    st.dictionaries(_KEYS, _JSON, max_size=6)
    | st.builds(lambda parts: {"role": "user", "content": parts}, st.lists(_PARTS))
)
def test_no_shape_makes_counting_fail(body: dict[str, Any]) -> None:
    count = measure_message(body)
    assert count.tokens >= MESSAGE_OVERHEAD
    assert count.wide is not None
    assert count.wide >= MESSAGE_OVERHEAD
    assert media_correction(body, "claude-sonnet-4-5") > -(10**6)


def test_nesting_without_end_is_counted() -> None:
    content: Any = "deep inside"
    for _ in range(3_000):
        content = {"type": "tool_result", "content": [content]}
    assert count_message({"role": "user", "content": [content]}) > MESSAGE_OVERHEAD


def test_values_that_json_cannot_say_are_counted() -> None:
    assert (
        count_message({"role": "user", "content": [{"type": "odd", "value": {1, 2, 3}}]}) > MESSAGE_OVERHEAD
    )


def test_counts_add_up_and_forget_the_wide_count_where_one_lacks_it() -> None:
    both = Count(10, 12, 1, 0) + Count(5, 6, 1, 1)
    assert both == Count(15, 18, 2, 1)
    assert (both + Count(1)).wide is None
    assert total([]) == EMPTY
    assert total([Count(1, 2, 1), Count(3, 4, 1)]) == Count(4, 6, 2)


def test_a_models_own_image_rule_is_a_correction_of_the_stored_count() -> None:
    body = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": DATA_URL}}]}
    for model in ("gpt-4o-mini", "claude-sonnet-4-5", "gemini-2.5-flash", "gpt-5-mini"):
        own = measure_message(body, model=model).tokens
        assert count_message(body) + media_correction(body, model) == own
    assert media_correction(body, "gpt-4o-mini") > 10_000
