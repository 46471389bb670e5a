"""One turn is one trace: from its request through the work to the summary in force."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from afterturn.stack.roles import StackRole
from afterturn.stack.stack import Stack
from llm.scripted import Mode, ScriptedServer, Step
from tests.acceptance.collector import Collector, Told
from tests.acceptance.platform import (
    MARKER,
    ROLES,
    SECRET_KEY,
    SOON_S,
    Platform,
    children_of,
    dialogue,
    environment,
)
from tests.oracle import is_at_rest
from tests.waiting import wait_until

STEPS = (
    *("load standing", "load tail", "rank tools", "gather artifacts", "recall passages", "assemble window"),
)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@dataclass(frozen=True)
class Traced:
    """A stack that tells its traces, and who hears them."""

    platform: Platform
    collector: Collector


@pytest.fixture(scope="module")
def traced_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    headers = tmp_path_factory.mktemp("secrets") / "headers"
    headers.write_text("Authorization=Basic%20cGstMTpzay0y,x-langfuse-ingestion-version=4\n")
    with ExitStack() as running:
        model = running.enter_context(ScriptedServer())
        collector = running.enter_context(Collector().listening())
        with pytest.MonkeyPatch.context() as patch:
            settings = {"AFTERTURN_TRACES": "true", "AFTERTURN_TRACES_ENDPOINT": collector.url}
            settings["AFTERTURN_TRACES_TIMEOUT_S"] = "20"
            settings["OTEL_EXPORTER_OTLP_HEADERS_FILE"] = str(headers)
            for name, value in {**environment(model), **settings}.items():
                patch.setenv(name, value)
            stack = running.enter_context(Stack(roles=ROLES))
        platform = Platform(stack, model)
        running.callback(platform.close)
        yield Traced(platform, collector)


@pytest.fixture
def traced(traced_stack: Traced) -> Traced:
    """The stack at rest: work that an earlier test left would take the next test's answer of the model."""
    wait_until(lambda: is_at_rest(traced_stack.platform.database_url), within_s=SOON_S, what="rest before it")
    return traced_stack


def talk(traced: Traced, session_id: str, trace_id: str) -> None:
    """Four turns; the last one, which makes a summary due, comes with its caller's trace."""
    for number in range(1, 5):
        trace = trace_id if number == 4 else f"{number:032x}"
        answer = traced.platform.client.post(
            f"/v1/sessions/{session_id}/turns",
            json={"turn_id": f"t{number}", "messages": dialogue(number)},
            headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"},
        )
        assert answer.is_success, answer.text
        assert answer.headers["x-trace-id"] == trace


def arrived(traced: Traced, trace_id: str, name: str, times: int = 1) -> list[Told]:
    wait_until(
        lambda: len(traced.collector.of(trace_id, name)) >= times,
        within_s=SOON_S,
        what=f"{name} in {[span.name for span in traced.collector.spans if span.trace_id == trace_id]}",
    )
    return traced.collector.of(trace_id, name)


def under_way(traced: Traced) -> int:
    """Number of pieces of work that are due or running."""
    kinds = traced.platform.client.get("/v1/work").json()["kinds"]
    return sum(int(kind["due"]) + int(kind["running"]) for kind in kinds)


def test_a_turn_is_one_trace_through_two_processes(traced: Traced) -> None:
    talk(traced, "followed", TRACE)
    traced.platform.is_summarized("followed")
    [request] = arrived(traced, TRACE, "POST /v1/sessions/{session_id}/turns")
    [work] = arrived(traced, TRACE, "work summarize")
    [call] = arrived(traced, TRACE, "chat scripted")
    [stored] = arrived(traced, TRACE, "store summary")
    assert (request.service, request.parent_id) == ("afterturn-api", "00f067aa0ba902b7")
    assert (work.service, work.parent_id) == ("afterturn-worker", request.span_id)
    assert (call.parent_id, stored.parent_id) == (work.span_id, work.span_id)
    assert request.attributes["http.response.status_code"] == 202
    assert call.attributes["gen_ai.usage.output_tokens"] > 0
    known = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.conversation.id": "followed",
        "gen_ai.output.type": "text",
        "gen_ai.response.finish_reasons": ["stop"],
    }
    assert {name: call.attributes.get(name) for name in known} == known
    assert stored.attributes["afterturn.outcome"].startswith("activated version 1")
    assert work.attributes["afterturn.outcome"] == stored.attributes["afterturn.outcome"]


def test_the_collector_gets_the_headers_of_a_secret_file(traced: Traced) -> None:
    talk(traced, "with-headers", TRACE.replace("4bf9", "ebf9"))
    arrived(traced, TRACE.replace("4bf9", "ebf9"), "POST /v1/sessions/{session_id}/turns")
    for sent in list(traced.collector.headers):
        assert sent["authorization"] == "Basic cGstMTpzay0y"
        assert sent["x-langfuse-ingestion-version"] == "4"


def test_a_trace_that_is_not_sent_is_not_named(traced: Traced) -> None:
    unsent = {"traceparent": f"00-{TRACE.replace('4bf9', 'dbf9')}-00f067aa0ba902b7-00"}
    answer = traced.platform.client.get("/v1/key", headers=unsent)
    assert "x-trace-id" not in answer.headers


def test_what_machines_do_all_day_has_no_trace(traced: Traced) -> None:
    for probe in ("/healthz", "/readyz", "/metrics"):
        answer = traced.platform.client.get(probe)
        assert "x-trace-id" not in answer.headers
    answer = traced.platform.client.get("/v1/key")
    arrived(traced, answer.headers["x-trace-id"], "GET /v1/key")
    routine = {"work sweep", *(f"GET {probe}" for probe in ("/healthz", "/readyz", "/metrics"))}
    assert not routine & {span.name for span in traced.collector.spans}
    assert traced.platform.logs.told_by("worker", "work_done"), "sweeps ran"


