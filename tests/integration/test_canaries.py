"""Canaries: a night's set is served to a share of sessions, and outcomes of plans promote or drop it."""

import json
from collections.abc import Callable
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from api.catalogs.catalog_cache import prior_sets
from api.context.tools import offer_tools
from context.types import Wire
from models import database as session
from models.due_work.queue import WorkKind, enqueue, find_work
from models.learning.canary import CanaryRefusedError, settle_canary, start_canary, stop_canary
from models.learning.prior_set import activate_set, retire_sets, roll_back
from models.learning.served_set import ServedSets, find_served_sets
from models.learning.set_listing import SetFacts
from models.learning.settings import LearningSettings
from models.plans.outcome import note_erased_plans
from models.plans.plan import MadePlan, PlanMethod, keep_plan
from models.scope import Scope
from tests.integration.conftest import make_key
from tests.integration.learning import (
    NAME,
    catalog_document,
    in_force,
    learn_now,
    place,
    put,
    sets,
    shuffled,
    store_plans,
)
from tests.unit.priors.plans import TOOLS
from workers.jobs.learn.night import CATALOG, ask_for_catalogs
from workers.jobs.lifecycle import run_work
from workers.jobs.tool_plan import make_plan
from workers.settings import WorkerSettings

SETTINGS = LearningSettings(
    learn_holdout_least=10, learn_canary_share=0.5, learn_canary_least_sessions=15, learn_canary_days=7
)
PATH = f"/v1/catalogs/{NAME}/priors"
NAMES = [f"s{number}" for number in range(50)]


@pytest.fixture
def trying(tenant_id: UUID) -> UUID:
    """A tenant with set 1 in force, and the better set 2 as a canary of half of the sessions."""
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(10, tools=TOOLS[:6]))
    learn_now(tenant_id)
    store_plans(tenant_id, shuffled(20, seed=2))
    assert learn_now(tenant_id, settings=SETTINGS).startswith("set 2 canary: better than the set in force")
    prior_sets.forget()
    return tenant_id


def served(tenant_id: UUID) -> ServedSets:
    with session.read_transaction() as db:
        return find_served_sets(Scope(db, tenant_id), [NAME]).get(NAME, ServedSets())


def states(tenant_id: UUID) -> dict[int, str]:
    return {one.version: one.state for one in sets(tenant_id)}


def facts(tenant_id: UUID, version: int = 2) -> SetFacts:
    return next(one for one in sets(tenant_id) if one.version == version)


def ranked_by(client: TestClient, session_id: str | None) -> Any:
    body = {"intent": "jot down a draft", "session_id": session_id}
    return client.post(f"/v1/catalogs/{NAME}/rank", json=body).json()["prior_set"]


def say(client: TestClient, session_id: str, *, ok: bool = True, turn: str = "t1", **plan: Any) -> None:
    """End a turn whose plan has an outcome."""
    messages = [{"role": "user", "content": "jot"}, {"role": "assistant", "content": "done"}]
    step = {"tool": "notes", "outcome": "ok" if ok else "error"}
    said = {"intent": "jot", "catalog": NAME, "steps": [step], **plan}
    answer = client.post(
        f"/v1/sessions/{session_id}/turns", json={"turn_id": turn, "messages": messages, "plan": said}
    )
    assert answer.status_code == 202, answer.text


def say_all(client: TestClient, goes_well: Callable[[int], bool]) -> None:
    """End a turn of each session; the set of the session decides how the plan went."""
    for name in NAMES:
        say(client, name, ok=goes_well(ranked_by(client, name)))


def pass_days(tenant_id: UUID, days: float) -> None:
    """Let time pass for a canary and its plans."""
    by = {"tenant_id": tenant_id, "seconds": days * 86_400}
    shift = "make_interval(secs => :seconds)"
    with session.transaction() as db:
        db.execute(
            text(
                f"update prior_canary set since = since - {shift}, ends_at = ends_at - {shift}"  # noqa: S608
                " where tenant_id = :tenant_id"
            ),
            by,
        )
        db.execute(
            text(
                f"update plan_history set created_at = created_at - {shift},"  # noqa: S608
                f" outcome_at = outcome_at - {shift}"
                " where tenant_id = :tenant_id and prior_set is not null"
            ),
            by,
        )
    prior_sets.forget()


