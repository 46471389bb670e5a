"""What background work makes of turns whose large results were taken out, and of what is stored of them."""

import json
from typing import Any
from uuid import UUID

from fastapi.testclient import TestClient
from sqlalchemy import text

from context.artifacts.content import artifact_id_of
from context.artifacts.split import restore_results
from llm.settings import LlmSettings
from models import database as session
from models.artifacts.artifact import drop_unused
from models.artifacts.summary import SummaryKey, Wish, want_summary
from models.artifacts.use import load_results
from models.conversations.history import load_oldest
from models.due_work.queue import Claim, WorkKind, claim, enqueue, find_work
from models.ledger.caps import Caps
from models.recall.settings import RecallSettings
from models.scope import Scope
from tests.integration.artifacts import store_document
from tests.integration.summarizing import Model, Room
from tests.integration.test_artifacts_intake import LOG, post, tool_turn
from workers.jobs.recall import index_session
from workers.jobs.sweep import ARTIFACTS, sweep


def rows(query: str, **values: Any) -> list[Any]:
    with session.read_transaction() as db:
        return list(db.execute(text(query), values))


def held_work(tenant_id: UUID, kind: WorkKind, key: str) -> Claim:
    """A lease on work that is asked for now."""
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        enqueue(scope, kind, key)
        work = find_work(scope, kind, key)
        assert work is not None
        held = claim(db, work.work_id, lease_s=60, max_crashes=9)
    assert held is not None
    return held


def tool_messages(number: int) -> list[dict[str, Any]]:
    """A turn with a large result, no two alike."""
    messages: list[dict[str, Any]] = tool_turn(f"c{number}", f"run {number}\n{LOG}")["messages"]
    return messages


def test_history_with_pointers_is_summarized(tenant_id: UUID) -> None:
    room, model = Room(tenant_id), Model()
    for number in range(4):
        room.add(*tool_messages(number))
    room.add_turns(2)
    room.run(model)
    assert room.states == ["active"]
    shown = "\n".join(model.prompts)
    assert artifact_id_of(f"run 0\n{LOG}") in shown
    assert LOG not in shown


def test_history_with_pointers_is_recalled_by_what_its_preview_says(tenant_id: UUID) -> None:
    room = Room(tenant_id)
    room.add(*tool_messages(7))
    room.add_turns(5)
    room.run(Model())
    index_session(held_work(tenant_id, WorkKind.RECALL, room.session_id), settings=RecallSettings())
    passages = [row.body for row in rows("select body from recall_passage order by start")]
    assert any("run 7" in passage for passage in passages)
    assert sum(map(len, passages)) < len(LOG)


def test_an_open_turn_gets_its_results_back_and_another_message_does_not(
    client: TestClient, tenant_id: UUID
) -> None:
    event = tool_turn("t1", LOG, LOG[::-1])
    post(client, {**event, "messages": event["messages"][:-1]})
    with session.read_transaction() as db:
        scope = Scope(db, tenant_id)
        messages = load_oldest(scope, "s1", after_seq=0, up_to_seq=99, most=99)
        results = load_results(scope, "s1", from_seq=1, to_seq=99)
        assert load_results(scope, "s1", from_seq=1, to_seq=2) == {}
        assert load_results(scope, "other", from_seq=1, to_seq=99) == {}
    assert sorted(results) == [3, 4]
    whole = [
        restore_results(
            message,
            {name: taken.content for name, taken in results.get(message.seq, {}).items()},
            counts={name: taken.count for name, taken in results.get(message.seq, {}).items()},
        )
        for message in messages
    ]
    assert [message.body for message in whole] == event["messages"][:-1]
    crossed = restore_results(messages[2], {name: taken.content for name, taken in results[4].items()})
    assert crossed is messages[2]


def test_the_sweep_keeps_what_is_used_and_drops_the_rest(client: TestClient, tenant_id: UUID) -> None:
    post(client, tool_turn("t1", LOG))
    with session.transaction() as db:
        kept = store_document(db, tenant_id, "A document that somebody uploaded.")
        wish = Wish(SummaryKey(kept, "k", "medium", "en"), "k", ["k"], "asked")
        want_summary(Scope(db, tenant_id), wish, ttl_s=60)
        db.execute(text("delete from session"))
        db.execute(text("update artifact set last_used_at = now() - interval '2 days'"))
        db.execute(text("update artifact_summary set expires_at = now()"))
    held = held_work(tenant_id, WorkKind.SWEEP, ARTIFACTS)
    assert (
        sweep(held, llm=LlmSettings(), caps=Caps(), cap_look_s=60)
        == "1 summaries expired, 0 made room, 1 artifacts dropped"
    )
    assert [row[0] for row in rows("select artifact_id from artifact")] == [kept]


def test_no_stored_text_of_an_erased_session_is_left(client: TestClient, tenant_id: UUID) -> None:
    secret = "the gate code is 7731-QX"
    post(client, tool_turn("t1", f"{secret}\n{LOG}"))
    with session.transaction() as db:
        named = [row[0] for row in db.execute(text("select artifact_id from artifact"))]
        db.execute(text("delete from session where session_id = 's1'"))
        assert drop_unused(Scope(db, tenant_id), named) == named
    tables = [row[0] for row in rows("select tablename from pg_tables where schemaname = 'public'")]
    left = [
        name
        for name in tables
        if any(secret in json.dumps([str(value) for value in row]) for row in rows(f"select * from {name}"))  # noqa: S608
    ]
    assert left == []
