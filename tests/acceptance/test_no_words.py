"""A whole stack that was told secrets: no log, no view and no error text repeats a word of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from afterturn.stack.roles import StackRole
from afterturn.stack.stack import Stack
from llm.scripted import Mode, ScriptedServer, Step
from tests.acceptance.platform import MARKER, ROLES, SECRET_KEY, SOON_S, Platform, dialogue, environment
from tests.waiting import wait_until

SESSION = "quiet"
LAST = "the-last-of-the-requests"
TASKS = "/tasks/datatable"
ALL_TASKS = {
    "draw": "1",
    "start": "0",
    "length": "500",
    "order[0][column]": "0",
    "order[0][dir]": "asc",
    "columns[0][data]": "name",
}
SAID = "periwinkle"
OF_THE_PROCESS = {"process_started", "rate_store_away", "rate_store_back", "counts_kept"}
"""The start of a process, and lines of a thread of its own where a server was late: of nobody's request."""

ODD_BODIES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/sessions/odd/turns", {"turn_id": "t", "messages": [{"role": MARKER, "content": SAID}]}),
    (
        "/v1/sessions/odd/turns",
        {"turn_id": "t", "messages": [{"role": "user", "content": SAID}], MARKER: SAID},
    ),
    ("/v1/sessions/odd/context", {"model": "m", "messages": SAID}),
    (f"/v1/{MARKER}", {}),
    ("/v1/plans", {"intent": SAID, "catalog": "none", "model": "m"}),
]


@pytest.fixture(scope="module")
def told() -> Iterator[tuple[Platform, Stack, list[str]]]:
    """A stack, Flower included, that heard the marker in every way; and what it answered to odd requests."""
    with ScriptedServer() as model, pytest.MonkeyPatch.context() as patch:
        for name, value in environment(model).items():
            patch.setenv(name, value)
        with Stack(roles=(*ROLES, StackRole.FLOWER)) as stack:
            platform = Platform(stack, model)
            yield platform, stack, talk(platform, stack, model)
            platform.close()


def talk(platform: Platform, stack: Stack, model: ScriptedServer) -> list[str]:
    """Turns, contexts, plans, odd requests, and a model that repeats the marker in refusals and errors."""
    wait_until(lambda: "maintenance.tick" in shown_by_flower(stack), within_s=SOON_S, what="Flower hears")
    refusal = Step(Mode.REFUSAL, text=f"I cannot say {MARKER}.", times=2)  # a first one is asked again
    model.next(Step(Mode.BAD_REQUEST, text=MARKER), refusal)
    with httpx.Client(
        base_url=stack.at.base_url, headers={"Authorization": f"Bearer {stack.at.api_key}"}, timeout=60
    ) as client:
        for number in range(1, 8):
            turn = {"turn_id": f"t{number}", "messages": dialogue(number), "plan": {"intent": MARKER}}
            assert client.post(f"/v1/sessions/{SESSION}/turns", json=turn).is_success
            asked = {"role": "user", "content": f"Where is {MARKER}?"}
            wish = {"model": "gpt-4o-mini", "focus": MARKER, "messages": [asked]}
            assert client.post(f"/v1/sessions/{SESSION}/context", json=wish).is_success
        assert client.post("/v1/preflight", json={"message": MARKER}).is_success
        refused = [client.post(path, json=body) for path, body in ODD_BODIES]
        last = client.post("/v1/preflight", json={"message": MARKER}, headers={"X-Request-Id": LAST})
        assert last.is_success
    wait_until(lambda: tried(platform), within_s=SOON_S, what="the model has failed and was refused")
    wait_until(lambda: is_told_of_all(platform), within_s=SOON_S, what="the lines that come last")
    assert all(answer.is_client_error for answer in refused), [answer.status_code for answer in refused]
    return [answer.text for answer in refused]


def tried(platform: Platform) -> bool:
    failed = "select 1 from llm_call where failure is not null and session_id = %s"
    refused = "select 1 from summary where rejected_because is not null and session_id = %s"
    return bool(platform.rows(failed, SESSION)) and bool(platform.rows(refused, SESSION))


def is_told_of_all(platform: Platform) -> bool:
    """Whether both the worker and the API have logged what they did last of all this."""
    outcomes = platform.logs.outcomes(platform.work_id(SESSION))
    answered = {line["request_id"] for line in platform.logs.told_by("api", "preflight_classified")}
    return any(outcome.startswith("rejected") for outcome in outcomes) and LAST in answered