def settle(tenant_id: UUID) -> str | None:
    with session.transaction() as db:
        return settle_canary(db, place(tenant_id), SETTINGS)


def test_a_better_set_is_served_to_a_share_of_sessions_and_the_same_ones_each_time(
    client: TestClient, trying: UUID
) -> None:
    assert states(trying) == {1: "active", 2: "canary"}
    first = {name: ranked_by(client, name) for name in NAMES}
    assert 10 <= sum(version == 2 for version in first.values()) <= 40
    assert set(first.values()) == {1, 2}
    prior_sets.forget()
    assert {name: ranked_by(client, name) for name in NAMES} == first
    assert ranked_by(client, None) == 1


def test_a_context_ranks_the_tools_by_the_set_of_its_session(client: TestClient, trying: UUID) -> None:
    by = {ranked_by(client, name): name for name in NAMES}
    said = {
        version: offer_tools(trying, None, NAME, Wire.OPENAI, "m", session_id=name).priors("jot down a draft")
        for version, name in by.items()
    }
    without = offer_tools(trying, None, NAME, Wire.OPENAI, "m").priors("jot down a draft")
    assert said[1] == without
    assert said[2] != without


def test_a_plan_knows_the_set_that_ranked_it(client: TestClient, trying: UUID) -> None:
    by = {ranked_by(client, name): name for name in NAMES}
    for version, name in by.items():
        say(client, name)
        wanted = {"intent": "jot down a draft", "catalog": NAME, "model": "extractive", "session_id": name}
        plan_id = client.post("/v1/plans", json=wanted).json()["plan_id"]
        with session.read_transaction() as db:
            work = find_work(Scope(db, trying), WorkKind.PLAN, plan_id)
        assert work is not None
        handlers = {WorkKind.PLAN: lambda held: make_plan(held, complete=unasked, most_wait_s=60)}
        run_work(work.work_id, handlers, WorkerSettings())
        assert client.get(f"/v1/plans/{plan_id}").json()["prior_set"] == version
    say(client, by[1], turn="t2", prior_set=2)
    say(client, by[2], turn="t3", prior_set=None)
    say(client, by[2], turn="t4", catalog="of the client alone")
    found = client.get("/v1/plans?limit=100").json()["plans"]
    told = {(one["session_id"], one["turn_id"]): one.get("prior_set") for one in found if "turn_id" in one}
    assert told == {
        (by[1], "t1"): 1,
        (by[2], "t1"): 2,
        (by[1], "t2"): 2,
        (by[2], "t3"): 0,
        (by[2], "t4"): None,
    }


def unasked(*_: object) -> Any:
    raise AssertionError


def test_outcomes_of_whole_days_promote_a_set(client: TestClient, trying: UUID) -> None:
    say_all(client, lambda version: version == 2)
    assert "outcomes of 0 and 0 sessions" in (settle(trying) or "")
    assert states(trying)[2] == "canary"
    pass_days(trying, 1.01)
    outcome = learn_now(trying, settings=SETTINGS)
    assert "; set 2 promoted: more plans went well: " in outcome
    assert (states(trying)[1], states(trying)[2]) == ("superseded", "active")
    canary = facts(trying).canary
    assert canary is not None
    assert (canary.end, canary.base, canary.new.plans + canary.in_force.plans) == ("promoted", 1, len(NAMES))
    assert (canary.new.well, canary.in_force.well) == (canary.new.plans, 0)
    assert set(facts(trying).evaluation) == {"words", "new", "in_force", "canary"}
    assert "promoted by outcomes" in facts(trying).reason
    assert {ranked_by(client, name) for name in NAMES} == {2}


def test_outcomes_drop_a_set_that_is_worse(client: TestClient, trying: UUID) -> None:
    say_all(client, lambda version: version == 1)
    pass_days(trying, 1.01)
    assert (settle(trying) or "").startswith("set 2 dropped: fewer plans went well: ")
    assert (states(trying)[1], states(trying)[2]) == ("active", "rejected")
    prior_sets.forget()
    assert {ranked_by(client, name) for name in NAMES} == {1}
    assert settle(trying) is None


