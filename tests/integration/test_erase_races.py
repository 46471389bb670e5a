"""Erasing while others work: whatever is under way for erased words brings none of them back."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from context.tokens import count_text
from llm.requests import CompletionReply, CompletionRequest, Usage
from llm.settings import LlmSettings
from models import database as session
from models.artifacts.plan import PlanKey, PlanWish, want_plan
from models.artifacts.settings import PlanningSettings
from models.conversations.summary import NewSummary, store_summary
from models.due_work.queue import WorkKind, enqueue, find_work
from models.learning.habits import count_categories
from models.recall.settings import RecallSettings
from models.scope import Scope
from tests.integration.erasing import tables_with, talk, tool_turn
from tests.integration.planning import CATALOG, MODEL
from tests.integration.summarizing import SESSION, Model, Room, dialogue
from tests.unit.tool_plans.catalogs import SMALL_GUIDE
from tests.waiting import wait_until
from workers.jobs.artifact_plan import plan_contexts
from workers.jobs.lifecycle import LEASE_LOST, Handler, run_work
from workers.jobs.precompute import precompute_artifact
from workers.jobs.recall import index_session
from workers.jobs.tool_plan import make_plan
from workers.settings import PrecomputeSettings, WorkerSettings

WORD = "zqxmarker"
USER = "anna"
PATH = f"/v1/sessions/{SESSION}"
LLM = LlmSettings(summarizer_model=MODEL, context_planner_model=MODEL)
Change = Callable[[TestClient], None]


def ok(answer: Any) -> None:
    assert answer.status_code in {200, 202}, answer.text


def erase_messages(client: TestClient) -> None:
    for seq in (1, 2, 4):
        ok(client.delete(f"{PATH}/messages/{seq}"))


def edit_messages(client: TestClient) -> None:
    for seq, message in enumerate(tool_turn("t1", "nothing")["messages"], 1):
        ok(client.patch(f"{PATH}/messages/{seq}", json={"message": message}))


def erase_session(client: TestClient) -> None:
    ok(client.delete(PATH))


def erase_user(client: TestClient) -> None:
    ok(client.delete(f"/v1/users/{USER}"))


def erase_and_begin_again(client: TestClient) -> None:
    """The same session with as many messages: what is under way must not take it for the old one."""
    erase_session(client)
    ok(client.post(f"{PATH}/turns", json=tool_turn("t1", "nothing")))
    talk(client, SESSION, 6)


CHANGES = [erase_messages, edit_messages, erase_session, erase_user, erase_and_begin_again]
every_change = pytest.mark.parametrize("change", CHANGES)


@pytest.fixture
def room(client: TestClient, tenant_id: UUID) -> Room:
    """A session whose first turn says the word; everything that it says is Anna's."""
    ok(client.post(f"{PATH}/turns", json=tool_turn("t1", WORD, user_id=USER)))
    talk(client, SESSION, 6)
    return Room(tenant_id)


def work(room: Room, kind: WorkKind, key: str, handler: Handler) -> str:
    """Do a piece of work as a worker does."""
    with session.transaction() as db:
        db.execute(text("update due_work set due_at = now() where state = 'ready'"))
        found = find_work(Scope(db, room.tenant_id), kind, key)
    assert found is not None
    return run_work(found.work_id, {kind: handler}, WorkerSettings(backoff_s=60, max_attempts=3))


def answering(meanwhile: Callable[[], object], said: str) -> Callable[[CompletionRequest], CompletionReply]:
    """A model that answers when something else has happened; it was asked about the word."""

    def complete(request: CompletionRequest) -> CompletionReply:
        assert WORD in str(request.messages)
        meanwhile()
        return CompletionReply(uuid4(), said, "stop", Usage(), request.model, request.model, None, 0.1)

    return complete


@every_change
def test_a_summary_under_way_is_thrown_away(client: TestClient, room: Room, change: Change) -> None:
    model = Model(lambda: change(client))
    assert room.run(model) in {LEASE_LOST, "discarded: the session or its summary changed meanwhile"}
    assert any(WORD in prompt for prompt in model.prompts)
    assert tables_with(WORD) == {}


@every_change
def test_a_finished_chunk_of_a_summary_under_way_is_not_kept(
    client: TestClient, room: Room, change: Change
) -> None:
    talk(client, SESSION, 14, first=7)
    model = Model(lambda: None, lambda: change(client))
    small = {"summarizer_window_tokens": 3_000, "summarizer_max_output_tokens": 500}
    assert room.run(model, **small) == LEASE_LOST
    assert len(model.asked) == 2
    assert tables_with(WORD) == {}


