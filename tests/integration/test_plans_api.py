"""The calls about plans: asked for, read, joined with what happened, and looked back upon."""

import threading
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from llm.gateway import preload
from llm.scripted import Mode, ScriptedServer
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.planning import CATALOG, MODEL, Planning
from tests.unit.tool_plans.catalogs import MULTI_INTENT
from tests.waiting import wait_until


@pytest.fixture
def room(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Planning:
    server.reset()
    found = Planning(client, tenant_id, server)
    found.set_profile(filter_pass=False)
    return found


def ask(room: Planning, **fields: Any) -> Any:
    return room.client.post(
        "/v1/plans", json={"intent": "draft a blog", "catalog": CATALOG, "model": MODEL, **fields}
    )


def three_steps(room: Planning) -> UUID:
    """A plan of three steps that nobody needed a model for."""
    return room.make(MULTI_INTENT, model="extractive").plan_id


def report(room: Planning, plan_id: UUID, *steps: dict[str, Any]) -> Any:
    return room.client.post(f"/v1/plans/{plan_id}/outcome", json={"steps": list(steps)})


def read(room: Planning, plan_id: UUID) -> Any:
    return room.client.get(f"/v1/plans/{plan_id}").json()


def test_a_plan_that_is_not_made_yet_is_accepted_and_says_where_it_will_be(room: Planning) -> None:
    answer = ask(room)
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/plans/{answer.json()['plan_id']}"
    document = room.client.get(answer.headers["location"]).json()
    assert (document["status"], document["steps"], document["due_work"]["state"]) == ("wanted", [], "ready")


def test_a_plan_and_its_work_are_committed_together(room: Planning) -> None:
    plan_id = UUID(ask(room).json()["plan_id"])
    assert (room.work(plan_id).kind, room.work(plan_id).key) == ("plan", str(plan_id))


def test_whoever_waits_gets_the_plan_itself(room: Planning) -> None:
    preload()  # or the first call of a model would take the seconds of the wait

    def work_soon() -> None:
        wait_until(_awaited, within_s=60, what="a plan that is waited for")
        with session.read_transaction() as db:
            plan_id = db.execute(text("select plan_id from plan_history")).scalar_one()
        room.do(plan_id)

    worker = threading.Thread(target=work_soon)
    worker.start()
    answer = ask(room, wait_ms=9_000)
    worker.join()
    assert answer.status_code == 200
    assert [step["tool"] for step in answer.json()["steps"]] == ["blog.draft"]
    assert "location" not in answer.headers


def _awaited() -> bool:
    with session.read_transaction() as db:
        return bool(
            db.execute(text("select count(*) from due_work where kind = 'plan' and awaited")).scalar()
        )


def test_whoever_waits_in_vain_is_told_where_it_will_be(room: Planning) -> None:
    answer = ask(room, wait_ms=30)
    assert answer.status_code == 202
    assert answer.headers["location"]


def test_a_plan_says_what_it_was_made_from(room: Planning) -> None:
    plan = room.make("draft a blog and generate an image", user_id="ana", context="short texts")
    document = read(room, plan.plan_id)
    assert document["status"] == "ready"
    assert document["features"]["asks"] == 2
    assert 0 < document["complexity"] <= 1
    assert document["compaction"]["before_bytes"] > document["compaction"]["after_bytes"]
    assert document["usage"]["calls"] == len(document["call_ids"]) == 1
    assert document["user_id"] == "ana"
    assert document["steps"][0]["outcome"] is None


def test_a_failed_plan_says_why(room: Planning) -> None:
    plan = room.make("draft a blog", Mode.EMPTY, Mode.EMPTY)
    document = read(room, plan.plan_id)
    assert document["status"] == "failed"
    assert document["failure"]["cause"] == "empty"


def test_a_plan_whose_work_is_dead_has_failed(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    with session.transaction() as db:
        db.execute(text("update due_work set state = 'dead', last_error = 'KeyError' where kind = 'plan'"))
    document = read(room, plan_id)
    assert (document["status"], document["failure"]) == (
        "failed",
        {"cause": "given-up", "detail": "KeyError"},
    )


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"intent": "  "}, 422, "intent"),
        ({"intent": ""}, 422, "intent"),
        ({"intent": "x" * 100_001}, 422, "intent"),
        ({"mode": "dream"}, 422, "mode"),
        ({"wait_ms": -1}, 422, "wait_ms"),
        ({"tools": []}, 422, "tools"),
        ({"user_id": "a/b"}, 422, "user_id"),
        ({"catalog": "other"}, 404, None),
        ({"session_id": "nobody"}, 404, None),
    ],
)
def test_what_cannot_be_planned_is_refused(
    room: Planning, fields: dict[str, Any], code: int, field: str | None
) -> None:
    answer = ask(room, **fields)
    assert answer.status_code == code
    assert answer.json().get("field") == field
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from plan_history")).scalar() == 0


