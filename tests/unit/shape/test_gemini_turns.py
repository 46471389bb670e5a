"""Gemini: a user speaks first, calls follow a user or a result, one system message is read; ids of items."""

import pytest

from context.shape.order import BEGINNING, SYSTEM_NOTE
from context.types import JsonObject, Message, Wire
from tests.unit.shape.windows import HELLO, NEXT, call, calling, lay, result, said, sent, system

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
        (
            [HELLO, said("I look."), NOTE, ASKS, TOLD, DONE],
            "user assistant user assistant tool assistant user",
        ),
        ([HELLO, ASKS, NOTE, TOLD, DONE], "user assistant tool user assistant user"),
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
    bodies = [HELLO, said("a"), said("b"), HELLO, DONE]
    assert sent(lay(bodies, GEMINI)) == [*bodies, NEXT]


@pytest.mark.parametrize("model", [GEMINI, "openrouter/google/gemini-3-pro", "qwen3-max", "mistral-large"])
@pytest.mark.parametrize("prompt", [None, system("Be kind.")])
def test_a_later_instruction_is_a_users_message_that_says_whose_it_is(
    model: str, prompt: Message | None
) -> None:
    """Of several system messages Gemini's OpenAI form reads the last one alone."""
    bodies = [HELLO, DONE, NOTE, HELLO, DONE, {"role": "developer", "content": "Be exact."}]
    window = lay(bodies, model, system=prompt)
    roles = [body["role"] for body in sent(window)]
    assert roles.count("system") == (prompt is not None)
    told = [str(body["content"]) for body in sent(window) if SYSTEM_NOTE in str(body["content"])]
    assert [word for word in ("Be brief.", "Be exact.") if word in " ".join(told)] == [
        "Be brief.",
        "Be exact.",
    ]
    assert "system-inside-history" in window.certificate.accepted_shape.rules
    assert window.certificate.accepted_shape.accepted
    assert window.certificate.input_tokens == sum(block.tokens for block in window.certificate.blocks)


@pytest.mark.parametrize("model", [GEMINI, "google/gemini-2.5-flash", "mistral-large", "gemma-3-27b-it"])
@pytest.mark.parametrize("prompt", [None, system("Be kind.")])
@pytest.mark.parametrize(
    "first", [[said("Welcome.")], [said("Welcome."), said("How are you?")], [ASKS, TOLD]]
)
def test_a_user_speaks_first(model: str, prompt: Message | None, first: list[JsonObject]) -> None:
    """Gemini itself refuses a conversation that the assistant begins."""
    window = lay([*first, HELLO, DONE], model, system=prompt)
    spoken = [body for body in sent(window) if body["role"] != "system"]
    assert [body["role"] for body in spoken[:2]] == ["user", "assistant"]
    assert spoken[0]["content"] == BEGINNING
    assert "Welcome." in str(spoken) or ASKS in first
    assert window.certificate.accepted_shape.accepted
    assert "alternating-roles" in window.certificate.accepted_shape.rules


def test_openai_takes_instructions_and_beginnings_as_they_are() -> None:
    bodies = [said("Welcome."), HELLO, DONE, NOTE]
    assert sent(lay(bodies, "gpt-4o")) == [*bodies, NEXT]


def test_openais_models_take_two_messages_of_the_assistant() -> None:
    assert sent(lay([HELLO, said("a"), ASKS, TOLD, DONE], "gpt-4o"))[1:3] == [said("a"), ASKS]


@pytest.mark.parametrize("role", ["user", "system", "developer", "assistant"])
def test_ids_of_messages_are_openais_own_or_none(role: str) -> None:
    kind = "output_text" if role == "assistant" else "input_text"
    body: JsonObject = {"type": "message", "role": role, "content": [{"type": kind, "text": "Hello."}]}
    ids = {"msg_1": "msg_1", "u1": None, "019f629b-43ee": None, "msg_" + "x" * 80: None}
    for item_id, kept in ids.items():
        told = sent(lay([HELLO, {**body, "id": item_id}, DONE], "gpt-5", Wire.RESPONSES))
        assert [item.get("id") for item in told if item.get("type") == "message"] == [kept]