def test_the_work_begins_anew_without_what_was_erased(client: TestClient, room: Room) -> None:
    room.run(Model(lambda: erase_messages(client)))
    assert (room.work.state, room.work.attempts) == ("ready", 0)
    model = Model()
    assert room.do(model).startswith("activated")
    assert not any(WORD in prompt for prompt in model.prompts)


@every_change
def test_an_index_under_way_is_thrown_away(client: TestClient, room: Room, change: Change) -> None:
    with session.transaction() as db:
        made = NewSummary(1, None, 1, 10, "Notes.", 9, 900, "m", "normal", "p1", "en")
        assert store_summary(Scope(db, room.tenant_id), SESSION, made, activate=True)
    happens = iter([lambda: change(client)])

    def count(words: str) -> int:
        next(happens, lambda: None)()
        return count_text(words)

    def index(held: Any) -> str:
        return index_session(held, settings=RecallSettings(), count=count)

    assert work(room, WorkKind.RECALL, SESSION, index) in {
        LEASE_LOST,
        "discarded: the session changed meanwhile",
    }
    assert tables_with(WORD) == {}


def artifact_id() -> str:
    with session.read_transaction() as db:
        found: str = db.execute(text("select artifact_id from artifact")).scalar_one()
    return found


@every_change
def test_a_reading_of_an_artifact_under_way_is_thrown_away(
    client: TestClient, room: Room, change: Change
) -> None:
    asked = answering(lambda: change(client), f"- The log says {WORD}.")

    def read(held: Any) -> str:
        return precompute_artifact(
            held,
            complete=asked,
            llm=LLM,
            settings=PrecomputeSettings(artifact_focuses=1),
            ttl_s=600,
            planning=PlanningSettings(artifact_price_share=0.003),
        )

    work(room, WorkKind.ARTIFACT, artifact_id(), read)
    assert tables_with(WORD) == {}


def test_a_question_that_a_worker_has_read_is_not_asked_once_it_is_erased(
    client: TestClient, room: Room, engine: Engine
) -> None:
    """The worker has read the question of a turn without its answer; the artifact itself stays."""
    erase_session(client)
    asked, called, result, _ = tool_turn("t1", "nothing", user_id=USER)["messages"]
    asked = {**asked, "content": f"Which box of the crane driver is {WORD}?"}
    ok(client.post(f"{PATH}/turns/t1/messages", json={"index": 0, "messages": [asked, called, result]}))
    identity = artifact_id()

    def complete(request: CompletionRequest) -> CompletionReply:
        assert WORD not in str(request.messages)
        said = "- The crane driver reports a wet box."
        return CompletionReply(uuid4(), said, "stop", Usage(), request.model, request.model, None, 0.1)

    def read(held: Any) -> str:
        return precompute_artifact(
            held,
            complete=complete,
            llm=LLM,
            settings=PrecomputeSettings(),
            ttl_s=600,
            planning=PlanningSettings(artifact_price_share=0.003),
        )

    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as held_up:
            started = threading.Event()

            def begin(held: Any) -> str:
                started.wait(timeout=30)
                return read(held)

            done = pool.submit(work, room, WorkKind.ARTIFACT, identity, begin)
            claimed = "select 1 from due_work where kind = 'artifact' and state = 'running'"
            with session.read_transaction() as db:
                wait_until(lambda: db.execute(text(claimed)).first(), within_s=30, what="it is claimed")
            held_up.execute(text("select 1 from artifact for update"))
            started.set()
            waits = "select 1 from pg_locks where not granted"
            with session.read_transaction() as db:
                wait_until(lambda: db.execute(text(waits)).first(), within_s=30, what="it waits")
            ok(client.delete(f"{PATH}/messages/1"))
        assert done.result(timeout=60).startswith("ready")
    with session.read_transaction() as db:
        assert set(db.execute(text("select focus from artifact_summary")).scalars()) <= {""}


@every_change
def test_a_plan_for_a_context_under_way_is_thrown_away(
    client: TestClient, room: Room, change: Change
) -> None:
    identity = artifact_id()
    with session.transaction() as db:
        scope = Scope(db, room.tenant_id)
        want_plan(
            scope,
            PlanKey(SESSION, "key", "digest"),
            PlanWish([identity], f"Where is {WORD}?", 500, model=MODEL),
        )
        enqueue(scope, WorkKind.CONTEXT_PLAN, SESSION)
    asked = answering(
        lambda: change(client), f'{{"artifacts": [{{"artifact_id": "{identity}", "strategy": "full"}}]}}'
    )
    done = work(
        room, WorkKind.CONTEXT_PLAN, SESSION, lambda held: plan_contexts(held, complete=asked, llm=LLM)
    )
    assert done == LEASE_LOST
    assert tables_with(WORD) == {}


