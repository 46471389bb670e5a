"""Traces that are off cost nothing; those that are on go where they should."""

import json
import os
import socket
import subprocess
import sys

import pytest

from models.telemetry.settings import TracingSettings
from models.telemetry.tracing import NO_SPAN, annotate, present_trace, span
from tests.data import ROOT

OFF = """
import sys
from models.telemetry.tracing import annotate, present_trace, span
with span("any", kind="server", parent="00-1-2-01", facts=1) as step:
    step.tell(more=2)
    step.rename("other")
    step.fail("kind")
annotate(a=1)
assert present_trace() is None
assert "opentelemetry.sdk" not in sys.modules
assert "opentelemetry.trace" not in sys.modules
"""

AWAY = """
from models.telemetry.logging import configure_logging
from models.telemetry.tracing import MOST_WAITING, close_traces, span
configure_logging()
for number in range(2 * MOST_WAITING):
    with span("any", number=number) as step:
        step.tell(more=number)
close_traces()
"""


def test_where_traces_are_off_the_library_is_not_imported() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AFTERTURN_")}
    told = subprocess.run(
        [sys.executable, "-c", OFF], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr


def test_where_traces_are_off_a_step_is_nothing_and_its_errors_go_on() -> None:
    with span("any") as step:
        assert step is NO_SPAN
        annotate(a=1)
        assert present_trace() is None
    with pytest.raises(KeyError), span("any"):
        raise KeyError("any")


@pytest.mark.parametrize(
    ("environment", "collector"),
    [
        ({}, "http://127.0.0.1:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9/"}, "http://127.0.0.1:9/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/own"}, "http://127.0.0.1:9/own"),
        (
            {"AFTERTURN_TRACES_ENDPOINT": "http://127.0.0.1:8/t", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"},
            "http://127.0.0.1:8/t",
        ),
    ],
)
def test_the_nearest_name_of_a_collector_counts(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], collector: str
) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert TracingSettings().collector == collector


@pytest.mark.parametrize("share", ["-0.1", "1.1"])
def test_a_share_is_a_share(monkeypatch: pytest.MonkeyPatch, share: str) -> None:
    monkeypatch.setenv("AFTERTURN_TRACES_SHARE", share)
    with pytest.raises(ValueError, match="traces_share"):
        TracingSettings()


def test_a_collector_that_is_away_costs_one_line_of_the_log_and_no_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{taken.getsockname()[1]}/v1/traces"
        settings = {"AFTERTURN_TRACES": "true", "AFTERTURN_TRACES_ENDPOINT": away}
        told = subprocess.run(
            [sys.executable, "-c", AWAY],
            cwd=ROOT,
            env={**os.environ, **settings, "AFTERTURN_TRACES_TIMEOUT_S": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert told.returncode == 0, told.stderr
    lines = (told.stdout + told.stderr).splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["traces_lost"]
