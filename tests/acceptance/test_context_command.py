"""`afterturn context` on a running stack: the picture of a window, without a trace."""

import subprocess
import sys

import httpx

from afterturn.stack.roles import Addresses
from tests.acceptance.command import afterturn
from tests.acceptance.environment import untouched
from tests.data import ROOT

SAID = [{"role": "user", "content": "Is GW-3 up?"}, {"role": "assistant", "content": "It is up."}]


def test_a_question_gets_the_picture_of_its_window_and_leaves_no_trace(
    client: httpx.Client, addresses: Addresses
) -> None:
    turn = {"turn_id": "t1", "model": "gpt-4o", "context_window": 16_000, "messages": SAID}
    client.post("/v1/sessions/pictured/turns", json=turn).raise_for_status()
    before = client.get("/v1/sessions/pictured").json()
    told = afterturn(addresses.directory, "context", "pictured", "And GW-4?", "--max-tokens", "500")
    for label in (
        "after 1 turns",
        "user asks      And GW-4?",
        "made of",
        "summary",
        "ok fits",
        "server time",
    ):
        assert label in told
    assert "of 15,500" in told
    assert client.get("/v1/sessions/pictured").json()["tokens"] == before["tokens"]


def test_a_session_that_nobody_has_is_told_in_a_line(addresses: Addresses) -> None:
    command = [sys.executable, "-m", "afterturn", "context", "nobodys", "?", "--data-dir"]
    done = subprocess.run(
        [*command, str(addresses.directory)],
        cwd=ROOT,
        env=untouched(),
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("context: there is no such session")
