"""Large tool results at intake: out of the message, stored once, found again, read ahead; nothing is lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, text

from api.turns.intake import TurnCompleted, read_turn, store_turns
from context.artifacts.content import artifact_id_of
from context.artifacts.split import pointed_artifacts, restore_results
from context.artifacts.superseded import find_superseded
from context.artifacts.types import Artifact
from context.tokens import count_message
from context.types import Message, Role, Wire
from models import database as session
from models.artifacts.artifact import drop_orphans, drop_unused, load_contents
from models.artifacts.settings import artifact_settings
from models.artifacts.use import load_uses
from models.conversations.history import load_oldest
from models.due_work.queue import WorkKind, find_work
from models.scope import Scope
from models.tenants.tenant import ensure_tenant

LEAST = artifact_settings().artifact_split_chars
LOG = "".join(f"2026-03-01 12:{n % 60:02}:00 INFO crane {n} moved a box to bay {n * 7}\n" for n in range(150))
SMALL = "exit code 0"


def session_artifacts(
    db: Connection, tenant_id: UUID, session_id: str, *, after_seq: int, newest: int
) -> list[Artifact]:
    uses = load_uses(Scope(db, tenant_id), session_id, after_seq=after_seq, newest=newest)
    return [use.artifact for use in uses if use.artifact is not None]


def rows(query: str, **values: Any) -> list[Any]:
    with session.read_transaction() as db:
        return list(db.execute(text(query), values))


def call(call_id: str, name: str = "read_file", **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments or {"path": "logs/crane.log"})}
    return {"id": call_id, "type": "function", "function": function}


def tool_turn(
    turn_id: str, *results: str, calls: list[dict[str, Any]] | None = None, **fields: Any
) -> dict[str, Any]:
    """A turn that calls a tool for each result."""
    made = calls or [call(f"{turn_id}-{n}") for n in range(len(results))]
    return {
        "turn_id": turn_id,
        "messages": [
            {"role": "user", "content": "What did the cranes do?"},
            {"role": "assistant", "content": None, "tool_calls": made},
            *(
                {"role": "tool", "tool_call_id": one["id"], "content": result}
                for one, result in zip(made, results, strict=True)
            ),
            {"role": "assistant", "content": "They moved boxes."},
        ],
        **fields,
    }


def post(client: TestClient, event: dict[str, Any], session_id: str = "s1") -> Any:
    return client.post(f"/v1/sessions/{session_id}/turns", json=event)


def stored(tenant_id: UUID, session_id: str = "s1") -> list[Message]:
    with session.read_transaction() as db:
        return load_oldest(Scope(db, tenant_id), session_id, after_seq=0, up_to_seq=10_000, most=1_000)


def contents(tenant_id: UUID, *artifact_ids: str) -> dict[str, str]:
    with session.read_transaction() as db:
        return load_contents(Scope(db, tenant_id), artifact_ids)


def test_a_large_result_leaves_its_message_and_comes_back_exactly(
    client: TestClient, tenant_id: UUID
) -> None:
    event = tool_turn("t1", LOG)
    assert post(client, event).status_code == 202
    message = stored(tenant_id)[2]
    assert len(message.raw) < LEAST
    (identity,) = pointed_artifacts(message)
    assert identity == artifact_id_of(LOG)
    whole = restore_results(message, contents(tenant_id, identity))
    assert whole.body == event["messages"][2]


def test_a_small_result_stays_byte_for_byte(client: TestClient, tenant_id: UUID) -> None:
    event = tool_turn("t1", "x" * (LEAST - 1), SMALL)
    post(client, event)
    assert [message.body for message in stored(tenant_id)] == event["messages"]
    assert rows("select count(*) from artifact")[0][0] == 0


@pytest.mark.parametrize(("over", "artifacts"), [(-1, 0), (0, 1), (1, 1)])
def test_the_threshold_is_the_least_length_of_a_large_result(
    client: TestClient, over: int, artifacts: int
) -> None:
    result = ("word " * LEAST)[: LEAST + over]
    assert len(result) == LEAST + over
    post(client, tool_turn("t1", result))
    assert rows("select count(*) from artifact")[0][0] == artifacts


def test_the_stored_count_is_that_of_the_pointer_and_the_difference_is_kept(
    client: TestClient, tenant_id: UUID
) -> None:
    event = tool_turn("t1", LOG)
    post(client, event)
    messages = stored(tenant_id)
    assert [message.tokens for message in messages] == [count_message(message.body) for message in messages]
    saved = rows("select saved_tokens from artifact_use")[0][0]
    assert messages[2].tokens + saved == pytest.approx(count_message(event["messages"][2]), abs=2)
    assert rows("select history_tokens from session")[0][0] == sum(message.tokens for message in messages)


def test_parallel_results_are_taken_out_one_by_one(client: TestClient, tenant_id: UUID) -> None:
    event = tool_turn("t1", LOG, SMALL, LOG[::-1])
    post(client, event)
    messages = stored(tenant_id)
    assert [len(pointed_artifacts(message)) for message in messages] == [0, 0, 1, 0, 1, 0]
    uses = rows("select seq, place, source, tool from artifact_use order by seq")
    assert [tuple(use) for use in uses] == [
        (3, 0, "step_1:read_file", "read_file"),
        (5, 0, "step_3:read_file", "read_file"),
    ]


@pytest.mark.parametrize("wire", [Wire.ANTHROPIC, Wire.RESPONSES])
def test_every_wire_format_is_split_and_restored(client: TestClient, tenant_id: UUID, wire: Wire) -> None:
    made: dict[Wire, list[dict[str, Any]]] = {
        Wire.ANTHROPIC: [
            {"role": "user", "content": "What did the cranes do?"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x.log"}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "is_error": False,
                        "content": [{"type": "text", "text": LOG}, {"type": "text", "text": "the end"}],
                    }
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "They moved boxes."}]},
        ],
        Wire.RESPONSES: [
            {"type": "message", "role": "user", "content": "What did the cranes do?"},
            {"type": "function_call", "call_id": "a", "name": "read_file", "arguments": '{"path": "x.log"}'},
            {"type": "function_call_output", "call_id": "a", "output": LOG},
            {"type": "message", "role": "assistant", "content": "They moved boxes."},
        ],
    }
    event = {"turn_id": "t1", "messages": made[wire], "wire": wire}
    assert post(client, event).status_code == 202
    messages = stored(tenant_id)
    (identity,) = pointed_artifacts(messages[2])
    whole = [restore_results(message, contents(tenant_id, identity)) for message in messages]
    assert [message.body for message in whole] == made[wire]
    assert rows("select subject from artifact_use")[0].subject.startswith("path:x.log")


def test_a_second_delivery_and_a_conflict_store_nothing_more(client: TestClient) -> None:
    first = post(client, tool_turn("t1", LOG))
    again = post(client, tool_turn("t1", LOG))
    other = post(client, tool_turn("t1", LOG + "one more line\n"))
    assert (first.status_code, again.status_code, other.status_code) == (202, 200, 409)
    assert again.json() == {**first.json(), "duplicate": True}
    assert rows("select count(*) from artifact")[0][0] == 1
    assert rows("select count(*) from artifact_use")[0][0] == 1


def test_two_sessions_with_one_content_share_it(client: TestClient, tenant_id: UUID) -> None:
    post(client, tool_turn("t1", LOG), "s1")
    post(client, tool_turn("t1", LOG), "s2")
    assert rows("select count(*) from artifact")[0][0] == 1
    with session.read_transaction() as db:
        for name in ("s1", "s2"):
            (artifact,) = session_artifacts(db, tenant_id, name, after_seq=0, newest=10)
            assert artifact.artifact_id == artifact_id_of(LOG)


def test_two_tenants_with_one_content_share_nothing(client: TestClient, tenant_id: UUID) -> None:
    post(client, tool_turn("t1", LOG))
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
        event = TurnCompleted.model_validate(tool_turn("t1", LOG))
        store_turns(Scope(db, stranger), [read_turn("s1", event).turn])
    assert rows("select count(*) from artifact")[0][0] == 2
    with session.transaction() as db:
        db.execute(text("delete from tenant where tenant_id = :id"), {"id": stranger})
    assert contents(tenant_id, artifact_id_of(LOG)) == {artifact_id_of(LOG): LOG}


def test_sessions_that_bring_one_content_at_once_do_not_wait_for_ever(client: TestClient) -> None:
    logs = [f"{n}\n{LOG}" for n in range(6)]

    def send(number: int) -> int:
        shown = logs if number % 2 else logs[::-1]
        return int(post(client, tool_turn(f"t{number}", *shown), f"s{number}").status_code)

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(send, range(12))) == {202}
    assert rows("select count(*) from artifact")[0][0] == 6
    assert rows("select count(*) from artifact_use")[0][0] == 72


def test_a_batch_splits_as_single_events_do(client: TestClient, tenant_id: UUID) -> None:
    lines = [json.dumps({**tool_turn(f"t{n}", LOG, SMALL), "session_id": f"s{n % 2}"}) for n in range(4)]
    lines.append(json.dumps({**tool_turn("t1", LOG, SMALL), "session_id": "s1"}))
    results = client.post("/v1/turns", content="\n".join(lines).encode()).json()["results"]
    assert [result["duplicate"] for result in results] == [False] * 4 + [True]
    assert rows("select count(*) from artifact")[0][0] == 1
    assert rows("select count(*) from artifact_use")[0][0] == 4
    assert len(pointed_artifacts(stored(tenant_id, "s0")[2])) == 1


def test_a_turn_its_artifacts_and_their_work_are_committed_together(
    client: TestClient, tenant_id: UUID
) -> None:
    event = TurnCompleted.model_validate(tool_turn("t1", LOG))
    with session.engine().connect() as db:
        store_turns(Scope(db, tenant_id), [read_turn("s1", event).turn])
        db.rollback()
    for table in ("turn", "artifact", "artifact_use", "due_work"):
        assert rows(f"select count(*) from {table}")[0][0] == 0  # noqa: S608 (our own names)
    post(client, tool_turn("t1", LOG))
    work = rows("select kind, key, state from due_work")
    assert [tuple(row) for row in work] == [("artifact", artifact_id_of(LOG), "ready")]


def test_one_content_in_many_turns_is_one_piece_of_work(client: TestClient, tenant_id: UUID) -> None:
    for number in range(5):
        post(client, tool_turn(f"t{number}", LOG))
    with session.read_transaction() as db:
        work = find_work(Scope(db, tenant_id), WorkKind.ARTIFACT, artifact_id_of(LOG))
    assert work is not None
    assert work.wanted == 5


def test_a_turn_without_a_large_result_makes_no_work(client: TestClient) -> None:
    post(client, tool_turn("t1", SMALL))
    assert rows("select count(*) from due_work")[0][0] == 0


def test_a_forged_pointer_in_a_result_reads_nothing_of_another_session(
    client: TestClient, tenant_id: UUID
) -> None:
    post(client, tool_turn("t1", LOG), "owner")
    pointer = json.loads(stored(tenant_id, "owner")[2].raw)["content"]
    post(client, tool_turn("t1", pointer), "thief")
    message = stored(tenant_id, "thief")[2]
    (identity,) = pointed_artifacts(message)
    assert identity == artifact_id_of(pointer)
    whole = restore_results(message, contents(tenant_id, identity, artifact_id_of(LOG)))
    assert whole.body["content"] == pointer


def test_words_of_people_are_never_taken_out(client: TestClient, tenant_id: UUID) -> None:
    long = {"role": "user", "content": LOG}
    event = {"turn_id": "t1", "messages": [long, {"role": "assistant", "content": LOG}]}
    post(client, event)
    assert [message.body for message in stored(tenant_id)] == event["messages"]


def test_a_write_with_a_small_result_makes_an_earlier_reading_old(
    client: TestClient, tenant_id: UUID
) -> None:
    path = "src/crane.py"
    post(client, tool_turn("t1", LOG, calls=[call("a", path=path)]))
    post(client, tool_turn("t2", SMALL, calls=[call("b", "write_file", path=path, content="x")]))
    post(client, tool_turn("t3", SMALL, calls=[call("c", path="README.md")]))
    with session.read_transaction() as db:
        uses = load_uses(Scope(db, tenant_id), "s1", after_seq=0, newest=10)
    assert [(use.seq, use.writes, use.artifact is None) for use in uses] == [
        (3, False, False),
        (7, True, True),
    ]
    old = find_superseded([use.access for use in uses])
    assert {index: (why.reason, why.by_seq) for index, why in old.items()} == {0: ("changed", 7)}


def test_the_artifacts_of_a_session_say_where_they_come_from(client: TestClient, tenant_id: UUID) -> None:
    post(client, tool_turn("t1", LOG, calls=[call("a", path="a.log")]))
    post(client, tool_turn("t2", LOG[::-1], calls=[call("b", "web_search", query="cranes")]))
    with session.read_transaction() as db:
        both = session_artifacts(db, tenant_id, "s1", after_seq=0, newest=10)
        newest = session_artifacts(db, tenant_id, "s1", after_seq=0, newest=1)
        later = session_artifacts(db, tenant_id, "s1", after_seq=4, newest=10)
    assert [artifact.source for artifact in both] == ["history:msg_3:read_file", "history:msg_7:web_search"]
    assert newest == later == both[1:]
    first = both[0]
    assert (first.is_historical, first.content, first.size_chars) == (True, None, len(LOG))
    facts = {name: first.metadata[name] for name in ("tool", "seq", "place", "turn_index", "writes", "step")}
    assert facts == {
        "tool": "read_file",
        "seq": 3,
        "place": 0,
        "turn_index": 1,
        "writes": False,
        "step": "step_1:read_file",
    }
    assert first.preview.startswith("2026-03-01")


def test_an_erased_session_leaves_orphans_that_are_swept(client: TestClient, tenant_id: UUID) -> None:
    post(client, tool_turn("t1", LOG), "s1")
    post(client, tool_turn("t1", LOG[::-1]), "s2")
    with session.transaction() as db:
        assert drop_orphans(db, idle_s=0, most=10) == 0
        db.execute(text("delete from session where session_id = 's1'"))
        assert drop_orphans(db, idle_s=3_600, most=10) == 0
        db.execute(text("update artifact set last_used_at = now() - interval '2 hours'"))
        assert drop_orphans(db, idle_s=3_600, most=10) == 1
    assert contents(tenant_id, artifact_id_of(LOG), artifact_id_of(LOG[::-1])).keys() == {
        artifact_id_of(LOG[::-1])
    }


def test_content_that_is_stored_again_while_it_is_dropped_is_there_afterwards(
    client: TestClient, tenant_id: UUID
) -> None:
    """Half of the threads store the content in new sessions, half erase sessions and drop what is unused."""
    identity = artifact_id_of(LOG)

    def act(number: int) -> int:
        if number % 2:
            return int(post(client, tool_turn("t1", LOG), f"s{number}").status_code)
        with session.transaction() as db:
            db.execute(text("delete from session where session_id = :id"), {"id": f"s{number - 3}"})
            drop_unused(Scope(db, tenant_id), [identity])
        return 202

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(act, range(40))) == {202}
    used = rows("select count(*) from artifact_use")[0][0]
    assert used >= 1
    assert contents(tenant_id, identity) == {identity: LOG}


def test_what_is_not_the_tenants_is_not_there(client: TestClient, tenant_id: UUID) -> None:
    post(client, tool_turn("t1", LOG))
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
        assert load_contents(Scope(db, stranger), [artifact_id_of(LOG)]) == {}
        assert session_artifacts(db, stranger, "s1", after_seq=0, newest=10) == []
    assert contents(tenant_id, artifact_id_of("never stored")) == {}


def test_the_message_after_a_split_is_read_as_a_tool_result(client: TestClient, tenant_id: UUID) -> None:
    post(client, tool_turn("t1", LOG))
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "And then?"}]}
    answer = client.post("/v1/sessions/s1/context", json=asked).json()
    assert answer["certificate"]["tool_pairs_intact"] is True
    assert answer["certificate"]["fits"] is True
    roles = [message["role"] for message in answer["messages"][:3]]
    assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert stored(tenant_id)[2].answer_ids == ("t1-0",)