def test_a_key_names_one_request_for_a_plan(room: Planning) -> None:
    named = {"Idempotency-Key": "a"}
    body = {"intent": "draft a blog", "catalog": CATALOG, "model": MODEL}
    first = room.client.post("/v1/plans", json=body, headers=named)
    assert first.status_code == 202, first.json()
    for fields in ({"intent": "paint a boat"}, {"mode": "route"}, {"context": "short"}, {"user_id": "ana"}):
        other = room.client.post("/v1/plans", json=body | fields, headers=named)
        assert other.status_code == 409, (fields, other.json())
        assert other.json()["type"] == "plan-conflict"
        assert "another key" in other.json()["detail"]
    assert room.client.post("/v1/plans", json=body | {"model": "x"}, headers=named).status_code == 409
    again = room.client.post("/v1/plans", json=body | {"wait_ms": 1}, headers=named)
    assert again.json()["plan_id"] == first.json()["plan_id"]
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from plan_history")).scalar() == 1


def test_a_plan_of_another_tenant_is_not_there(room: Planning) -> None:
    plan_id = three_steps(room)
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    stranger = {"Authorization": f"Bearer {make_key(other)}"}
    assert room.client.get(f"/v1/plans/{plan_id}", headers=stranger).status_code == 404
    body = {"steps": [{"order": 1, "outcome": "ok"}]}
    assert room.client.post(f"/v1/plans/{plan_id}/outcome", json=body, headers=stranger).status_code == 404
    assert room.client.get("/v1/my-plans", headers=stranger).json()["plans"] == []


@pytest.mark.parametrize("plan_id", ["0191d8a0-0000-7000-8000-000000000000", "nonsense"])
def test_a_plan_that_is_not_there_is_not_found(room: Planning, plan_id: str) -> None:
    assert room.client.get(f"/v1/plans/{plan_id}").status_code == 404
    body = {"steps": [{"order": 1, "outcome": "ok"}]}
    assert room.client.post(f"/v1/plans/{plan_id}/outcome", json=body).status_code == 404


def test_outcomes_are_joined_step_by_step(room: Planning) -> None:
    plan_id = three_steps(room)
    first = report(room, plan_id, {"order": 2, "outcome": "error", "error": "no brief"})
    assert (first.status_code, first.json()["joined"]) == (200, 1)
    report(room, plan_id, {"order": 1, "outcome": "ok"})
    ends = [(step["outcome"], step["error"]) for step in read(room, plan_id)["steps"]]
    assert ends == [("ok", None), ("error", "no brief"), (None, None)]


def test_the_same_report_again_changes_nothing(room: Planning) -> None:
    plan_id = three_steps(room)
    report(room, plan_id, {"order": 1, "outcome": "ok"})
    place = room.plan(plan_id).outcome_seq
    again = report(room, plan_id, {"order": 1, "outcome": "ok"})
    assert (again.status_code, again.json()["joined"]) == (200, 0)
    assert room.plan(plan_id).outcome_seq == place


def test_a_report_that_contradicts_an_earlier_one_is_refused(room: Planning) -> None:
    plan_id = three_steps(room)
    report(room, plan_id, {"order": 1, "outcome": "ok"})
    answer = report(room, plan_id, {"order": 1, "outcome": "error"}, {"order": 2, "outcome": "ok"})
    assert (answer.status_code, answer.json()["type"]) == (409, "outcome-conflict")
    assert answer.json()["conflicting"] == [1]
    assert read(room, plan_id)["steps"][1]["outcome"] is None


@pytest.mark.parametrize(
    "steps",
    [
        [{"order": 9, "outcome": "ok"}],
        [{"order": 1, "outcome": "ok"}, {"order": 9, "outcome": "ok"}],
        [{"order": 1, "outcome": "ok"}, {"order": 1, "outcome": "error"}],
        [{"order": 1, "outcome": "ok", "error": "but"}],
        [{"order": 1, "outcome": "perhaps"}],
        [{"order": 0, "outcome": "ok"}],
        [{"order": 1}],
        [],
    ],
)
def test_a_report_that_cannot_be_joined_joins_nothing(room: Planning, steps: list[dict[str, Any]]) -> None:
    plan_id = three_steps(room)
    answer = report(room, plan_id, *steps)
    assert answer.status_code == 422
    assert answer.json()["field"].startswith("steps")
    assert room.plan(plan_id).outcome_seq is None