def test_a_handful_of_sessions_decides_nothing_however_much_they_say(
    client: TestClient, trying: UUID
) -> None:
    by = {ranked_by(client, name): name for name in NAMES}
    for turn in range(30):
        say(client, by[2], turn=f"t{turn}")
        say(client, by[1], turn=f"t{turn}", ok=False)
    pass_days(trying, 2)
    assert settle(trying) == ("canary of set 2 goes on: outcomes of 1 and 1 sessions, 15 of each are needed")


def test_outcomes_from_before_the_canary_say_nothing(client: TestClient, tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(10, tools=TOOLS[:6]))
    learn_now(tenant_id)
    store_plans(tenant_id, shuffled(20, seed=2))
    assert learn_now(tenant_id).startswith("set 2 active")
    prior_sets.forget()
    say_all(client, lambda _: True)
    say(client, "open", steps=[{"tool": "notes"}])
    (open_plan,) = client.get("/v1/plans?limit=1").json()["plans"]
    with session.transaction() as db:
        start_canary(db, place(tenant_id), 1, share=0.5, days=3, reason="the old one")
    late = {"steps": [{"order": 1, "outcome": "ok"}]}
    assert client.post(f"/v1/plans/{open_plan['plan_id']}/outcome", json=late).json()["joined"] == 1
    canary = facts(tenant_id, 1).canary
    assert canary is not None
    assert (canary.new.plans, canary.in_force.plans) == (0, 0)


def test_a_canary_serves_no_longer_than_it_may_and_the_next_night_drops_it(
    client: TestClient, trying: UUID
) -> None:
    pass_days(trying, 7.01)
    assert served(trying) == ServedSets(1)
    assert {ranked_by(client, name) for name in NAMES} == {1}
    with session.transaction() as db:
        db.execute(text("update learning_state set watermark = 1000000"))
        assert ask_for_catalogs(Scope(db, trying)) == [NAME]
    assert "; set 2 dropped: the time is over: outcomes of 0 and 0" in learn_now(trying, settings=SETTINGS)
    assert states(trying)[2] == "rejected"


def test_a_better_set_of_a_later_night_waits_for_the_end_of_the_canary(
    client: TestClient, trying: UUID
) -> None:
    store_plans(trying, shuffled(20, seed=3))
    outcome = learn_now(trying, settings=SETTINGS)
    assert outcome.startswith("set 3 observing: better than the set in force")
    assert "waits for the end of the canary of set 2; canary of set 2 goes on" in outcome
    assert states(trying) == {1: "active", 2: "canary", 3: "observing"}
    say_all(client, lambda version: version == 2)
    pass_days(trying, 1.01)
    assert "; set 2 promoted" in learn_now(trying, settings=SETTINGS)
    found = states(trying)
    assert (found[1], found[2]) == ("superseded", "active")
    assert found[3] != "active"


def test_going_back_and_putting_in_force_by_hand_end_a_canary(trying: UUID) -> None:
    with session.transaction() as db:
        assert roll_back(db, place(trying), reason="by hand") is None
    assert states(trying) == {1: "rejected", 2: "rejected"}
    assert "taken off canary: the set in force changed" in facts(trying).reason
    with session.transaction() as db:
        start_canary(db, place(trying), 2, share=0.3, days=3, reason="again")
        assert activate_set(db, place(trying), 2, reason="enough seen")
    assert states(trying) == {1: "rejected", 2: "active"}
    with session.transaction() as db:
        start_canary(db, place(trying), 1, share=0.3, days=3, reason="the old one")
        retire_sets(db, place(trying), reason="erased")
    assert served(trying) == ServedSets()


