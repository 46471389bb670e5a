"""Requests of an agent begin alike: what went away because of its length stays away at the next step."""

import json
from itertools import pairwise
from typing import Any

import pytest
from fastapi.testclient import TestClient

from context.types import JsonObject, Wire
from context.wire import check_pairs

pytestmark = pytest.mark.usefixtures("one_day")

LAST = 1_000_000
ROLES = ("user", "assistant")
HM = [{"role": "user", "content": "Hm."}]
WINDOW = {"model": "gpt-4o", "context_window": 8_000, "max_tokens": 500}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def steps(turn: int, number: int, words: int, said: str = "hall seven ") -> list[JsonObject]:
    """Calls and their results, a number of words each."""
    made: list[JsonObject] = []
    for place in range(number):
        call_id = f"c{turn}_{place}"
        call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": call_id, "content": f"row {place} " + said * words})
    return made


class Agent:
    """An agent that asks before each call of its model, and posts its turns at their end."""

    def __init__(self, client: TestClient, session_id: str, **window: Any) -> None:
        self.client, self.url = client, f"/v1/sessions/{session_id}"
        self.window = {**WINDOW, **window}
        self.turns = 0

    def ask(self, messages: list[JsonObject]) -> dict[str, Any]:
        asked = {**self.window, "messages": messages, "tools": [TOOL]}
        answer = self.client.post(f"{self.url}/context", json=asked)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        assert found["certificate"]["fits"]
        assert check_pairs(found["messages"], Wire.OPENAI) == []
        return found

    def live(self, said: str, number: int, words: int, told: str = "hall seven ") -> list[dict[str, Any]]:
        """Live through a turn: the answers to its requests, the beginning of each in `before`."""
        turn: list[JsonObject] = [{"role": "user", "content": said}]
        answers = []
        for place in range(number + 1):
            answer = self.ask(turn)
            answer["before"] = answer["messages"][: answer["messages"].index(turn[0])]
            answers.append(answer)
            if place < number:
                turn += [*steps(self.turns, place + 1, words, told)[-2:]]
        turn.append({"role": "assistant", "content": f"Turn {self.turns} is done."})
        event = {"turn_id": f"t{self.turns}", "messages": turn, "model": "gpt-4o", "context_window": 8_000}
        assert self.client.post(f"{self.url}/turns", json=event).status_code == 202
        self.turns += 1
        return answers


def first_raw(answer: dict[str, Any]) -> int:
    tail = answer["certificate"]["tail"]
    return tail[0] if tail else 0


def beginnings(answers: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(answer["before"]) for answer in answers]


def test_a_turn_that_outgrows_its_window_changes_its_beginning_twice_at_most(client: TestClient) -> None:
    agent = Agent(client, "agent")
    for _ in range(3):
        agent.live("Look at the rows, and go on.", 3, 60)
    answers = agent.live("Look at all the rows of the hall.", 14, 250)
    before = beginnings(answers)
    changes = sum(one != other for one, other in pairwise(before))
    assert len(before[0]) > len(before[-1]), "the turn did outgrow its window"
    assert changes <= 2
    firsts = [first_raw(one) or LAST for one in answers]
    assert firsts == sorted(firsts)


def test_what_a_window_hid_stays_hidden_until_it_fits_well(client: TestClient) -> None:
    agent = Agent(client, "agent")
    firsts = []
    agent.live("Look at the rows.", 1, 10)
    for turn in range(20):
        firsts += [first_raw(one) for one in agent.live(f"Look at the rows of hall {turn}.", 3, 100)]
    assert firsts == sorted(firsts)
    assert 2 <= len(set(firsts)) <= 8, "cuts are few and deep"
    wide = Agent(client, "agent", context_window=64_000)
    assert first_raw(wide.ask([{"role": "user", "content": "And all of it?"}])) == 1


