"""What one model signed goes to models of its own family alone."""

import json
from typing import Any

import pytest

from context.shape.rule_names import ShapeRule
from context.shape.target import maker_of
from context.types import JsonObject, Wire
from context.window.outgoing import RefusedBefore
from context.wire import check_pairs
from tests.unit.shape.windows import HELLO, NEXT, call, calling, lay, result, said, sent

SIGNED = {"type": "thinking", "thinking": "I look.", "signature": "c2lnbmVk"}
SEALED = {"type": "redacted_thinking", "data": "c2VhbGVk"}
GEMINI: JsonObject = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}

HISTORIES: dict[str, tuple[Wire, list[JsonObject]]] = {
    "blocks": (
        Wire.ANTHROPIC,
        [
            HELLO,
            said([SIGNED, SEALED, {"type": "tool_use", "id": "t1", "name": "look", "input": {}}]),
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]},
            said([SIGNED, {"type": "text", "text": "Done."}]),
        ],
    ),
    "chat": (
        Wire.OPENAI,
        [
            HELLO,
            calling(call("c1", **GEMINI), thinking_blocks=[SIGNED], reasoning="I look."),
            result("c1"),
            said(
                reasoning_details=[{"type": "reasoning.encrypted", "data": "c2lnbmVk"}],
                provider_specific_fields={"thought_signatures": ["c2lnbmVk"]},
            ),
        ],
    ),
    "items": (
        Wire.RESPONSES,
        [
            HELLO,
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2lnbmVk"},
            {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "a"},
            {"type": "compaction", "encrypted_content": "c2lnbmVk"},
            {"role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "Done."}]},
        ],
    ),
}
SIGNS = ("c2lnbmVk", "c2VhbGVk", "I look.", "rs_1", "fc_1", "msg_1")


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize(
    ("made_by", "model", "stays"),
    [
        ("MiniMax-M2", "claude-sonnet-4-5", False),
        ("gemini-3-pro", "gpt-5", False),
        ("claude-opus-4-5", "z-ai/glm-4.6", False),
        ("claude-opus-4-5", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("gpt-5", "azure/gpt-5-mini", True),
        ("MiniMax-M2", "minimax/MiniMax-M2.1", True),
        (None, "claude-sonnet-4-5", True),
    ],
)
def test_signed_reasoning_goes_to_the_family_that_made_it_alone(
    name: str, made_by: str | None, model: str, stays: bool
) -> None:
    wire, bodies = HISTORIES[name]
    window = lay(bodies, model, wire, made_by=made_by)
    if stays:
        assert sent(window) == [*bodies, NEXT]
        return
    assert not [sign for sign in SIGNS if sign in json.dumps(sent(window))]
    assert ShapeRule.FOREIGN_REASONING in window.certificate.accepted_shape.rules
    assert "reasoning" in [loss.kind for loss in window.certificate.losses]
    assert check_pairs(sent(window), wire) == []
    assert window.certificate.accepted_shape.accepted


SIGN = "c2lnbmVk"
GOOGLES: JsonObject = {"google": {"thought_signature": SIGN, "thoughtSignature": SIGN}}
SIGNED_FIELDS: list[JsonObject] = [
    {"thought_signature": SIGN},
    {"thoughtSignature": SIGN},
    {"signature": SIGN},
    {"reasoning_opaque": SIGN},
    {"reasoning_signature": SIGN},
    {"reasoning_items": [{"type": "reasoning", "encrypted_content": SIGN}]},
    {"encrypted_content": SIGN},
    {"extra_content": GOOGLES},
    {"providerOptions": GOOGLES},
    {"provider_metadata": GOOGLES},
    {"annotations": [{"type": "url_citation", "encrypted_index": SIGN}]},
    {"citations": [{"type": "web_search_result_location", "encrypted_index": SIGN, "url": "u"}]},
]


def signed_everywhere(wire: Wire, field: JsonObject) -> list[JsonObject]:
    """A call and an answer with a signed field at each depth of the model's messages."""
    if wire is Wire.OPENAI:
        signed = call("c1", **field)
        signed["function"] |= field
        words = {"type": "text", "text": "Done.", **field}
        return [HELLO, calling(signed, **field), result("c1"), said([words], **field)]
    if wire is Wire.ANTHROPIC:
        used = {"type": "tool_use", "id": "c1", "name": "look", "input": {"signature": "mine"}, **field}
        seen = {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}
        return [
            HELLO,
            said([used]),
            {"role": "user", "content": [seen]},
            said([{"type": "text", "text": "Done.", **field}]),
        ]
    asked = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", **field}
    words = {"type": "output_text", "text": "Done.", **field}
    return [
        HELLO,
        asked,
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        said([words], **field),
    ]


@pytest.mark.parametrize("field", SIGNED_FIELDS, ids=lambda field: next(iter(field)))
@pytest.mark.parametrize("wire", list(Wire))
def test_no_signed_field_goes_to_another_family_at_any_depth(wire: Wire, field: JsonObject) -> None:
    bodies = signed_everywhere(wire, field)
    own = lay(bodies, "claude-opus-4-5", wire, made_by="claude-sonnet-4-5")
    assert (SIGN in json.dumps(sent(own))) is (wire is not Wire.ANTHROPIC or "citations" in field)
    for model in ("minimax/MiniMax-M2", "z-ai/glm-4.6", "gpt-5"):
        window = lay(bodies, model, wire, made_by="claude-sonnet-4-5")
        assert SIGN not in json.dumps(sent(window))
        assert "Done." in json.dumps(sent(window))
        assert '{"signature": "mine"}' in json.dumps(sent(window)) or wire is not Wire.ANTHROPIC
        assert ShapeRule.FOREIGN_REASONING in window.certificate.accepted_shape.rules
        assert check_pairs(sent(window), wire) == []


@pytest.mark.parametrize(
    "model", ["gpt-5", "moonshotai/kimi-k2", "claude-sonnet-4-5", "mistral-large-latest"]
)
def test_a_signature_that_a_gateway_keeps_in_a_calls_id_stays_with_google(model: str) -> None:
    call_id = f"call_1__thought__{SIGN * 20}"
    bodies = [HELLO, calling(call(call_id)), result(call_id), said()]
    assert call_id in json.dumps(sent(lay(bodies, "gemini-3-pro", made_by="gemini-3-pro")))
    window = lay(bodies, model, made_by="gemini-3-pro")
    assert SIGN not in json.dumps(sent(window))
    assert check_pairs(sent(window), Wire.OPENAI) == []


def test_a_search_of_another_provider_goes_with_its_result_in_a_later_message() -> None:
    asked = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": SIGN}]}
    bodies = [HELLO, said([asked]), said([found, {"type": "text", "text": "Done."}])]
    window = lay(bodies, "minimax/MiniMax-M2", Wire.ANTHROPIC, made_by="claude-sonnet-4-5")
    assert "s1" not in json.dumps(sent(window))
    assert check_pairs(sent(window), Wire.ANTHROPIC) == []
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize("name", HISTORIES)
def test_reasoning_that_was_refused_is_not_sent_again_to_its_own_family(name: str) -> None:
    wire, bodies = HISTORIES[name]
    window = lay(bodies, "gpt-5", wire, made_by="gpt-5", refused=RefusedBefore(unsigned_seq=len(bodies)))
    assert not [sign for sign in SIGNS if sign in json.dumps(sent(window))]
    assert ShapeRule.REFUSED_REASONING in window.certificate.accepted_shape.rules


def test_reasoning_after_the_refused_one_is_sent() -> None:
    wire, bodies = HISTORIES["blocks"]
    refused = RefusedBefore(unsigned_seq=2)
    window = lay(bodies, "claude-opus-4-5", wire, made_by="claude-opus-4-5", refused=refused)
    assert [block["type"] for block in sent(window)[1]["content"]] == ["tool_use"]
    assert [block["type"] for block in sent(window)[3]["content"]] == ["thinking", "text"]


def test_tools_that_another_provider_ran_are_left_out_with_their_sealed_results() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": "x"}]}
    asked = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    bodies = [HELLO, said([asked, found, {"type": "text", "text": "Done."}])]
    window = lay(bodies, "minimax/MiniMax-M2", Wire.ANTHROPIC, made_by="claude-sonnet-4-5")
    assert [block["type"] for block in sent(window)[1]["content"]] == ["text"]
    assert "content" in [loss.kind for loss in window.certificate.losses]


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        ("kimi-k2", "kimi"),
        ("moonshotai/Kimi-K2-Thinking", "kimi"),
        ("glm-4.6", "glm"),
        ("MiniMax-M2", "minimax"),
    ],
)
def test_a_model_of_no_known_family_is_of_the_kind_that_its_name_begins_with(model: str, maker: str) -> None:
    assert maker_of(model) == maker