def test_a_canary_beside_words_alone_is_stopped_by_hand(client: TestClient, trying: UUID) -> None:
    with session.transaction() as db:
        roll_back(db, place(trying), reason="by hand")
        start_canary(db, place(trying), 2, share=0.5, days=3, reason="beside words")
    prior_sets.forget()
    assert {ranked_by(client, name) for name in NAMES} == {None, 2}
    say_all(client, lambda version: version == 2)
    canary = facts(trying).canary
    assert canary is not None
    assert (canary.base, canary.in_force.plans + canary.new.plans) == (0, len(NAMES))
    with session.transaction() as db:
        assert stop_canary(db, place(trying), reason="stopped") is None
        with pytest.raises(LookupError):
            stop_canary(db, place(trying), reason="stopped")
    prior_sets.forget()
    assert {ranked_by(client, name) for name in NAMES} == {None}


def test_a_set_made_of_erased_plans_is_never_promoted(client: TestClient, trying: UUID) -> None:
    say_all(client, lambda version: version == 2)
    pass_days(trying, 1.01)
    with session.transaction() as db:
        db.execute(text("delete from plan_history where intent like '%forecast%'"))
        note_erased_plans(Scope(db, trying), {NAME: 3})
    assert "promoted" not in learn_now(trying, settings=SETTINGS)
    assert (states(trying)[1], states(trying)[2]) == ("rejected", "rejected")
    assert not facts(trying).is_kept


def test_the_outcomes_of_erased_sessions_leave_the_figures(client: TestClient, trying: UUID) -> None:
    say_all(client, lambda _: True)
    for name in NAMES[:10]:
        assert client.delete(f"/v1/sessions/{name}").status_code == 200
    canary = facts(trying).canary
    assert canary is not None
    assert canary.new.plans + canary.in_force.plans == len(NAMES) - 10


def test_two_processes_end_and_start_a_canary_once(client: TestClient, trying: UUID) -> None:
    say_all(client, lambda version: version == 2)
    pass_days(trying, 1.01)
    told: list[str | None] = []
    refused: list[CanaryRefusedError] = []
    run_at_once(lambda: told.append(settle(trying)))
    assert sorted(one is None for one in told) == [False, True]
    assert states(trying) == {1: "superseded", 2: "active"}

    def start() -> None:
        try:
            with session.transaction() as db:
                start_canary(db, place(trying), 1, share=0.5, days=3, reason="again")
        except CanaryRefusedError as error:
            refused.append(error)

    run_at_once(start)
    assert [one.numbers for one in refused] == [{"canary": 1}]
    assert states(trying) == {1: "canary", 2: "active"}


def run_at_once(work: Callable[[], None]) -> None:
    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_without_a_share_a_better_set_takes_force_at_once(tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled())
    assert learn_now(tenant_id, settings=LearningSettings(learn_holdout_least=10)).startswith("set 1 active")
    with pytest.raises(ValueError, match="learn_canary_share"):
        LearningSettings(learn_canary_share=1)


def test_plans_without_a_catalog_have_no_canary(tenant_id: UUID) -> None:
    store_plans(tenant_id, shuffled(), catalog=None)
    assert learn_now(tenant_id, "", settings=SETTINGS).startswith("set 1 active")
    with session.transaction() as db, pytest.raises(CanaryRefusedError):
        start_canary(db, place(tenant_id, ""), 1, share=0.5, days=1, reason="x")


def test_an_observed_set_that_is_confirmed_becomes_a_canary(tenant_id: UUID) -> None:
    careful = SETTINGS.model_copy(update={"learn_observe_first": True})
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled())
    assert learn_now(tenant_id, settings=careful).startswith("set 1 observing")
    store_plans(tenant_id, shuffled(4, seed=5))
    learn_now(tenant_id, settings=careful)
    assert states(tenant_id)[1] == "canary"
    with session.read_transaction() as db:
        assert in_force(db, tenant_id) is None


def listed(client: TestClient) -> dict[int, Any]:
    return {one["version"]: one for one in client.get(PATH).json()["sets"]}