@every_change
def test_a_plan_under_way_is_thrown_away(client: TestClient, room: Room, change: Change) -> None:
    ok(client.put(f"/v1/catalogs/{CATALOG}", json=SMALL_GUIDE))
    wanted = {"intent": f"find {WORD}", "catalog": CATALOG, "model": MODEL, "session_id": SESSION}
    answer = client.post("/v1/plans", json={**wanted, "user_id": USER})
    assert answer.status_code == 202, answer.text
    asked = answering(lambda: change(client), f'{{"steps": [], "gap": "no tool for {WORD}"}}')
    done = work(
        room,
        WorkKind.PLAN,
        answer.json()["plan_id"],
        lambda held: make_plan(held, complete=asked, most_wait_s=900),
    )
    assert done == LEASE_LOST
    assert tables_with(WORD) == {}


DECIDED = """
insert into preflight_decision (tenant_id, session_id, turn_index, policy_version, categories, scores,
    features, chars, confidence, reasons, pinned, used, joined_at)
values (:tenant_id, :session_id, 1, 1, '{coding}', '{}', '{}', 9, 0.5, '{}', '{}', '{}', now())
"""


def test_a_profile_that_is_counted_meanwhile_does_not_outlive_its_user(
    client: TestClient, room: Room
) -> None:
    with session.transaction() as db:
        db.execute(text(DECIDED), {"tenant_id": room.tenant_id, "session_id": SESSION})
    with ThreadPoolExecutor(1) as pool:
        with session.transaction() as night:
            count_categories(Scope(night, room.tenant_id), half_life_days=30)
            found = "select user_id from user_profile"
            assert set(night.execute(text(found)).scalars()) == {USER}
            erased = pool.submit(lambda: ok(client.delete(f"/v1/users/{USER}")))
            waits = "select 1 from pg_locks where not granted"
            with session.read_transaction() as db:
                wait_until(
                    lambda: erased.done() or db.execute(text(waits)).first(), within_s=30, what="they meet"
                )
        erased.result(timeout=60)
    with session.read_transaction() as db:
        assert db.execute(text(found)).all() == []


def test_a_session_that_comes_anew_is_of_a_later_generation(client: TestClient, room: Room) -> None:
    ok(client.post(f"{PATH}/reset"))
    erase_session(client)
    ok(client.post(f"{PATH}/turns", json=tool_turn("t1", "nothing")))
    assert room.standing.session.generation == 3
    ok(client.post("/v1/sessions/another/turns", json=tool_turn("t1", "nothing")))
    assert client.get("/v1/sessions/another").json()["generation"] == 3


def test_nothing_fails_and_nothing_stays_when_all_of_it_happens_at_once(
    client: TestClient, tenant_id: UUID
) -> None:
    """Turns, reads, resets, edits, summaries and erasures of three sessions in four threads, by a seed."""
    room = Room(tenant_id, "s0")
    answers: list[tuple[str, int, str]] = []
    question = {"model": "gpt-4o", "messages": [{"role": "user", "content": "And now?"}]}

    def act(dice: random.Random, number: int) -> None:
        path = f"/v1/sessions/s{dice.randrange(3)}"
        seq = dice.randrange(1, 40)
        event = tool_turn(f"n{number}", WORD, user_id=dice.choice([USER, "bert"]))
        plain = {"turn_id": f"p{number}", "messages": dialogue(number)}
        message = {"role": "user", "content": f"{WORD} again"}
        calls: list[tuple[str, Callable[[], Any]]] = [
            ("turn", lambda: client.post(f"{path}/turns", json=dice.choice([event, plain]))),
            ("turn", lambda: client.post(f"{path}/turns", json=plain)),
            ("context", lambda: client.post(f"{path}/context", json=question)),
            ("reset", lambda: client.post(f"{path}/reset")),
            ("edit", lambda: client.patch(f"{path}/messages/{seq}", json={"message": message})),
            ("erase message", lambda: client.delete(f"{path}/messages/{seq}")),
            ("erase session", lambda: client.delete(path)),
            ("erase user", lambda: client.delete(f"/v1/users/{USER}")),
        ]
        name, call = dice.choice(calls)
        answer = call()
        answers.append((name, answer.status_code, answer.text if answer.status_code >= 500 else ""))

    def play(seed: int) -> None:
        dice = random.Random(seed)  # noqa: S311 (a game, not a secret)
        for number in range(60):
            act(dice, seed * 1_000 + number)
            if number % 10 == 0:
                room.run(Model())

    room.add_turns(3)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(play, range(4)))
    assert [answer for answer in answers if answer[1] >= 500] == []
    for name in ("s0", "s1", "s2"):
        client.delete(f"/v1/sessions/{name}")
    for user in (USER, "bert"):
        client.delete(f"/v1/users/{user}")
    assert tables_with(WORD) == {}
