"""The first request after a long turn of an agent, before any summary is there."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from context.types import Wire
from context.wire import check_pairs
from tests.integration.reading import FACT, Platform, long_report, shown_artifacts

TASK = {"role": "user", "content": "Find why the nightly import drops rows of hall seven."}
ANSWER = {"role": "assistant", "content": "Rows without papers are dropped by import_rows.py at line 481."}


def steps(number: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for place in range(number):
        function = {"name": "read", "arguments": f'{{"path": "rows-{place}.py"}}'}
        call = {"id": f"c{place}", "type": "function", "function": function}
        told = f"step {place}\n" + "row of hall seven without papers\n" * 30
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": f"c{place}", "content": told})
    return made


@pytest.mark.parametrize("window", [4_000, 8_000])
def test_the_task_and_the_answer_of_a_long_turn_are_in_the_next_context(
    client: TestClient, window: int
) -> None:
    turn = [TASK, *steps(100), ANSWER]
    event = {"turn_id": "t1", "messages": turn}
    assert client.post("/v1/sessions/agent/turns", json=event).status_code == 202
    asked = {"model": "gpt-4o", "context_window": window, "max_tokens": 1_000}
    new = {"role": "user", "content": "And the rows of hall two?"}
    found = client.post("/v1/sessions/agent/context", json={**asked, "messages": [new]}).json()
    certificate = found["certificate"]
    assert certificate["fits"]
    assert certificate["tail"] == [1, len(turn)]
    assert not certificate["tail_contiguous"]
    assert found["messages"][0] == TASK
    assert found["messages"][-2:] == [ANSWER, new]
    assert check_pairs(found["messages"], Wire.OPENAI) == []
    assert certificate["input_tokens"] > (window - 1_000) * 0.6
    last = turn[-2]["tool_call_id"]
    assert last in {message.get("tool_call_id") for message in found["messages"]}
    gone = [one for one in certificate["excluded"] if one["what"].startswith("messages")]
    assert [(one["what"].split("-")[0], one["why"]) for one in gone] == [("messages 2", "does-not-fit")]


@pytest.mark.parametrize("window", [1_500, 1_750, 2_000, 2_250, 3_000, 4_000])
def test_an_extract_is_shown_where_the_room_for_it_stays_free(
    client: TestClient, tenant_id: Any, window: int
) -> None:
    platform = Platform(client, tenant_id, server=None)  # type: ignore[arg-type]
    platform.turn("Read the report of the depot.", long_report())
    found = platform.ask("When does the container leave?", context_window=window, max_tokens=500)
    assert FACT in shown_artifacts(found)
    assert [one for one in found["certificate"]["excluded"] if one["why"] == "no-room"] == []


def test_extracts_take_the_room_that_an_older_turn_cannot_use(client: TestClient, tenant_id: Any) -> None:
    platform = Platform(client, tenant_id, server=None)  # type: ignore[arg-type]
    platform.turn("Read the reports.", *(long_report(f"The container leaves berth {n}.") for n in range(3)))
    for number, length in enumerate((1_800, 20)):
        said = [{"role": "user", "content": "hall two " * length}, {"role": "assistant", "content": "Noted."}]
        event = {"turn_id": f"said-{number}", "messages": said}
        assert client.post("/v1/sessions/s1/turns", json=event).status_code == 202
    found = platform.ask("When does the container leave?", context_window=1_600, max_tokens=500)
    shown = shown_artifacts(found)
    assert [shown.count(f"The container leaves berth {n}.") for n in range(3)] == [1, 1, 1]
    assert [one for one in found["certificate"]["excluded"] if one["why"] == "no-room"] == []