def item(call_id: str) -> JsonObject:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": "look",
        "arguments": "{}",
    }


def output(call_id: str) -> JsonObject:
    return {"type": "function_call_output", "call_id": call_id, "output": "a"}


REASONED = {"type": "reasoning", "id": "rs_1", "summary": []}


@pytest.mark.parametrize(
    ("bodies", "stays"),
    [
        ([REASONED, item("a"), item("b"), output("b")], True),
        ([REASONED, item("a"), item("x"), item("b"), output("b")], True),
        ([REASONED, item("b"), item("a"), output("b")], True),
        ([REASONED, item("a"), {"role": "assistant", "content": "Done."}], True),
        ([REASONED, item("a"), item("x"), {"role": "user", "content": "stop"}], False),
        ([REASONED, item("a"), {**REASONED, "id": "rs_2"}, item("b"), output("b")], False),
    ],
)
def test_reasoning_stays_for_the_sibling_of_a_call_that_is_taken_out(bodies: list[Any], stays: bool) -> None:
    window = lay([HELLO, *bodies], "gpt-5", Wire.RESPONSES)
    assert ("rs_1" in json.dumps(sent(window))) is stays
    assert check_pairs(sent(window), Wire.RESPONSES) == []


@pytest.mark.parametrize("orphan", ["first", "second"])
def test_the_sibling_of_a_call_that_is_taken_out_keeps_the_thought_signature(orphan: str) -> None:
    answered = "second" if orphan == "first" else "first"
    bodies = [HELLO, calling(call("first", **GEMINI), call("second")), result(answered), said()]
    window = lay(bodies, "gemini-3-pro", made_by="gemini-3-pro")
    assert sent(window)[1]["tool_calls"] == [call(answered, **GEMINI)]


@pytest.mark.parametrize(("made_by", "stays"), [("claude-opus-4-5", False), ("gemini-3-pro", True)])
def test_gemini_is_told_that_calls_of_others_have_no_thought_signature(made_by: str, stays: bool) -> None:
    bodies = [HELLO, calling(call("c1"), call("c2")), result("c1"), result("c2"), said()]
    calls = sent(lay(bodies, "gemini-3-pro", made_by=made_by))[1]["tool_calls"]
    assert ("skip_thought_signature_validator" in json.dumps(calls[0])) is not stays
    assert calls[1] == call("c2")