def shown_by_flower(stack: Stack) -> str:
    return httpx.get(
        f"{stack.at.flower_url}{TASKS}", params=ALL_TASKS, auth=flower_auth(stack), timeout=60
    ).text


def flower_auth(stack: Stack) -> tuple[str, str]:
    name, _, password = stack.at.flower_auth.partition(":")
    return name, password


def test_no_log_repeats_it(told: tuple[Platform, Stack, list[str]]) -> None:
    platform, stack, _ = told
    logs = platform.logs.texts()
    assert {"api.log", "worker.log", "dispatcher.log", "beat.log", "flower.log", "postgres.log"} <= set(logs)
    assert "preflight_classified" in logs["api.log"]
    assert "work_done" in logs["worker.log"]
    secrets = (MARKER, SAID, SECRET_KEY, flower_auth(stack)[1])
    assert {name for name, text in logs.items() if any(secret in text for secret in secrets)} == set()


def test_every_line_of_ours_says_whose_it_is(told: tuple[Platform, Stack, list[str]]) -> None:
    platform, _, _ = told
    for file in ("api", "worker"):
        lines = platform.logs.lines_of(file)
        ours = [line for line in lines if "logger" not in line and line["event"] not in OF_THE_PROCESS]
        assert ours
        for line in ours:
            assert {"request_id", "work_id"} & line.keys(), line


def test_flower_shows_tasks_by_name_and_number(told: tuple[Platform, Stack, list[str]]) -> None:
    _, stack, _ = told
    wait_until(
        lambda: "summaries.summarize" in shown_by_flower(stack), within_s=SOON_S, what="Flower shows it"
    )
    shown = shown_by_flower(stack)
    tasks = json.loads(shown)["data"]
    assert {task["name"] for task in tasks} >= {"summaries.summarize", "maintenance.tick"}
    for task in tasks:
        assert re.fullmatch(r"[\[(]?\d*,?[\])]?", task["args"] or ""), task
        assert task["kwargs"] in {"{}", "", None}
    assert MARKER not in shown


@pytest.mark.parametrize(
    "path", ["/", "/workers", TASKS, "/api/workers", "/api/tasks", "/metrics", "/healthcheck"]
)
def test_flower_is_closed_to_whoever_has_no_password(
    told: tuple[Platform, Stack, list[str]], path: str
) -> None:
    _, stack, _ = told
    name, password = flower_auth(stack)
    for auth in (None, (name, ""), (name, f"{password}x"), ("", "")):
        assert httpx.get(f"{stack.at.flower_url}{path}", auth=auth, timeout=60).status_code == 401
    page = httpx.get(f"{stack.at.flower_url}{path}", auth=(name, password), params=ALL_TASKS, timeout=60)
    assert page.status_code == 200


def test_no_command_line_shows_flowers_password(told: tuple[Platform, Stack, list[str]]) -> None:
    _, stack, _ = told
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in stack.at.pids.values()]
    assert any(b"flower" in line for line in lines)
    assert not any(flower_auth(stack)[1].encode() in line for line in lines)


def test_no_error_that_is_kept_repeats_it(told: tuple[Platform, Stack, list[str]]) -> None:
    platform, _, _ = told
    kept = platform.rows("select failure, detail from llm_call where failure is not null")
    kept += platform.rows("select last_error, last_outcome, refused_because from due_work")
    kept += platform.rows("select reason, model from provider_gate")
    kept += platform.rows("select rejected_because, model from summary")
    assert kept
    assert MARKER not in str(kept)


def test_no_metric_repeats_it(told: tuple[Platform, Stack, list[str]]) -> None:
    _, stack, _ = told
    page = httpx.get(f"{stack.at.base_url}/metrics", timeout=60)
    assert page.status_code == httpx.codes.OK
    assert MARKER not in page.text
    assert SESSION not in page.text


def test_a_refusal_names_what_is_unknown_and_repeats_no_words(
    told: tuple[Platform, Stack, list[str]],
) -> None:
    """A role or a field that the caller itself named is told to it; what it said is not."""
    _, _, refused = told
    assert [MARKER in text for text in refused] == [True, True, False, False, False]
    assert not any(SAID in text for text in refused)
