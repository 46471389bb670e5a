"""Prepared summaries: made early, used once, put in force while the cache is cold or history presses."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from context.providers.model_windows import NARROW_READS
from llm.failures import Cause, LlmFailure
from models import database as session
from models.artifacts.settings import planning_settings
from models.conversations.kept_summaries import keep_part
from models.conversations.session import lock_sessions
from models.conversations.settings import compression_settings
from models.conversations.summary import SummaryState, drop_prepared
from models.due_work.queue import WorkKind, WorkState, enqueue, lock_lease
from models.scope import Scope
from tests.integration.activating import CHAT, PATH, Chat
from tests.integration.summarizing import Model

PREPARED, ACTIVE, SUPERSEDED = SummaryState.PREPARED, SummaryState.ACTIVE, SummaryState.SUPERSEDED


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A summary is prepared above 6 raw messages, called for above 10, and leaves 2 raw; it costs little."""
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_MESSAGE_COUNT", "10")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_SHARE", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_TOKENS", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_KEEP_MESSAGES", "2")
    monkeypatch.setenv("AFTERTURN_ARTIFACT_PRICE_SHARE", "0.003")
    compression_settings.cache_clear()
    planning_settings.cache_clear()
    yield monkeypatch
    compression_settings.cache_clear()
    planning_settings.cache_clear()


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID, settings: pytest.MonkeyPatch) -> Chat:  # noqa: ARG001
    """A session of four turns, that paused once."""
    talk = Chat(client, tenant_id)
    talk.say()
    talk.pass_by(301)
    talk.say(3)
    return talk


@pytest.fixture
def prepared(chat: Chat) -> Chat:
    """The same, with a summary that waits."""
    assert chat.work_off() == "prepared version 1"
    return chat


def test_a_summary_made_early_waits_and_history_stays_raw(prepared: Chat) -> None:
    answer = prepared.read()
    assert prepared.states == [PREPARED]
    assert answer["certificate"]["summary_covers"] is None
    assert answer["certificate"]["tail"] == [1, 8]
    assert answer["utilization"]["cache"]["prepared_through"] == 6
    assert answer["utilization"]["cache"]["activation"] is None


def test_a_session_without_pauses_is_summarized_once_when_history_presses(
    client: TestClient, tenant_id: UUID, settings: pytest.MonkeyPatch
) -> None:
    del settings
    chat = Chat(client, tenant_id)
    chat.say(4)
    assert chat.work_off() == "nothing to do"
    chat.say(2)
    assert chat.work_off() == "activated version 1: pressure"
    assert chat.states == [ACTIVE]


def test_a_cold_cache_puts_it_in_force_without_another_call(prepared: Chat) -> None:
    prepared.pass_by(301)
    answer = prepared.read()
    assert answer["utilization"]["cache"]["activation"] == "cold cache"
    assert answer["utilization"]["cache"]["stable_prefix_tokens"] == 0
    assert answer["certificate"]["summary_covers"] == [1, 6]
    assert answer["certificate"]["tail"] == [7, 8]
    assert prepared.states == [ACTIVE]


def test_a_turn_that_goes_on_has_warmed_the_cache_and_keeps_its_prefix(prepared: Chat) -> None:
    prepared.pass_by(301)
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    answer = prepared.read(
        messages=[
            {"role": "user", "content": "And now?"},
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ]
    )
    assert answer["utilization"]["cache"]["activation"] is None
    assert answer["utilization"]["cache"]["stable_prefix_tokens"] > 0
    assert prepared.states == [PREPARED]
    assert prepared.read()["utilization"]["cache"]["activation"] == "cold cache"


def test_the_request_after_it_starts_alike(prepared: Chat) -> None:
    prepared.pass_by(301)
    first = prepared.read()
    prepared.say()
    second = prepared.read()
    assert second["utilization"]["cache"]["activation"] is None
    assert second["utilization"]["cache"]["stable_prefix_tokens"] > 0
    shared = len(first["messages"]) - 1
    assert second["messages"][:shared] == first["messages"][:shared]


def test_another_provider_keeps_its_cache_longer(prepared: Chat, settings: pytest.MonkeyPatch) -> None:
    settings.setenv("AFTERTURN_PROMPT_CACHE_TTL_S", '{"anthropic": 3600}')
    compression_settings.cache_clear()
    prepared.pass_by(301)
    assert prepared.read()["utilization"]["cache"]["ttl_s"] == 3600
    assert prepared.states == [PREPARED]


def test_another_model_has_nothing_cached_to_lose(prepared: Chat) -> None:
    answer = prepared.read(model="claude-opus-4-5")
    assert answer["utilization"]["cache"]["activation"] == "prefix changes anyway"
    assert prepared.states == [ACTIVE]


