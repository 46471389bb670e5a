"""What a client keeps for an outage is bounded: waiting turns and held turns."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from afterturn_client import Afterturn, Options

NOBODY = "http://127.0.0.1:1"
AWAY: dict[str, Any] = {"chat_attempts": 1, "rest_s": 60, "most_rest_s": 60}
WORDS = {"role": "assistant", "content": "x" * 1_000}


def say(client: Afterturn, session_id: str, number: int) -> list[str]:
    """The words that the model gets, oldest first."""
    chat = client.chat(session_id, model="gpt-4o", context_window=100_000)
    with chat.turn(f"question {number}") as turn:
        request = turn.request()
        turn.add(WORDS)
    assert request.degraded
    return [one["content"] for one in request.messages if one["role"] == "user"]


@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize(("bound", "waiting"), [("outbox_turns", 3), ("outbox_bytes", 3)])
def test_the_outbox_keeps_the_newest_turns_within_its_bound(
    tmp_path: Path, bound: str, waiting: int, *, on_disk: bool
) -> None:
    folder = tmp_path if on_disk else None
    options = Options(**AWAY, outbox_dir=folder)
    options = replace(options, **{bound: waiting if bound == "outbox_turns" else 4_000})  # type: ignore[arg-type]
    with Afterturn(NOBODY, "k", options=options) as client:
        for number in range(1, 8):
            say(client, "s1", number)
            assert len(client.waiting_turns) == min(number, waiting)
        kept = client.waiting_turns
        client.close(wait_s=0)
        client.close(wait_s=0)  # a second time is harmless
    if on_disk:
        files = [json.loads(file.read_text()) for file in sorted(tmp_path.iterdir())]
        assert [file["turn_id"] for file in files] == kept
        said = [file["body"]["messages"][0]["content"] for file in files]
        assert said == [f"question {number}" for number in (5, 6, 7)]


def test_held_turns_stay_within_their_tokens_and_the_last_one_stays_whole() -> None:
    with Afterturn(NOBODY, "k", options=Options(**AWAY, held_tokens=1_000)) as client:
        shown = [say(client, "s1", number) for number in range(1, 8)]
        client.close(wait_s=0)
    assert [len(one) for one in shown] == [1, 2, 3, 3, 3, 3, 3]
    assert shown[-1] == ["question 5", "question 6", "question 7"]
    with Afterturn(NOBODY, "k", options=Options(**AWAY, held_tokens=10)) as client:
        say(client, "s1", 1)
        assert say(client, "s1", 2) == ["question 1", "question 2"]
        client.close(wait_s=0)


def test_of_many_sessions_the_longest_unused_is_forgotten() -> None:
    with Afterturn(NOBODY, "k", options=Options(**AWAY, held_sessions=2)) as client:
        for session_id in ("s1", "s2", "s1", "s3"):
            say(client, session_id, 1)
        assert say(client, "s1", 2) == ["question 1", "question 1", "question 2"]
        assert say(client, "s2", 2) == ["question 2"]
        client.close(wait_s=0)
