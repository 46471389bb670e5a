"""Plans through the whole running stack: API, dispatcher, broker, worker, and a model that falls silent."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from afterturn.stack.roles import StackRole
from afterturn.stack.stack import Stack
from llm.scripted import Mode, ScriptedServer, Step
from tests.acceptance.platform import ROLES, SOON_S, environment
from tests.oracle import is_at_rest
from tests.unit.tool_plans.catalogs import MULTI_INTENT, large_guide
from tests.waiting import wait_until

SILENT_OVER_BYTES = 16_000
MODEL = "openai/scripted"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    """A small model: it answers nothing to a prompt that is too large for it."""
    with ScriptedServer(default=Step(Mode.EMPTY_OVER, over_bytes=SILENT_OVER_BYTES)) as scripted:
        yield scripted


@pytest.fixture(scope="module")
def stack(model: ScriptedServer) -> Iterator[Stack]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(model).items():
            patch.setenv(name, value)
        with Stack(roles=ROLES) as running:
            yield running


@pytest.fixture
def client(stack: Stack, model: ScriptedServer) -> Iterator[httpx.Client]:
    wait_until(lambda: is_at_rest(stack.at.database_url), within_s=SOON_S, what="rest before it")
    model.reset()
    stack.poll()
    key = {"Authorization": f"Bearer {stack.at.api_key}"}
    with httpx.Client(base_url=stack.at.base_url, headers=key, timeout=60) as caller:
        assert caller.put("/v1/catalogs/main", json=large_guide()).is_success
        yield caller


def ask(client: httpx.Client, **fields: Any) -> httpx.Response:
    return client.post(
        "/v1/plans", json={"intent": MULTI_INTENT, "catalog": "main", "model": MODEL, **fields}
    )


def finished(client: httpx.Client, plan_id: str) -> Any:
    """The plan, once it is ready or has failed."""

    def is_finished() -> bool:
        return bool(client.get(f"/v1/plans/{plan_id}").json()["status"] != "wanted")

    wait_until(is_finished, within_s=SOON_S, what=f"plan {plan_id}")
    return client.get(f"/v1/plans/{plan_id}").json()


def prompt_sizes(model: ScriptedServer) -> list[int]:
    """Bytes of each prompt that the model was given."""
    return [sum(len(part["content"].encode()) for part in seen.body["messages"]) for seen in model.requests]


def test_a_request_behind_a_paste_is_planned_by_a_small_model(
    client: httpx.Client, model: ScriptedServer
) -> None:
    answer = ask(client, wait_ms=10_000)
    plan = answer.json() if answer.status_code == 200 else finished(client, answer.json()["plan_id"])
    assert plan["status"] == "ready", plan
    assert [step["tool"] for step in plan["steps"]] == ["memory.remember"]
    assert plan["more_steps_likely"] is True
    assert plan["compaction"]["before_bytes"] > SILENT_OVER_BYTES > plan["compaction"]["after_bytes"]
    assert plan["compaction"]["filter_pass"] == "used"
    assert [size <= SILENT_OVER_BYTES for size in prompt_sizes(model)] == [True, True]


def test_a_plan_its_outcome_and_the_history_belong_together(client: httpx.Client) -> None:
    plan = finished(client, ask(client, model="extractive").json()["plan_id"])
    assert [step["tool"] for step in plan["steps"]] == ["memory.remember", "blog.draft", "image.generate"]
    report = {
        "steps": [{"order": 1, "outcome": "ok"}, {"order": 3, "outcome": "error", "error": "no colours"}]
    }
    assert client.post(f"/v1/plans/{plan['plan_id']}/outcome", json=report).json()["joined"] == 2
    tools = {tool["tool"]: tool for tool in client.get("/v1/my-plans").json()["tools"]}
    assert tools["image.generate"]["error"] == 1
    assert tools["blog.draft"]["unknown"] >= 1


def test_a_plan_survives_the_worker_that_makes_it(
    client: httpx.Client, stack: Stack, model: ScriptedServer
) -> None:
    model.next(Mode.HANG)
    plan_id = ask(client).json()["plan_id"]
    wait_until(lambda: model.count == 1, within_s=SOON_S, what="the model is asked")
    stack.poll()
    os.kill(stack.at.pids[StackRole.WORKER], signal.SIGKILL)
    plan = finished(client, plan_id)
    assert (plan["status"], len(plan["steps"])) == ("ready", 1)
    assert plan["usage"]["calls"] == 3  # the one that was cut, and both passes of the next try
