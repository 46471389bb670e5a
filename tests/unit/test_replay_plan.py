"""What a replay decides before it sends anything: where to, as which sessions, and how fast."""

import json
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from afterturn.conversations.formats import Conversation, TurnEvent
from afterturn.operating import ApiTarget, NoTargetError, find_target
from afterturn.replay import assign_sessions, describe_jobs, pace, parse_speed, session_id_for

ONE = Conversation(events=(TurnEvent("turn-00001", ({"role": "user", "content": "hi"},)),), system_messages=1)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AFTERTURN_BASE_URL", "AFTERTURN_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_one_conversation_takes_the_name_and_many_are_numbered() -> None:
    assert [job.session_id for job in assign_sessions([ONE], "chat")] == ["chat"]
    assert [job.session_id for job in assign_sessions([ONE, ONE], "chat")] == ["chat-1", "chat-2"]


def test_what_is_replayed_and_what_is_left_out_is_said() -> None:
    jobs = assign_sessions([Conversation(ONE.events, skipped={"compaction": 2}), ONE], "chat")
    said = describe_jobs(jobs)
    assert said.startswith("2 messages in 2 turns -> 2 sessions")
    assert "1 system" in said
    assert "2 compaction" in said


@given(st.text(alphabet=st.characters(blacklist_characters="/\0"), min_size=1, max_size=300))
def test_any_file_name_gives_an_id_that_the_api_takes(name: str) -> None:
    session_id = session_id_for(Path(name))
    assert 1 <= len(f"{session_id}-1000000") <= 200
    assert session_id.isprintable()
    assert not set(session_id) & set("/\\ ")


def test_a_speed_spaces_the_turns() -> None:
    waits: list[float] = []
    ticks = pace(0.001, waits.append)
    for _ in range(3):
        next(ticks)
    assert waits[0] == 0
    assert waits[1:] == [pytest.approx(1000, abs=5), pytest.approx(2000, abs=5)]


def test_the_greatest_speed_never_waits() -> None:
    waits: list[float] = []
    ticks = pace(parse_speed("max"), waits.append)
    for _ in range(3):
        next(ticks)
    assert waits == []


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "nan", "inf", ""])
def test_a_speed_that_is_none_is_refused(speed: str) -> None:
    with pytest.raises(typer.BadParameter, match="neither"):
        parse_speed(speed)


def test_what_is_given_wins_over_the_environment_and_that_over_the_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stack.json").write_text(json.dumps({"ports": {"api": 4711}}))
    (tmp_path / "api-key").write_text("kept\n")
    assert find_target(None, None, tmp_path) == ApiTarget("http://127.0.0.1:4711", "kept")
    monkeypatch.setenv("AFTERTURN_BASE_URL", "http://env/")
    monkeypatch.setenv("AFTERTURN_API_KEY", "env")
    assert find_target(None, None, tmp_path) == ApiTarget("http://env", "env")
    assert find_target("http://given", "given", tmp_path) == ApiTarget("http://given", "given")


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"ports": {}}', "\0"])
def test_without_an_api_the_error_says_how_to_get_one(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "stack.json").write_text(content)
    with pytest.raises(NoTargetError, match="make up"):
        find_target(None, None, tmp_path)


def test_an_address_without_a_key_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(NoTargetError, match="no API key"):
        find_target("http://given", None, tmp_path)
