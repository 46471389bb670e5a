"""Calls for Gemini stand right behind a user's words or a result; ids of items are OpenAI's own or none."""

import pytest

from context.types import JsonObject, Wire
from tests.unit.shape.windows import HELLO, NEXT, call, calling, lay, result, said, sent

ASKS, TOLD, DONE = calling(call("call_1")), result("call_1"), said()
NOTE: JsonObject = {"role": "system", "content": "Be brief."}
GEMINI = "gemini-2.5-pro"


@pytest.mark.parametrize(
    ("bodies", "roles"),
    [
        ([HELLO, said("I look."), ASKS, TOLD, DONE], "user assistant tool assistant user"),
        ([HELLO, said("a"), said("b"), ASKS, TOLD, DONE], "user assistant tool assistant user"),
        ([ASKS, TOLD, DONE], "user assistant tool assistant user"),
        ([said("Welcome."), ASKS, TOLD, DONE], "user assistant tool assistant user"),
        ([HELLO, said("I look."), NOTE, ASKS, TOLD, DONE], "user assistant system tool assistant user"),
        ([HELLO, ASKS, TOLD, ASKS, TOLD, DONE], "user assistant tool assistant tool assistant user"),
    ],
)
def test_calls_follow_a_user_or_a_result(bodies: list[JsonObject], roles: str) -> None:
    window = lay(bodies, GEMINI)
    assert [body["role"] for body in sent(window)] == roles.split()
    assert window.certificate.accepted_shape.accepted
    assert window.certificate.tool_pairs_intact
    words = " ".join(str(body["content"]) for body in sent(window))
    assert all(body["content"] in words for body in bodies if body["content"] and body["role"] == "assistant")


def test_words_alone_stay_as_they_are_for_gemini() -> None:
    bodies = [HELLO, said("a"), said("b"), NOTE, HELLO, DONE]
    assert sent(lay(bodies, GEMINI)) == [*bodies, NEXT]
    assert sent(lay([HELLO, said("a"), ASKS, TOLD, DONE], "gpt-4o"))[1:3] == [said("a"), ASKS]


@pytest.mark.parametrize("role", ["user", "system", "developer", "assistant"])
def test_ids_of_messages_are_openais_own_or_none(role: str) -> None:
    kind = "output_text" if role == "assistant" else "input_text"
    body: JsonObject = {"type": "message", "role": role, "content": [{"type": kind, "text": "Hello."}]}
    ids = {"msg_1": "msg_1", "u1": None, "019f629b-43ee": None, "msg_" + "x" * 80: None}
    for item_id, kept in ids.items():
        told = sent(lay([HELLO, {**body, "id": item_id}, DONE], "gpt-5", Wire.RESPONSES))
        assert [item.get("id") for item in told if item.get("type") == "message"] == [kept]