def test_history_that_does_not_fit_the_usual_window_puts_it_in_force(prepared: Chat) -> None:
    whole = prepared.read()["certificate"]["input_tokens"]
    for _ in range(NARROW_READS - 1):
        once = prepared.read(context_window=whole, max_tokens=100)
        assert once["utilization"]["cache"]["activation"] is None
        assert once["certificate"]["fits"]
    assert prepared.states == [PREPARED]
    answer = prepared.read(context_window=whole, max_tokens=100)
    assert answer["utilization"]["cache"]["activation"] == "pressure"
    assert answer["certificate"]["excluded"] == []


def test_a_summary_of_a_filling_window_waits_while_everything_fits(
    client: TestClient, tenant_id: UUID
) -> None:
    talk = Chat(client, tenant_id)
    talk.say(40, model="gpt-4o")
    whole = talk.read(model="gpt-4o", max_tokens=500)["certificate"]["input_tokens"]
    asked: dict[str, Any] = {"model": "gpt-4o", "context_window": int(whole / 0.8) + 500}
    talk.say(**asked)
    assert talk.work_off() == "prepared version 1"
    assert talk.read(**asked, max_tokens=500)["certificate"]["tail"] == [1, 82]
    for _ in range(20):
        talk.say(**asked)
        assert talk.read(**asked, max_tokens=500)["certificate"]["excluded"] == []
        talk.work_off()
    assert talk.read(**asked, max_tokens=500)["certificate"]["summary_covers"]


def test_reads_in_a_small_window_between_larger_ones_make_no_summary(
    client: TestClient, tenant_id: UUID
) -> None:
    talk, large, small = Chat(client, tenant_id), {"context_window": 128_000}, {"context_window": 4_000}
    talk.say(20)
    for window in (large, small, small, large, small, large):
        answer = talk.read(**window, max_tokens=500)
        assert answer["certificate"]["fits"]
        assert answer["certificate"]["summary_covers"] is None
    assert talk.show()["context_window"] == 128_000
    assert not talk.work_exists
    assert talk.read(**large)["certificate"]["tail"] == [1, 40]
    for _ in range(NARROW_READS):
        talk.read(**small, max_tokens=500)
    assert talk.show()["context_window"] == 4_000
    assert talk.work_off().startswith("activated version 1")


def test_a_first_read_in_a_small_window_does_not_stand_for_a_model_of_a_known_one(
    client: TestClient, tenant_id: UUID
) -> None:
    talk = Chat(client, tenant_id)
    talk.say(20)
    talk.read(context_window=4_000, max_tokens=500)
    assert talk.show()["context_window"] is None
    assert not talk.work_exists


def test_two_reads_at_once_put_it_in_force_once(prepared: Chat) -> None:
    prepared.pass_by(301)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: prepared.read(), range(4)))
    reasons = [answer["utilization"]["cache"]["activation"] for answer in answers]
    assert sorted(reasons, key=str) == [None, None, None, "cold cache"]
    # One that waited for the session for too long answers from raw history.
    covers = {str(answer["certificate"]["summary_covers"]) for answer in answers}
    assert {"[1, 6]"} <= covers <= {"[1, 6]", "None"}
    assert prepared.states == [ACTIVE]


def test_under_pressure_it_is_brought_up_to_date_and_put_in_force(prepared: Chat) -> None:
    prepared.say(2)
    model = Model()
    assert prepared.work_off(model) == "activated version 2: pressure"
    assert prepared.states == [SUPERSEDED, ACTIVE]
    assert len(model.asked) == 1
    assert prepared.standing.session.raw_messages == 2


def test_the_next_one_builds_on_it_and_reads_nothing_twice(prepared: Chat) -> None:
    prepared.say(3)
    model = Model()
    prepared.work_off(model)
    (prompt,) = model.prompts
    asked = model.asked[0].summary_input
    assert asked is not None
    assert asked.previous_summary == prepared.summaries[0].text
    assert [line.seq for line in asked.lines if line.seq <= 6] == []
    assert prepared.summaries[1].base_version == 1
    assert (prepared.summaries[1].from_seq, prepared.summaries[1].to_seq) == (1, 12)
    assert "transcript" in prompt.lower()


def test_a_newer_preparation_takes_the_place_of_an_older_one(
    chat: Chat, settings: pytest.MonkeyPatch
) -> None:
    settings.setenv("AFTERTURN_SUMMARIZE_MESSAGE_COUNT", "40")
    settings.setenv("AFTERTURN_SUMMARIZE_LEAST_SHARE", "0")
    settings.setenv("AFTERTURN_SUMMARIZE_LEAST_TOKENS", "0")
    settings.setenv("AFTERTURN_SUMMARIZE_PREPARE_AT", "0.1")
    compression_settings.cache_clear()
    chat.say(1)
    assert chat.work_off() == "prepared version 1"
    chat.say(3)
    assert chat.work_off() == "prepared version 2"
    assert chat.states == [SUPERSEDED, PREPARED]
    assert chat.standing.session.summarized_seq == 0
    assert chat.standing.session.prepared_load.raw_messages == 2