def test_steps_have_a_kind_and_requests_their_session(traced: Traced) -> None:
    """A viewer shows spans by their kinds, and the requests of a session together."""
    trace = TRACE.replace("4bf9", "fbf9")
    talk(traced, "grouped", trace)
    traced.platform.is_summarized("grouped")
    [request] = arrived(traced, trace, "POST /v1/sessions/{session_id}/turns")
    [work] = arrived(traced, trace, "work summarize")
    [call] = arrived(traced, trace, "chat scripted")
    kinds = [told.attributes.get("openinference.span.kind") for told in (request, work, call)]
    assert kinds == ["CHAIN", "CHAIN", None]
    assert request.attributes["session.id"] == call.attributes["session.id"] == "grouped"
    refused = traced.platform.client.get("/v1/sessions/not%20found")
    [told] = arrived(traced, refused.headers["x-trace-id"], "GET /v1/sessions/{session_id}")
    assert "session.id" not in told.attributes


def test_a_request_without_a_trace_gets_one_and_is_told_its_id(traced: Traced) -> None:
    answer = traced.platform.client.get("/v1/sessions/nobody")
    arrived(traced, answer.headers["x-trace-id"], "GET /v1/sessions/{session_id}")


def test_a_crash_and_the_second_try_are_two_steps_of_one_trace(traced: Traced) -> None:
    trace = TRACE.replace("4bf9", "5bf9")
    traced.platform.model.next(Mode.HANG)
    before = traced.platform.model.count
    talk(traced, "crashed", trace)
    wait_until(lambda: traced.platform.model.count > before, within_s=SOON_S, what="the model is asked")
    [first] = arrived(traced, trace, "claim summarize")
    wait_until(lambda: under_way(traced) == 1, within_s=SOON_S, what="the crash is that of this work alone")
    for pid in children_of(traced.platform.pid(StackRole.WORKER)):
        traced.platform.end(pid)
    traced.platform.is_summarized("crashed")
    [work] = arrived(traced, trace, "work summarize")
    assert work.attributes["afterturn.crashes"] == 1
    second = arrived(traced, trace, "claim summarize", 2)[-1]
    assert [told.attributes["afterturn.crashes"] for told in (first, second)] == [0, 1]


def test_a_failed_call_says_of_what_kind_and_no_more(traced: Traced) -> None:
    trace = TRACE.replace("4bf9", "6bf9")
    traced.platform.model.next(Step(Mode.BAD_REQUEST, text=MARKER))
    talk(traced, "refused", trace)
    call = arrived(traced, trace, "chat scripted")[0]
    assert call.failed
    assert call.attributes["error.type"] == "LlmFailure"
    assert call.attributes["afterturn.cause"]


def test_a_read_of_a_context_tells_its_steps_and_its_request(traced: Traced) -> None:
    trace = TRACE.replace("4bf9", "abf9")
    talk(traced, "read", trace.replace("abf9", "bbf9"))
    answer = traced.platform.client.post(
        "/v1/sessions/read/context",
        json={"model": "gpt-4o", "messages": [{"role": "user", "content": f"And {MARKER}?"}]},
        headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "X-Request-Id": "named-by-caller"},
    )
    assert answer.is_success, answer.text
    [request] = arrived(traced, trace, "POST /v1/sessions/{session_id}/context")
    assert request.attributes["afterturn.request_id"] == "named-by-caller"
    for name in STEPS:
        [step] = arrived(traced, trace, name)
        assert (step.parent_id, step.failed) == (request.span_id, False)
    [tail] = arrived(traced, trace, "load tail")
    assert tail.attributes["afterturn.messages"] in (2, 8)


def test_lines_of_the_log_name_their_trace(traced: Traced) -> None:
    trace = TRACE.replace("4bf9", "7bf9")
    talk(traced, "logged", trace)
    traced.platform.is_summarized("logged")
    # A worker writes its line after the commit that others wait for.
    wait_until(
        lambda: (
            trace in {line.get("trace_id") for line in traced.platform.logs.told_by("worker", "work_done")}
        ),
        within_s=SOON_S,
        what="the worker's line",
    )


def test_no_span_holds_a_word_or_a_key(traced: Traced) -> None:
    """A model that repeats the word in an error, and reads and turns that are full of it, have been told."""
    trace = TRACE.replace("4bf9", "cbf9")
    traced.platform.model.next(Step(Mode.BAD_REQUEST, text=MARKER))
    talk(traced, "discreet", trace)
    arrived(traced, trace, "POST /v1/sessions/{session_id}/turns")
    assert arrived(traced, trace, "chat scripted")[0].failed
    traced.platform.is_summarized("discreet")
    arrived(traced, trace, "work summarize", 2)
    for body in list(traced.collector.bodies):
        for secret in (MARKER, SECRET_KEY, traced.platform.client.headers["Authorization"].split()[1]):
            assert secret.encode() not in body


def test_a_collector_that_hangs_or_is_away_holds_up_nobody(traced: Traced) -> None:
    traced.collector.hold.set()
    try:
        talk(traced, "unheard", TRACE.replace("4bf9", "8bf9"))
        traced.platform.is_summarized("unheard")
        pid = traced.platform.pid(StackRole.DISPATCHER)
        os.kill(pid, signal.SIGTERM)
        wait_until(
            lambda: traced.platform.pid(StackRole.DISPATCHER) != pid,
            within_s=SOON_S,
            what="another dispatcher",
        )
    finally:
        traced.collector.hold.clear()
    trace = TRACE.replace("4bf9", "9bf9")
    talk(traced, "heard again", trace)
    arrived(traced, trace, "POST /v1/sessions/{session_id}/turns")
