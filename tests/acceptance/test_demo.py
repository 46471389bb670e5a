"""The demo shows what it promises, in time, and leaves nothing, also when it is stopped."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.environment import untouched
from tests.acceptance.trace import processes_about
from tests.data import ROOT
from tests.waiting import wait_until

DONE_WITHIN_S = 300.0
"""Half a minute on an idle machine with two cores; a busy one gets more."""

GONE_WITHIN_S = 120.0
HEADINGS = ["after 10 turns", "after 20 turns", "after 30 turns", "after 43 turns"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for temporary files that no process mentions any more when the test is over."""
    yield tmp_path
    wait_until(
        lambda: not processes_about(tmp_path), within_s=GONE_WITHIN_S, what=f"no process about {tmp_path}"
    )


def start(place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "afterturn", "demo"],
        cwd=ROOT,
        env=untouched(TMPDIR=str(place)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_demo_shows_every_request_with_its_proof_and_leaves_nothing(place: Path) -> None:
    said, complained = start(place).communicate(timeout=DONE_WITHIN_S)
    assert complained == ""
    assert [heading for heading in HEADINGS if heading in said] == HEADINGS
    assert said.count("ok fits") == said.count("ok tail without a gap") == len(HEADINGS)
    assert "NOT " not in said
    pairs = re.findall(r"ok (\d+) calls, (\d+) results", said)
    assert len(pairs) == len(HEADINGS)
    assert all(calls == results for calls, results in pairs)
    whole, sent = re.findall(r"([\d,]+) with the whole history +-> +([\d,]+) in the window", said)[-1]
    assert int(whole.replace(",", "")) > 1.5 * int(sent.replace(",", ""))
    assert re.search(r"summary +messages 1-\d+: [\d,]+ tokens -> [\d,]+, version \d+ by extractive", said)
    assert len(re.findall(r"server time +\d+\.\d ms", said)) == len(HEADINGS)
    assert max(map(len, said.split("\n"))) <= 100
    assert processes_about(place) == []
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("moment", ["The model's window", "stack ready", "after 10 turns"])
def test_ctrl_c_at_any_moment_leaves_nothing(place: Path, moment: str) -> None:
    demo = start(place)
    assert demo.stdout is not None
    assert any(moment in line for line in demo.stdout)
    demo.send_signal(signal.SIGINT)
    _, complained = demo.communicate(timeout=GONE_WITHIN_S)
    assert complained == "stopped; nothing is left\n"
    assert demo.returncode == 130
    assert processes_about(place) == []
    assert list(place.iterdir()) == []
