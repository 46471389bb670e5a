"""Sessions are erased or reset while their artifacts are read and their plans are made."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from llm.scripted import Mode
from tests.acceptance.platform import SOON_S, Platform
from tests.oracle import find_word, is_at_rest
from tests.waiting import wait_until

WORD = "quillfeather"
"""Said in these sessions and nowhere else."""

CATALOG = {
    "packs": [
        {"name": "blog.draft", "description": "Draft a blog article from a brief."},
        {"name": "image.generate", "description": "Generate an illustration from a description."},
    ]
}


def read_a_report(session_id: str) -> list[dict[str, Any]]:
    """A turn whose tool returns more than a message may hold."""
    line = f"The {WORD} of order Q-771 for {session_id} lies in hall seven and waits for its papers. "
    call = {"id": "c1", "type": "function", "function": {"name": "read_report", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"Where does the {WORD} lie, and what is it waiting for?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": line * 300},
        {"role": "assistant", "content": f"The {WORD} lies in hall seven."},
    ]


def begins_to_read(platform: Platform, session_id: str) -> None:
    platform.model.next(Mode.HANG)
    before = platform.model.count
    assert platform.send(session_id, f"{session_id}-1", read_a_report(session_id))
    wait_until(lambda: platform.model.count > before, within_s=SOON_S, what="the model reads the report")


def begins_to_plan(platform: Platform, session_id: str) -> None:
    assert platform.client.put("/v1/catalogs/main", json=CATALOG).is_success
    words = [
        {"role": "user", "content": f"It is about the {WORD}."},
        {"role": "assistant", "content": "Yes."},
    ]
    assert platform.send(session_id, f"{session_id}-1", words)
    platform.model.next(Mode.HANG)
    before = platform.model.count
    asked = {
        "intent": f"Draft a blog article about the {WORD} and generate an illustration for it",
        "catalog": "main",
        "model": "openai/scripted",
        "session_id": session_id,
    }
    assert platform.client.post("/v1/plans", json=asked).status_code == httpx.codes.ACCEPTED
    wait_until(lambda: platform.model.count > before, within_s=SOON_S, what="the model plans")


BEGUN: dict[str, Callable[[Platform, str], None]] = {"read": begins_to_read, "planned": begins_to_plan}
KINDS = {"read": "artifact", "planned": "plan"}


def begin(platform: Platform, work: str, session_id: str) -> int:
    """Let a model be asked for a session. Returns the id of the work that waits for it."""
    BEGUN[work](platform, session_id)
    running = "select work_id from due_work where kind = %s and state = 'running'"
    [(work_id,)] = platform.rows(running, KINDS[work])
    return int(work_id)


@pytest.mark.parametrize("work", BEGUN)
def test_a_session_erased_while_it_is_worked_for_stays_erased(platform: Platform, work: str) -> None:
    """Artifacts, their wishes and plans go with their session: a late answer finds none to fill.

    Red without "erase: artifacts go along".
    """
    session_id = f"{work}-erased"
    work_id = begin(platform, work, session_id)
    assert find_word(platform.database_url, WORD)
    answer = platform.client.delete(f"/v1/sessions/{session_id}")
    assert answer.status_code == httpx.codes.OK, answer.text
    platform.log.forget(session_id)
    platform.model.release()
    platform.logs.is_ended(work_id)
    wait_until(lambda: is_at_rest(platform.database_url), within_s=SOON_S, what="nothing is left to do")
    assert find_word(platform.database_url, WORD) == []


@pytest.mark.parametrize("work", ["read", pytest.param("planned", marks=pytest.mark.soak)])
def test_a_session_reset_while_it_is_worked_for_starts_empty(platform: Platform, work: str) -> None:
    """What is made of the old life stays with it, is seen by nothing of the new one, and goes with both.

    Red without "reset: the old log is behind it".
    Red without "erase: artifacts go along".
    """
    session_id = f"{work}-reset"
    work_id = begin(platform, work, session_id)
    assert platform.client.post(f"/v1/sessions/{session_id}/reset").is_success
    platform.model.release()
    platform.logs.is_ended(work_id)
    wait_until(lambda: is_at_rest(platform.database_url), within_s=SOON_S, what="nothing is left to do")
    window = platform.window(session_id)
    assert window["certificate"]["tail"] is None
    assert WORD not in str(window)
    assert platform.client.delete(f"/v1/sessions/{session_id}").is_success
    platform.log.forget(session_id)
    assert find_word(platform.database_url, WORD) == []