def test_without_an_answer_under_pressure_what_is_prepared_helps(prepared: Chat) -> None:
    prepared.say(2)
    failure = LlmFailure(Cause.SERVER, "out of order")
    assert prepared.work_off(Model(failure)).startswith("put off")
    assert prepared.states == [ACTIVE]
    assert prepared.work.state == WorkState.READY


def test_a_refused_update_under_pressure_leaves_what_is_prepared(prepared: Chat) -> None:
    prepared.say(2)
    assert prepared.work_off(Model("no", "no")).startswith("rejected")
    assert prepared.states == [ACTIVE, SummaryState.REJECTED]


def test_a_worker_that_comes_late_finds_the_cache_cold(chat: Chat) -> None:
    chat.pass_by(400)
    assert chat.work_off() == "activated version 1: cold cache"


def test_switched_off_nothing_is_prepared(
    client: TestClient, tenant_id: UUID, settings: pytest.MonkeyPatch
) -> None:
    settings.setenv("AFTERTURN_ACTIVATION", "immediate")
    compression_settings.cache_clear()
    chat = Chat(client, tenant_id)
    chat.say(5)
    assert chat.show()["due_work"] == []
    chat.say(1)
    assert chat.work_off() == "activated version 1"
    assert chat.states == [ACTIVE]


def test_switching_it_off_frees_what_waits(prepared: Chat, settings: pytest.MonkeyPatch) -> None:
    settings.setenv("AFTERTURN_ACTIVATION", "immediate")
    compression_settings.cache_clear()
    assert prepared.read()["utilization"]["cache"]["activation"] == "immediate"
    assert prepared.states == [ACTIVE]


def test_a_reset_drops_it(prepared: Chat) -> None:
    assert prepared.client.post(f"{PATH}/reset").status_code == 200
    prepared.pass_by(301)
    prepared.say()
    answer = prepared.read()
    assert prepared.states == [SUPERSEDED]
    assert answer["certificate"]["summary_covers"] is None
    assert not prepared.standing.session.has_prepared


def test_a_rollback_drops_what_was_prepared_on_top(prepared: Chat) -> None:
    prepared.pass_by(301)
    prepared.read()
    prepared.say(3)
    assert prepared.work_off() == "prepared version 2"
    assert prepared.client.post(f"{PATH}/summaries/1/activate").status_code == 200
    assert prepared.states == [ACTIVE, SUPERSEDED]
    assert not prepared.standing.session.has_prepared


def test_what_is_dropped_is_never_put_in_force(prepared: Chat) -> None:
    with session.transaction() as db:
        drop_prepared(Scope(db, prepared.tenant_id), prepared.session_id)
    prepared.pass_by(301)
    assert prepared.read()["utilization"]["cache"]["activation"] is None
    assert prepared.states == [SUPERSEDED]


def test_a_warm_session_tells_how_much_of_the_window_stays(chat: Chat) -> None:
    used = chat.read()["utilization"]
    cache, regions = used["cache"], used["breakdown"]
    assert cache["stable_prefix_tokens"] >= regions["history"]
    assert cache["stable_prefix_tokens"] + cache["changed_tokens"] == sum(regions.values())
    assert cache["changed_tokens"] >= regions["new"]
    assert cache["ttl_s"] == 300


def test_a_larger_system_prompt_leaves_nothing_cached(chat: Chat) -> None:
    chat.read(system_prompt="Be brief.")
    chat.read(system_prompt="Be brief.")
    cache = chat.read(system_prompt="Be brief, and name your sources in every answer.")["utilization"][
        "cache"
    ]
    assert cache["stable_prefix_tokens"] == 0


def test_the_session_shows_what_would_be_left_raw(prepared: Chat) -> None:
    tokens = prepared.show()["tokens"]
    assert 0 < tokens["raw_with_prepared"] < tokens["raw"] == tokens["history"]


def test_the_model_of_the_turns_is_the_one_that_counts(prepared: Chat) -> None:
    assert prepared.standing.session.model == CHAT


def test_a_turn_is_taken_in_while_a_worker_keeps_a_part_of_its_notes(chat: Chat) -> None:
    """The worker holds its work and needs the session's key; intake holds the session and needs the work."""
    held = chat.claim()
    with session.transaction() as intake:
        scope = Scope(intake, chat.tenant_id)
        lock_sessions(scope, [chat.session_id])
        with session.transaction() as worker:
            assert lock_lease(worker, held)
            keep_part(Scope(worker, chat.tenant_id), chat.session_id, b"input", content="notes", tokens=1)
        enqueue(scope, WorkKind.SUMMARIZE, chat.session_id)
    assert chat.work.wanted > 1