def test_a_canary_is_started_shown_and_stopped_over_http(client: TestClient, trying: UUID) -> None:
    stopped = client.delete(f"{PATH}/canary")
    assert (stopped.status_code, stopped.json()) == (200, {"in_force": 1})
    assert client.delete(f"{PATH}/canary").status_code == 404
    answer = client.post(f"{PATH}/canary", json={"version": 2, "share": 0.25, "days": 3})
    assert answer.status_code == 200, answer.text
    (begun,) = answer.json()["sets"]
    assert (begun["version"], begun["state"], begun["canary"]["share"]) == (2, "canary", 0.25)
    key_id = client.headers["Authorization"].split("_")[1]
    assert f"served to 25% of sessions over HTTP by key {key_id}, " in begun["reason"]
    prior_sets.forget()
    say_all(client, lambda version: version == 2)
    found = listed(client)
    assert found[1]["canary"] is None
    canary = found[2]["canary"]
    assert (canary["base"], canary["end"]) == (1, None)
    assert canary["new"]["share"]["share"] == 1
    assert canary["in_force"]["share"]["high"] < 0.5
    assert 0 < canary["difference"]["low"] < canary["difference"]["difference"]
    for version, status in ((2, 409), (1, 409), (9, 404)):
        body = {"version": version, "share": 0.5}
        assert client.post(f"{PATH}/canary", json=body).status_code == status
    for share in (0, 1, -1, "0.5"):
        assert client.post(f"{PATH}/canary", json={"version": 1, "share": share}).status_code == 422
    client.headers["Authorization"] = f"Bearer {make_key(trying, 'read', 'write')}"
    assert client.delete(f"{PATH}/canary").status_code == 403


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--tenant", "first"], env={"COLUMNS": "300"})


def test_a_canary_is_started_shown_and_stopped_by_commands(client: TestClient, trying: UUID) -> None:
    of = ("--catalog", NAME)
    assert "set 1 serves every session" in run("priors", "stop", *of, "--by", "Ada").output
    assert "canary stopped by hand by Ada" in facts(trying).reason
    for share in ("0", "1", "1.5"):
        assert run("priors", "canary", "2", *of, "--share", share).exit_code == 2
    assert "set 2 is served to 40% of sessions" in run("priors", "canary", "2", *of, "--share", "0.4").output
    assert run("priors", "canary", "2", *of, "--share", "0.4").exit_code == 2
    prior_sets.forget()
    say_all(client, lambda version: version == 2)
    assert "40% of sessions, until " in run("priors", "list").output
    told = json.loads(run("priors", "list", "--json").output)
    (canary,) = [one["canary"] for one in told if one["canary"]]
    assert (canary["base"], canary["new"]["share"]["share"]) == (1, 1)
    reported = json.loads(run("learn", "report", "--json").output)
    assert [one["canary"] for one in reported if one["canary"]] == [canary]


def test_a_plan_that_fails_later_counts_as_failed(client: TestClient, trying: UUID) -> None:
    by = {ranked_by(client, name): name for name in NAMES}
    wanted = {"intent": "jot", "catalog": NAME, "model": "extractive", "session_id": by[2]}
    say(client, by[2])
    plan_id = client.post("/v1/plans", json=wanted).json()["plan_id"]
    steps: list[dict[str, Any]] = [
        {"order": order, "tool": "notes", "args": {}, "outcome": None} for order in (1, 2)
    ]
    with session.transaction() as db:
        keep_plan(Scope(db, trying), UUID(plan_id), MadePlan(steps, PlanMethod.LLM, prior_set=2))
    went = []
    for order, outcome in ((1, "ok"), (2, "error")):
        body = {"steps": [{"order": order, "outcome": outcome}]}
        assert client.post(f"/v1/plans/{plan_id}/outcome", json=body).status_code == 200
        canary = facts(trying).canary
        assert canary is not None
        went.append((canary.new.plans, canary.new.well))
    assert went == [(2, 2), (2, 1)]


def test_the_night_asks_for_the_catalog_of_a_canary(trying: UUID) -> None:
    with session.transaction() as db:
        enqueue(Scope(db, trying), WorkKind.LEARN, CATALOG + NAME)
    assert "canary of set 2 goes on" in learn_now(trying, settings=SETTINGS)
    with session.transaction() as db:
        db.execute(text("update learning_state set watermark = 1000000"))
        assert ask_for_catalogs(Scope(db, trying)) == [NAME]