def test_a_plan_without_steps_yet_takes_no_outcome(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    answer = report(room, plan_id, {"order": 1, "outcome": "ok"})
    assert (answer.status_code, answer.json()["type"]) == (409, "plan-not-ready")


def test_outcomes_of_many_clients_at_once_are_all_joined(room: Planning) -> None:
    plan_id = three_steps(room)
    threads = [
        threading.Thread(target=report, args=(room, plan_id, {"order": order, "outcome": "ok"}))
        for order in (1, 2, 3)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [step["outcome"] for step in read(room, plan_id)["steps"]] == ["ok"] * 3


def test_my_plans_group_what_was_asked_for_and_how_it_went(room: Planning) -> None:
    first = room.make("Draft a blog!", model="extractive", user_id="ana").plan_id
    room.make("draft a blog", model="extractive", user_id="bo")
    room.make("generate an illustration", model="extractive", user_id="ana")
    report(room, first, {"order": 1, "outcome": "error", "error": "no"})
    document = room.client.get("/v1/my-plans").json()
    assert [(group["intent"], group["times"]) for group in document["plans"]] == [
        ("generate an illustration", 1),
        ("draft a blog", 2),
    ]
    assert document["tools"][0] == {"tool": "blog.draft", "planned": 2, "ok": 0, "error": 1, "unknown": 1}
    of_ana = room.client.get("/v1/my-plans", params={"user_id": "ana"}).json()
    assert of_ana["considered"] == 2
    assert room.client.get("/v1/my-plans", params={"catalog": "other"}).json()["plans"] == []
    assert len(room.client.get("/v1/my-plans", params={"limit": 1}).json()["plans"]) == 1


@pytest.mark.parametrize("asked", [{"limit": 0}, {"limit": 101}, {"who": "ana"}])
def test_a_question_about_past_plans_that_makes_no_sense_is_refused(
    room: Planning, asked: dict[str, Any]
) -> None:
    assert room.client.get("/v1/my-plans", params=asked).status_code == 422


def test_a_key_that_may_only_read_cannot_ask_for_plans(room: Planning) -> None:
    reader = {"Authorization": f"Bearer {make_key(room.tenant_id, 'read')}"}
    body = {"intent": "draft a blog", "catalog": CATALOG, "model": MODEL}
    assert room.client.post("/v1/plans", json=body, headers=reader).status_code == 403
    assert room.client.get("/v1/my-plans", headers=reader).status_code == 200


def test_a_number_beyond_every_plan_is_refused_by_name(room: Planning) -> None:
    plan_id = room.ask("find a page")
    for order in (10_001, 10**30):
        body = {"steps": [{"order": order, "outcome": "ok"}]}
        answer = room.client.post(f"/v1/plans/{plan_id}/outcome", json=body)
        assert answer.status_code == 422, answer.text
        assert "order" in answer.json()["detail"]


def listed(room: Planning, **params: Any) -> list[list[dict[str, Any]]]:
    """The plans of every page."""
    pages, cursor = [], None
    while True:
        asked = {**params, **({"cursor": cursor} if cursor else {})}
        answer = room.client.get("/v1/plans", params=asked)
        assert answer.status_code == 200, answer.text
        pages.append(answer.json()["plans"])
        cursor = answer.json()["next"]
        if cursor is None:
            return pages


def test_plans_are_listed_newest_first_page_by_page_also_those_of_one_moment(room: Planning) -> None:
    ids = {str(three_steps(room)) for _ in range(5)}
    with session.transaction() as db:
        db.execute(text("update plan_history set created_at = now() - interval '1 day'"))
    wanted = ask(room).json()["plan_id"]
    pages = listed(room, limit=2)
    assert [len(page) for page in pages] == [2, 2, 2]
    found = [plan["plan_id"] for page in pages for plan in page]
    assert (found[0], set(found[1:]), len(set(found))) == (wanted, ids, 6)
    newest, other = pages[0]
    assert (newest["status"], other) == ("wanted", read(room, other["plan_id"]))


def test_plans_are_listed_by_user_and_catalog_of_a_tenant_alone(room: Planning) -> None:
    mine = ask(room, user_id="anna").json()["plan_id"]
    ask(room)
    assert [[plan["plan_id"] for plan in page] for page in listed(room, user_id="anna")] == [[mine]]
    assert len(listed(room, catalog=CATALOG)[0]) == 2
    assert listed(room, catalog="none") == [[]]
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    room.client.headers["Authorization"] = f"Bearer {make_key(other, 'read')}"
    assert listed(room) == [[]]


@pytest.mark.parametrize("cursor", ["x", "AA", "YQ", "MjAyNi0xMS0wMQ", "\u00e9"])
def test_a_cursor_of_no_answer_is_refused(room: Planning, cursor: str) -> None:
    answer = room.client.get("/v1/plans", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["field"]) == (422, "cursor")
