"""An agent's turn that alone fills its window: its oldest results are shortened, and nothing is refused."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from context.types import Wire
from context.wire import check_pairs

PATH = "/v1/sessions/agent/context"
QUESTION = {"role": "user", "content": "Find why the nightly import drops rows, and repair it."}
LINE = "src/depot/import_rows.py:{n}: warning: row {n} of hall seven has no papers and is dropped\n"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} for an agent that writes code.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
    for name in ("read", "exec", "edit", "write")
]


def step(number: int, lines: int, *, arguments: str = "{}", tool: str = "read") -> list[dict[str, Any]]:
    made = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": arguments}}
    told = f"step {number}\n" + "".join(LINE.format(n=number * 1000 + line) for line in range(lines))
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": told},
    ]


def ask(client: TestClient, messages: list[dict[str, Any]], **fields: Any) -> Any:
    body = {"model": "gpt-4o", "context_window": 8_000, "max_tokens": 1_000, "tools": TOOLS, **fields}
    return client.post(PATH, json={**body, "messages": messages})


def shared(before: list[Any], after: list[Any]) -> int:
    return next(
        (n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before)
    )


def test_no_step_of_a_turn_that_outgrows_its_window_is_refused(client: TestClient) -> None:
    cut: set[str] = set()
    sent: list[Any] = []
    turn, kept, tools = [QUESTION], [], None
    for number in range(24):
        turn += step(number, 10 + number * 7 % 30)
        answer = ask(client, turn)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["certificate"]["fits"]
        assert found["certificate"]["tool_pairs_intact"]
        assert check_pairs(found["messages"], Wire.OPENAI) == []
        tools = tools or found["tools"]
        assert found["tools"] == tools, "the list of tools stays as the first step had it"
        assert found["messages"][0] == QUESTION
        assert found["messages"][-1] == turn[-1], "the newest result is whole while older ones can be cut"
        cut = {
            f"part of new message {place + 1}"
            for place, (own, out) in enumerate(zip(turn, found["messages"], strict=True))
            if own != out
        }
        named = {one["what"] for one in found["certificate"]["excluded"]}
        assert cut == {what for what in named if what.startswith("part of")}
        kept.append(shared(sent, found["messages"]) == len(sent))
        sent = found["messages"]
    assert cut, "the turn is larger than its window"
    assert sum(kept) > len(kept) * 2 / 3, "most steps begin as the one before"


def test_the_newest_result_is_cut_only_where_older_ones_give_too_little(client: TestClient) -> None:
    turn = [QUESTION, *step(1, 60), *step(2, 500)]
    found = ask(client, turn).json()
    older, newest = found["messages"][2]["content"], found["messages"][4]["content"]
    assert len(older) < 300
    assert 10_000 < len(newest) < len(turn[4]["content"])
    assert newest.startswith("step 2\n")


def test_a_stored_turn_and_its_new_results_are_shortened_together(client: TestClient) -> None:
    turn = [QUESTION, *(message for number in range(12) for message in step(number, 25))]
    event = {"turn_id": "t1", "messages": turn[:-1]}
    assert client.post("/v1/sessions/agent/turns", json=event).status_code == 202
    found = ask(client, turn[-1:]).json()
    assert found["certificate"]["fits"]
    assert found["messages"][-1] == turn[-1]
    assert found["certificate"]["tail"] == [1, len(turn) - 1]
    assert "part of message 3" in {one["what"] for one in found["certificate"]["excluded"]}


def test_a_stored_turn_that_ends_with_a_result_goes_on_with_the_next_call(client: TestClient) -> None:
    turn = [QUESTION, *(message for number in range(20) for message in step(number, 20))]
    event = {"turn_id": "t1", "messages": turn}
    assert client.post("/v1/sessions/agent/turns", json=event).status_code == 202
    new = [message for number in range(20, 40) for message in step(number, 20)]
    found = ask(client, new).json()
    assert found["certificate"]["fits"]
    assert check_pairs(found["messages"], Wire.OPENAI) == []
    assert found["messages"][0] == QUESTION
    assert found["messages"][-2:] == new[-2:]
    assert found["certificate"]["tail"][0] == 1
    assert "messages 1-41" not in {one["what"] for one in found["certificate"]["excluded"]}


@pytest.mark.parametrize("tools", [TOOLS, None])
def test_a_turn_that_cannot_be_shortened_is_named_and_not_the_tools(client: TestClient, tools: Any) -> None:
    asked = {"role": "user", "content": "row of hall seven " * 3_000}
    refused = ask(client, [asked, *step(1, 40)], tools=tools)
    assert refused.status_code == 422
    problem = refused.json()
    assert problem["type"] == "context-over-budget"
    assert "shorten open_turn" in problem["detail"]
    assert problem["parts"]["open_turn"] > 7_000
    assert problem["over_by"] == sum(problem["parts"].values()) - problem["budget_tokens"]


WRITTEN = {"path": "a.py", "text": "row of hall seven " * 3_000, "marks": list(range(9_000))}


def written_in(wire: Wire) -> list[dict[str, Any]]:
    """A turn whose only call carries more than the window holds."""
    raw = json.dumps(WRITTEN)
    if wire is Wire.ANTHROPIC:
        call = {"type": "tool_use", "id": "c1", "name": "write", "input": WRITTEN}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "written"}
        return [QUESTION, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    if wire is Wire.RESPONSES:
        item = {"type": "function_call", "call_id": "c1", "name": "write", "arguments": raw}
        return [QUESTION, item, {"type": "function_call_output", "call_id": "c1", "output": "written"}]
    return [QUESTION, *step(1, 0, arguments=raw, tool="write")]


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("wire", Wire)
def test_arguments_of_the_newest_calls_are_shortened_before_anything_is_refused(
    client: TestClient, wire: Wire, is_stored: bool
) -> None:
    turn = written_in(wire)
    if is_stored:
        event = {"turn_id": "t1", "wire": wire, "messages": turn[:-1]}
        assert client.post("/v1/sessions/agent/turns", json=event).status_code == 202
    answer = ask(client, turn[-1:] if is_stored else turn, wire=wire)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["certificate"]["fits"]
    sent = found["messages"]
    assert check_pairs(sent, wire) == []
    call = sent[1]
    if wire is Wire.ANTHROPIC:
        given = call["content"][0]["input"]
    elif wire is Wire.RESPONSES:
        given = json.loads(call["arguments"])
    else:
        given = json.loads(call["tool_calls"][0]["function"]["arguments"])
    assert given["path"] == "a.py"
    assert given["text"].startswith("row of hall seven row")
    assert "characters left out]" in given["text"]
    assert given["marks"].startswith("[0,1,2")
    named = {one["what"] for one in found["certificate"]["excluded"]}
    assert named == {"part of message 2" if is_stored else "part of new message 2"}


def test_files_in_the_newest_results_become_notes_before_anything_is_refused(client: TestClient) -> None:
    data = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x" * 40_000}
    own = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "mine"}}
    turn = written_in(Wire.ANTHROPIC)
    turn[1]["content"][0]["input"] = {}
    turn[2]["content"][0]["content"] = [
        {"type": "document", "source": data},
        {"type": "search_result", "source": "s", "content": [{"type": "text", "text": "hall " * 9_000}]},
    ]
    turn[2]["content"].append(own)
    answer = ask(client, turn, wire="anthropic")
    assert answer.status_code == 200, answer.text
    result, kept = answer.json()["messages"][2]["content"]
    assert "not shown any more" in result["content"][0]["text"]
    assert len(result["content"][1]["content"][0]["text"]) < 1_000
    assert kept == own


def test_a_message_that_leaves_no_room_for_tools_is_named_itself(client: TestClient) -> None:
    client.post(
        "/v1/sessions/agent/turns", json={"turn_id": "t1", "messages": [QUESTION, *step(1, 3), QUESTION]}
    )
    refused = ask(client, [{"role": "user", "content": "row of hall seven " * 3_000}])
    assert (refused.status_code, refused.json()["type"]) == (422, "context-over-budget")
    assert "shorten new_messages" in refused.json()["detail"]


def test_steps_that_cannot_be_shortened_are_left_out_whole_and_named(client: TestClient) -> None:
    turn = [QUESTION]
    for number in range(14):
        written = json.dumps({"path": f"{number}.py", "text": "row of hall seven " * 300})
        turn += step(number, 5, arguments=written, tool="write")
    found = ask(client, turn).json()
    assert found["certificate"]["fits"]
    assert check_pairs(found["messages"], Wire.OPENAI) == []
    assert found["messages"][0] == QUESTION
    assert "left out" in found["messages"][1]["content"]
    assert found["messages"][2:] == turn[-len(found["messages"]) + 2 :]
    gone = len(turn) - len(found["messages"]) + 1
    assert {"what": f"new messages 2-{gone + 1}", "why": "does-not-fit"}.items() <= next(
        one for one in found["certificate"]["excluded"] if one["what"].startswith("new messages")
    ).items()


def test_what_stands_before_a_turn_stays_as_its_first_step_had_it(client: TestClient) -> None:
    report = "".join(LINE.format(n=number) for number in range(900))
    talk = [{"role": "user", "content": "What is dropped?"}, *step(90, 1), *step(91, 1)]
    talk[2]["content"] = report
    client.post("/v1/sessions/agent/turns", json={"turn_id": "t0", "messages": talk})
    for number in range(12):
        said = [
            {"role": role, "content": f"{number} " + "hall seven " * 90} for role in ("user", "assistant")
        ]
        client.post("/v1/sessions/agent/turns", json={"turn_id": f"t{number + 1}", "messages": said})
    turn: list[dict[str, Any]] = [QUESTION]
    first = before = ask(client, turn, context_window=16_000).json()["messages"][:-1]
    assert any("prepared_artifacts" in str(one["content"]) for one in first)
    changed = 0
    for number in range(16):
        turn += step(number, 20)
        found = ask(client, turn, context_window=16_000).json()
        assert found["certificate"]["fits"]
        begins = found["messages"][: -len(turn)]
        changed += begins != before
        before = begins
    assert before != first, "the turn needed room in the end"
    assert changed <= 6, "of 16 steps"


def test_a_system_prompt_that_is_too_long_is_named_and_not_the_tools_that_were_called(
    client: TestClient,
) -> None:
    refused = ask(client, [QUESTION, *step(1, 3)], system_prompt="rule " * 8_000)
    problem = refused.json()
    assert (refused.status_code, problem["type"]) == (422, "context-over-budget")
    assert "shorten system_prompt" in problem["detail"]
    assert problem["parts"]["system_prompt"] > 7_000
    assert problem["parts"]["tools"] > 0
    assert problem["over_by"] == sum(problem["parts"].values()) - problem["budget_tokens"] > 0


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4", "my-own-model"])
@pytest.mark.parametrize("system", [None, "Be brief."])
def test_a_refusal_names_at_once_what_an_open_turn_with_tools_needs(
    client: TestClient, model: str, system: str | None
) -> None:
    turn = [QUESTION, *step(1, 0)]
    asked: dict[str, Any] = {"tools": TOOLS[:1], "model": model, "system_prompt": system}
    problem = ask(client, turn, budget=100, **asked).json()
    assert problem["type"] == "context-over-budget"
    assert ("system_prompt" in problem["parts"]) is bool(system)
    needed = sum(problem["parts"].values())
    for less in (needed - 1, needed - 30):
        again = ask(client, turn, budget=less, **asked).json()
        assert (again["type"], sum(again["parts"].values())) == ("context-over-budget", needed)
    assert ask(client, turn, budget=needed, **asked).status_code == 200
