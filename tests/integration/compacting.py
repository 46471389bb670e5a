"""Turns of two families of models, with compactions of their providers."""

from typing import Any

from fastapi.testclient import TestClient

SESSION = "s1"
PATH = f"/v1/sessions/{SESSION}"
GPT, CLAUDE = "gpt-5", "claude-opus-4-6"
SEAL = "gAAAAAB" + "x" * 400
NOTES = "The crane stands in hall 4, and its permit is PT-4471."


def user(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"Question {number}: where does the crane of hall {number} stand?"}


def answer(number: int) -> dict[str, Any]:
    return {"role": "assistant", "content": f"Answer {number}: it stands beside gate {number}."}


def item(name: str = "cmp_1", seal: str = SEAL) -> dict[str, Any]:
    """A compaction of OpenAI's, as it stands in an output."""
    return {"id": name, "type": "compaction", "encrypted_content": seal}


def block(notes: str = NOTES, **more: Any) -> dict[str, Any]:
    """A compaction of Anthropic's."""
    return {"type": "compaction", "content": notes, **more}


def answered_with(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def says(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def post(
    client: TestClient,
    number: int,
    messages: list[dict[str, Any]],
    *,
    wire: str = "openai",
    model: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    body = {"turn_id": f"t{number}", "messages": messages, "wire": wire, "model": model, **more}
    reply = client.post(f"{PATH}/turns", json=body)
    assert reply.status_code in (200, 202), reply.text
    found: dict[str, Any] = reply.json()
    return found


def talk(client: TestClient, *numbers: int, wire: str, model: str) -> None:
    for number in numbers:
        post(client, number, [user(number), answer(number)], wire=wire, model=model)


def ask(
    client: TestClient,
    model: str,
    wire: str,
    messages: list[dict[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    body = {
        "model": model,
        "wire": wire,
        "context_window": 100_000,
        "max_tokens": 1_000,
        "messages": messages or [NEW],
        **more,
    }
    reply = client.post(f"/v1/sessions/{more.pop('session', SESSION)}/context", json=body)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    certificate = found["certificate"]
    assert certificate["fits"]
    assert certificate["tool_pairs_intact"]
    assert certificate["accepted_shape"]["accepted"], certificate["accepted_shape"]
    return found


NEW = {"role": "user", "content": "And who holds the permit?"}


def of_openai(client: TestClient) -> None:
    """Four turns, the third compacted by the server."""
    talk(client, 1, 2, wire="responses", model=GPT)
    post(client, 3, [user(3), item(), answer(3)], wire="responses", model=GPT)
    talk(client, 4, wire="responses", model=GPT)


def of_anthropic(client: TestClient) -> None:
    """Four turns, the third compacted by the server."""
    talk(client, 1, 2, wire="anthropic", model=CLAUDE)
    post(client, 3, [user(3), answered_with(block(), says("At gate 3."))], wire="anthropic", model=CLAUDE)
    talk(client, 4, wire="anthropic", model=CLAUDE)


def sources(window: dict[str, Any]) -> list[str]:
    return [each["source"] for each in window["certificate"]["blocks"]]