def test_what_small_windows_hid_comes_back_in_a_larger_one_that_holds_it(client: TestClient) -> None:
    url = "/v1/sessions/smaller"
    for place in range(20):
        turn = [{"role": role, "content": f"{role} on hall {place}. " * 6} for role in ROLES]
        event = {"turn_id": f"t{place}", "model": "gpt-4o", "messages": turn}
        assert client.post(f"{url}/turns", json={**event, "context_window": 4_000}).status_code == 202
    asked: dict[str, Any] = {"model": "gpt-4o", "max_tokens": 500, "messages": HM}
    whole = client.post(f"{url}/context", json={**asked, "context_window": 4_000}).json()
    assert first_raw(whole) == 1
    small = [client.post(f"{url}/context", json={**asked, "context_window": 1_500}).json() for _ in range(4)]
    assert 1 not in map(first_raw, small)
    for share, comes_back in ((0.85, False), (0.7, True)):
        window = int(whole["certificate"]["input_tokens"] / share) + asked["max_tokens"]
        found = client.post(f"{url}/context", json={**asked, "context_window": window}).json()
        assert (first_raw(found) == 1) == comes_back


def test_a_session_that_fits_stays_whole(client: TestClient) -> None:
    agent = Agent(client, "agent", context_window=64_000)
    answers: list[dict[str, Any]] = []
    for _ in range(6):
        answers = agent.live("Look at the rows, and go on.", 4, 60)
        assert {first_raw(one) for one in answers if one["certificate"]["tail"]} <= {1}
    assert all(one["what"].split()[0] != "messages" for one in answers[-1]["certificate"]["excluded"])


def test_an_open_question_of_an_agent_is_left_to_its_steps(client: TestClient) -> None:
    """Artifacts before a turn make the next request read the whole turn anew; a call can read them again."""
    agent = Agent(client, "agent")
    agent.live("Read the report.", 1, 4_000)
    for _ in range(2):
        agent.live("Look at the rows, and go on.", 3, 60)
    left = agent.ask([{"role": "user", "content": "ok, looks good, start with it"}])
    assert left["utilization"]["planning_reason"] == "left-to-steps"
    assert left["utilization"]["artifacts_processed"] == []
    asked = {**WINDOW, "messages": [{"role": "user", "content": 'Where does row 0 say "hall seven"?'}]}
    shown = client.post("/v1/sessions/agent/context", json=asked).json()
    assert shown["utilization"]["artifacts_processed"], "a chat without tools is shown it"


def test_a_specific_question_of_an_agent_is_shown_what_holds_its_words_alone(client: TestClient) -> None:
    agent = Agent(client, "agent")
    agent.live("Read the report.", 1, 4_000)
    agent.live("Read the other report.", 1, 3_000, "berth six ")
    for _ in range(2):
        agent.live("Look at the rows, and go on.", 3, 60)
    answer = agent.ask([{"role": "user", "content": 'Where does row 0 say "berth six"?'}])
    (shown,) = answer["utilization"]["artifacts_processed"]
    assert shown["how"], "it is shown, and what lacks the words is not considered"


def test_a_window_that_no_provider_caches_is_filled_to_its_end(client: TestClient) -> None:
    """OpenAI caches no beginning below 1,024 tokens: nothing is left out for the requests to come."""
    url = "/v1/sessions/short"
    for place in range(40):
        turn = [{"role": role, "content": f"{role} on hall {place}. " * 3} for role in ROLES]
        event = {"turn_id": f"t{place}", "model": "gpt-4o", "messages": turn, "context_window": 1_500}
        assert client.post(f"{url}/turns", json=event).status_code == 202
    asked = {"model": "gpt-4o", "max_tokens": 500, "messages": HM, "context_window": 1_500}
    found = client.post(f"{url}/context", json=asked).json()["certificate"]
    turn_tokens = 40
    assert found["tail"][1] == 80
    assert found["tail"][0] > 1
    assert found["input_tokens"] + turn_tokens > found["budget"]
