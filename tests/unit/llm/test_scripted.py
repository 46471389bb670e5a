"""The scripted model: it answers in the way it is told, and remembers what it was asked."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.gate import Covered, Draft, judge_summary
from context.summary.prompt import SummaryInput, summary_messages
from context.tokens.text import count_text
from context.types import Role
from llm.scripted import Mode, Script, ScriptedServer, Step
from llm.scripted.answers import chunks, completion, summarize_prompt
from tests.data import ROOT
from tests.waiting import wait_until

QUESTION = {"model": "x", "messages": [{"role": "user", "content": "Look at /srv/app.py please."}]}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(default=Step(Mode.OK)) as scripted:
        yield scripted


def post(server: ScriptedServer, **fields: Any) -> httpx.Response:
    return httpx.post(f"{server.base_url}/chat/completions", json={**QUESTION, **fields}, timeout=30)


def test_queued_steps_are_served_in_order_and_then_the_default() -> None:
    script = Script(Step(Mode.OK))
    script.add([Step(Mode.EMPTY, times=2), Step(Mode.REFUSAL)])
    assert [script.next_step("x").mode for _ in range(4)] == [Mode.EMPTY, Mode.EMPTY, Mode.REFUSAL, Mode.OK]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_models_name_can_ask_for_any_mode(mode: Mode) -> None:
    assert Script(Step(Mode.OK)).next_step(f"openai/scripted-{mode}").mode is mode


@pytest.mark.parametrize("model", ["gpt-4o-mini", "scripted-nonsense", ""])
def test_another_name_gets_the_default(model: str) -> None:
    assert Script(Step(Mode.OK)).next_step(model).mode is Mode.OK


@pytest.mark.parametrize(
    ("mode", "status"),
    [(Mode.RATE_LIMITED, 429), (Mode.SERVER_ERROR, 500), (Mode.BAD_KEY, 401), (Mode.CONTEXT_LENGTH, 400)],
)
def test_an_error_has_its_status_and_a_code(server: ScriptedServer, mode: Mode, status: int) -> None:
    server.next(mode)
    answer = post(server)
    assert answer.status_code == status
    assert answer.json()["error"]["code"]


def test_requests_are_recorded_with_their_bodies(server: ScriptedServer) -> None:
    post(server, model="y")
    assert [(seen.model, seen.step.mode) for seen in server.requests] == [("y", Mode.OK)]
    assert server.requests[0].body["messages"] == QUESTION["messages"]


def test_a_stream_says_the_same_as_the_whole_answer() -> None:
    body = completion(QUESTION, Step(Mode.SUMMARY), number=1)
    events = chunks(body, with_usage=True)
    text = "".join(event["choices"][0]["delta"].get("content", "") for event in events if event["choices"])
    assert text == body["choices"][0]["message"]["content"]
    assert events[-1]["usage"] == body["usage"]


def test_a_stream_ends_in_done(server: ScriptedServer) -> None:
    lines = post(server, stream=True).text.strip().split("\n\n")
    assert lines[-1] == "data: [DONE]"
    assert all(json.loads(line.removeprefix("data: ")) for line in lines[:-1])


def test_a_dripping_stream_never_completes_an_event(server: ScriptedServer) -> None:
    server.next(Step(Mode.DRIP, drip_s=0.3))
    answer = post(server, stream=True).text
    assert answer.startswith("data: {")
    assert "\n" not in answer


def test_a_dripping_answer_completes_in_the_end(server: ScriptedServer) -> None:
    server.next(Step(Mode.DRIP, drip_s=0.3))
    started_s = time.monotonic()
    assert post(server).json()["choices"][0]["finish_reason"] == "stop"
    assert time.monotonic() - started_s >= 0.3


def test_a_reset_breaks_the_connection(server: ScriptedServer) -> None:
    server.next(Mode.RESET)
    with pytest.raises(httpx.TransportError):
        post(server)


def test_a_hanging_request_ends_when_it_is_released(server: ScriptedServer) -> None:
    server.next(Mode.HANG)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.base_url}/chat/completions", json=QUESTION, timeout=0.2)
    server.next(Mode.HANG)
    server.release()
    assert post(server).status_code == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
def test_a_body_that_is_no_object_is_refused(server: ScriptedServer, body: bytes) -> None:
    answer = httpx.post(f"{server.base_url}/chat/completions", content=body, timeout=30)
    assert answer.status_code == 400


def test_another_process_is_scripted_over_http() -> None:
    command = [sys.executable, "-m", "llm.scripted", "--default", "empty"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        at = json.loads(running.stdout.readline())
        httpx.post(at["control_url"], json={"steps": [{"mode": "429", "retry_after_s": 9}]}, timeout=30)
        first = httpx.post(f"{at['base_url']}/chat/completions", json=QUESTION, timeout=30)
        second = httpx.post(f"{at['base_url']}/chat/completions", json=QUESTION, timeout=30)
        seen = httpx.get(at["control_url"], timeout=30).json()
        running.terminate()
        wait_until(lambda: running.poll() is not None, within_s=30, what="the server ends")
    assert (first.status_code, first.headers["Retry-After"]) == (429, "9")
    assert second.json()["choices"][0]["message"]["content"] == ""
    assert (seen["count"], seen["requests"][0]["mode"]) == (2, "429")
    assert running.returncode == 0


def transcript(words: str) -> tuple[RenderedLine, ...]:
    said = [
        RenderedLine(2 * n + 1, LineKind.TEXT, Role.USER, "Ana (user)", f"{words} build {4700 + n}", 2 * n)
        for n in range(20)
    ]
    done = [
        RenderedLine(
            2 * n + 2, LineKind.TEXT, Role.ASSISTANT, "assistant", f"{words} /srv/app/file{n}.py", 2 * n + 1
        )
        for n in range(20)
    ]
    return tuple(line for pair in zip(said, done, strict=True) for line in pair)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Please check whether the deployment of the service went through and tell me about"),
        ("ru", "Пожалуйста, проверь, прошло ли развёртывание сервиса, и расскажи мне про"),
        ("ja", "サービスのデプロイが完了したかどうか確認して、結果を教えてください。"),
    ],
)
@pytest.mark.parametrize(
    "previous", [None, "## Open work\n- Ana waits for INV-20391 of 2026-03-09\n- fix config.toml"]
)
def test_a_summary_of_our_own_prompt_passes_our_own_gate(
    language: str, words: str, previous: str | None
) -> None:
    asked = SummaryInput(transcript(words), 2000, language, previous)
    text = summarize_prompt({"messages": summary_messages(asked), "max_tokens": 2000})
    covered = Covered(asked.lines, sum(count_text(str(line)) for line in asked.lines), previous, language)
    assert judge_summary(Draft(text, count_text(text), "stop"), covered).reason is None
