"""Plans that come with turns, and the order in which outcomes are read by those who learn from them."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from context.tool_plans.outcomes import Outcome, StepOutcome
from models import database as session
from models.conversations.log import NewTurn
from models.encryption.keys import TextCipher
from models.learning.progress import read_page
from models.plans.from_turns import plans_of_turns
from models.plans.outcome import join_outcomes, settled_through
from models.plans.plan import MadePlan, Plan, PlanMethod, WantedPlan, keep_plan, open_plan, want_plan
from models.scope import Scope

TURNS = "/v1/sessions/s1/turns"


def step(order: int, tool: str) -> dict[str, Any]:
    return {"order": order, "tool": tool, "args": {}, "rationale": "", "outcome": None, "error": None}


def make(tenant_id: UUID, *tools: str, catalog: str = "main") -> UUID:
    """A plan of these tools that is ready."""
    wanted = WantedPlan("draft a blog", b"x" * 32, {}, 0.1, "plan", catalog, "d", "m")
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        plan_id = want_plan(scope, wanted)
        steps = [step(order, tool) for order, tool in enumerate(tools, 1)]
        keep_plan(scope, plan_id, MadePlan(steps, PlanMethod.LLM))
    return plan_id


def join(tenant_id: UUID, plan_id: UUID, order: int = 1, outcome: Outcome = Outcome.OK) -> None:
    with session.transaction() as db:
        join_outcomes(Scope(db, tenant_id), plan_id, [StepOutcome(order, outcome)])


def taught(
    tenant_id: UUID, *, after: int = 0, catalog: str | None = "main", most: int = 100
) -> list[tuple[int, UUID]]:
    with session.transaction() as db:
        through = settled_through(Scope(db, tenant_id))
    with session.read_transaction() as db:
        page = read_page(Scope(db, tenant_id), catalog, after_seq=after, through_seq=through, most=most)
    return [(plan.outcome_seq, UUID(plan.plan_id)) for plan in page]


def turn(turn_id: str, plan: dict[str, Any] | None, *results: tuple[str, str]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Draft a blog about marigolds."}]
    for number, (tool, result) in enumerate(results):
        call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    messages.append({"role": "assistant", "content": "Done."})
    return {"turn_id": turn_id, "messages": messages, "user_id": "ana", **({"plan": plan} if plan else {})}


def plans(tenant_id: UUID) -> list[Plan]:
    with session.read_transaction() as db:
        rows = db.execute(select(Plan.__table__).where(Plan.tenant_id == tenant_id)).mappings().all()
        cells = TextCipher(db, tenant_id)
        return [Plan(**open_plan(cells, row["plan_id"], row)) for row in rows]


def ends(plan: Plan) -> list[tuple[str, str | None]]:
    return [(step["tool"], step["outcome"]) for step in plan.steps]


def test_a_plan_that_comes_with_a_turn_is_kept_with_its_outcomes(client: TestClient, tenant_id: UUID) -> None:
    plan = {
        "steps": [{"tool": "blog.draft"}, {"tool": "image.generate"}, {"tool": "mail.send"}],
        "catalog": "main",
    }
    results = (("blog_draft", "a fine text"), ("image_generate", "Error: no colours left"))
    assert client.post(TURNS, json=turn("t1", plan, *results)).status_code == 202
    [kept] = plans(tenant_id)
    assert (kept.source, kept.method, kept.status) == ("turn", "reported", "ready")
    assert (kept.session_id, kept.turn_id, kept.user_id) == ("s1", "t1", "ana")
    assert kept.intent == "Draft a blog about marigolds."
    assert ends(kept) == [("blog.draft", "ok"), ("image.generate", "error"), ("mail.send", None)]
    assert taught(tenant_id) == [(kept.outcome_seq, kept.plan_id)]


def test_an_outcome_is_as_old_as_the_turn_that_brought_it(client: TestClient, tenant_id: UUID) -> None:
    body = turn("t1", {"intent": "read it", "steps": [{"tool": "read_file"}]}, ("read_file", "words"))
    followed = make(tenant_id, "read_file")
    then = {"completed_at": "2020-03-04T05:06:07Z"}
    assert client.post(TURNS, json={**body, **then}).status_code == 202
    follows = turn("t2", {"plan_id": str(followed)}, ("read_file", "words"))
    assert client.post(TURNS, json={**follows, **then}).status_code == 202
    assert client.post(TURNS, json={**body, "turn_id": "t3"}).status_code == 202
    with session.read_transaction() as db:
        years = db.execute(
            text(
                "select extract(year from outcome_at)::int = 2020 from plan_history "
                "where outcome_at is not null order by outcome_seq"
            )
        ).scalars()
        assert list(years) == [True, True, False]


def test_a_plan_is_as_old_as_its_turn_and_listed_by_that_age(client: TestClient) -> None:
    def told(turn_id: str, intent: str, completed_at: str | None) -> dict[str, Any]:
        body = turn(turn_id, {"intent": intent, "steps": [{"tool": "read_file"}]}, ("read_file", "words"))
        return {**body, "completed_at": completed_at}

    # A backfill comes in any order, after turns of today, and with plans whose steps nothing ended.
    bodies = [
        told("t1", "read it today", None),
        told("t2", "read it in March", "2020-03-04T05:06:07Z"),
        told("t3", "read it in May", "2020-05-04T07:06:07+02:00"),
        {
            **turn("t4", {"intent": "send it in April", "steps": [{"tool": "send_mail"}]}),
            "completed_at": "2020-04-04T05:06:07Z",
        },
    ]
    for body in bodies:
        assert client.post(TURNS, json=body).status_code == 202
    past = client.get("/v1/my-plans").json()["plans"]
    assert [one["intent"] for one in past] == [
        "read it today",
        "read it in May",
        "send it in April",
        "read it in March",
    ]
    assert [one["last_at"][:19] for one in past[1:]] == [
        "2020-05-04T05:06:07",
        "2020-04-04T05:06:07",
        "2020-03-04T05:06:07",
    ]


def test_a_plan_of_a_turn_names_its_catalogs_version_and_how_long_it_took(
    client: TestClient, tenant_id: UUID
) -> None:
    put = client.put("/v1/catalogs/main", json={"tools": [{"name": "blog.draft"}]})
    told = {"steps": ["blog.draft"], "catalog": "main", "catalog_digest": "a" * 64, "duration_s": 1.5}
    sent = [
        {"steps": ["blog.draft"], "catalog": "main", "duration_ms": 420},
        told,
        {"steps": ["blog.draft"], "catalog": "never-put", "duration_ms": -1},
        {"steps": ["blog.draft"], "catalog_digest": "main", "duration_ms": 10**12},
    ]
    for number, plan in enumerate(sent):
        client.post(TURNS, json=turn(f"t{number}", plan))
    kept = {plan.turn_id: (plan.catalog_digest, plan.duration_ms) for plan in plans(tenant_id)}
    assert kept == {
        "t0": (put.json()["digest"], 420),
        "t1": ("a" * 64, 1500),
        "t2": (None, None),
        "t3": (None, None),
    }


def test_a_plan_whose_tools_were_not_called_teaches_nothing(client: TestClient, tenant_id: UUID) -> None:
    client.post(TURNS, json=turn("t1", {"steps": ["blog.draft"], "catalog": "main"}))
    [kept] = plans(tenant_id)
    assert (kept.outcome_at, kept.outcome_seq) == (None, None)
    assert taught(tenant_id) == []


def test_a_turn_that_comes_again_keeps_its_plan_once(client: TestClient, tenant_id: UUID) -> None:
    body = turn("t1", {"steps": ["blog.draft"]}, ("blog.draft", "fine"))
    assert [client.post(TURNS, json=body).status_code for _ in range(2)] == [202, 200]
    assert len(plans(tenant_id)) == 1


def test_a_turn_that_follows_a_plan_of_ours_gives_it_its_outcomes(
    client: TestClient, tenant_id: UUID
) -> None:
    plan_id = make(tenant_id, "blog.draft", "image.generate")
    body = turn("t1", {"plan_id": str(plan_id)}, ("blog.draft", "fine"))
    assert client.post(TURNS, json=body).status_code == 202
    [kept] = plans(tenant_id)
    assert (kept.plan_id, kept.session_id, kept.turn_id, kept.user_id) == (plan_id, "s1", "t1", "ana")
    assert ends(kept) == [("blog.draft", "ok"), ("image.generate", None)]
    client.post(TURNS, json=turn("t2", {"plan_id": str(plan_id)}, ("image.generate", "Error: no")))
    assert ends(plans(tenant_id)[0]) == [("blog.draft", "ok"), ("image.generate", "error")]


def test_what_was_reported_before_is_not_taken_back_by_a_turn(client: TestClient, tenant_id: UUID) -> None:
    plan_id = make(tenant_id, "blog.draft")
    join(tenant_id, plan_id, outcome=Outcome.ERROR)
    client.post(TURNS, json=turn("t1", {"plan_id": str(plan_id)}, ("blog.draft", "fine")))
    assert ends(plans(tenant_id)[0]) == [("blog.draft", "error")]


def test_a_plan_of_another_tenant_is_not_touched(client: TestClient, tenant_id: UUID) -> None:
    with session.transaction() as db:
        other = db.execute(
            text("insert into tenant (name) values ('second') returning tenant_id")
        ).scalar_one()
    plan_id = make(other, "blog.draft")
    client.post(TURNS, json=turn("t1", {"plan_id": str(plan_id)}, ("blog.draft", "fine")))
    assert ends(plans(other)[0]) == [("blog.draft", None)]
    assert plans(tenant_id) == []


def test_plans_of_many_turns_in_one_call_are_all_kept(client: TestClient, tenant_id: UUID) -> None:
    lines = [
        {"session_id": f"s{n}", **turn("t1", {"steps": ["blog.draft"]}, ("blog.draft", "fine"))}
        for n in range(5)
    ]
    body = "\n".join(map(json.dumps, lines))
    client.post("/v1/turns", content=body)
    assert len(plans(tenant_id)) == 5
    assert len({plan.outcome_seq for plan in plans(tenant_id)}) == 5


@pytest.mark.parametrize(
    "plan", [{}, {"steps": 5}, {"steps": [None, 7, {"x": 1}]}, {"plan_id": "7"}, {"a": [{"b": {}}]}]
)
def test_an_odd_plan_never_costs_the_turn(client: TestClient, tenant_id: UUID, plan: dict[str, Any]) -> None:
    assert client.post(TURNS, json={**turn("t1", None), "plan": plan}).status_code == 202
    assert plans(tenant_id) == []


def test_a_plan_that_cannot_be_read_is_left_out_and_refuses_nothing() -> None:
    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"x": deep}
    broken = NewTurn("s1", "t1", b"1" * 32, [], plan={"steps": [{"tool": "a", "args": deep}]})
    sound = NewTurn("s1", "t2", b"2" * 32, [], plan={"steps": ["blog.draft"], "intent": "draft"})
    assert [read.turn_id if read else None for read in plans_of_turns([broken, sound])] == [None, "t2"]


def test_an_intent_is_read_before_a_session_is_locked() -> None:
    turn_of_long_intent = NewTurn("s1", "t1", b"1" * 32, [], plan={"steps": ["a"], "intent": "draft it"})
    [read] = plans_of_turns([turn_of_long_intent])
    assert read is not None
    assert read.row is not None
    assert json.loads(read.row["features"])["words"] > 0


def test_a_sessions_plans_go_with_it(client: TestClient) -> None:
    client.post(TURNS, json=turn("t1", {"steps": ["blog.draft"]}, ("blog.draft", "fine")))
    with session.transaction() as db:
        db.execute(text("delete from session"))
        found = db.execute(text("select count(*) from plan_history where intent like '%marigold%'"))
        assert found.scalar() == 0


def test_outcomes_are_read_in_the_order_in_which_they_were_joined(
    client: TestClient, tenant_id: UUID
) -> None:
    del client
    ids = [make(tenant_id, "a") for _ in range(4)]
    for plan_id in reversed(ids):
        join(tenant_id, plan_id)
    assert [plan_id for _, plan_id in taught(tenant_id)] == ids[::-1]


def test_pages_follow_on_each_other_without_a_gap(client: TestClient, tenant_id: UUID) -> None:
    del client
    for plan_id in [make(tenant_id, "a") for _ in range(5)]:
        join(tenant_id, plan_id)
    every, after, seen = taught(tenant_id), 0, []
    while page := taught(tenant_id, after=after, most=2):
        seen += page
        after = page[-1][0]
    assert seen == every


def test_a_plan_whose_further_steps_end_comes_again(client: TestClient, tenant_id: UUID) -> None:
    del client
    plan_id = make(tenant_id, "a", "b")
    join(tenant_id, plan_id, 1)
    [(first, _)] = taught(tenant_id)
    join(tenant_id, plan_id, 2)
    [(second, again)] = taught(tenant_id, after=first)
    assert (again, second > first) == (plan_id, True)


def test_each_catalog_is_read_for_itself(client: TestClient, tenant_id: UUID) -> None:
    del client
    for catalog in ("main", "other"):
        join(tenant_id, make(tenant_id, "a", catalog=catalog))
    assert len(taught(tenant_id)) == len(taught(tenant_id, catalog="other")) == 1


def test_an_outcome_that_is_committed_late_is_not_missed(client: TestClient, tenant_id: UUID) -> None:
    """A lower number that appears after a higher one would be behind the watermark for ever."""
    del client
    early, late = make(tenant_id, "a"), make(tenant_id, "a")
    with session.engine().connect() as slow:
        outer = slow.begin()
        join_outcomes(Scope(slow, tenant_id), early, [StepOutcome(1, Outcome.OK)])
        join(tenant_id, late)
        with session.transaction() as db:
            db.execute(text("set local lock_timeout = '200ms'"))
            with pytest.raises(OperationalError, match="lock timeout"):
                settled_through(Scope(db, tenant_id))
        outer.commit()
    assert [plan_id for _, plan_id in taught(tenant_id)] == [early, late]


def test_those_who_report_outcomes_do_not_wait_for_each_other(client: TestClient, tenant_id: UUID) -> None:
    del client
    one, other = make(tenant_id, "a"), make(tenant_id, "a")
    with session.engine().connect() as slow:
        outer = slow.begin()
        join_outcomes(Scope(slow, tenant_id), one, [StepOutcome(1, Outcome.OK)])
        with session.transaction() as db:
            db.execute(text("set local lock_timeout = '200ms'"))
            joined = join_outcomes(Scope(db, tenant_id), other, [StepOutcome(1, Outcome.OK)])
        outer.rollback()
    assert joined is not None
    assert joined.merged is not None
    assert joined.merged.changed == 1


def asks(*calls: tuple[str, str]) -> dict[str, Any]:
    """An answer of the model that calls tools, each with an id."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call_id, "type": "function", "function": {"name": tool, "arguments": "{}"}}
            for call_id, tool in calls
        ],
    }


def says(call_id: str, result: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": result}


USER, DONE = {"role": "user", "content": "Draft a blog."}, {"role": "assistant", "content": "Done."}
STEPS = {"intent": "draft a blog", "steps": ["blog.draft", "image.generate"], "catalog": "main"}
CALLS = asks(("a", "blog_draft"), ("b", "image_generate"))
RESULTS = [says("a", "fine"), says("b", "Error: no colours left")]
BOTH = [("blog.draft", "ok"), ("image.generate", "error")]
LATER: dict[str, list[tuple[list[dict[str, Any]], bool]]] = {
    "the next turn": [([USER, CALLS], True), ([*RESULTS, DONE], False)],
    "the next turn, in the midst of words": [([USER, CALLS], True), ([*RESULTS, DONE, USER, DONE], False)],
    "after further words": [([USER, CALLS], True), ([USER, DONE], False), ([*RESULTS, DONE], False)],
    "after words of the same turn": [([USER, CALLS], True), ([USER, *RESULTS, DONE], False)],
    "two turns": [([USER, CALLS], True), ([RESULTS[0]], False), ([RESULTS[1], DONE], False)],
    "calls of a later turn too": [([USER], True), ([CALLS, *RESULTS, DONE], False)],
    "a turn for each message": [([one], one is USER) for one in (USER, CALLS, *RESULTS, DONE)],
}


def send(client: TestClient, turns: list[tuple[list[dict[str, Any]], bool]], session_id: str = "s1") -> None:
    for number, (messages, is_planned) in enumerate(turns):
        body = {"turn_id": f"t{number}", "messages": messages, **({"plan": STEPS} if is_planned else {})}
        assert client.post(f"/v1/sessions/{session_id}/turns", json=body).status_code == 202


@pytest.mark.parametrize("case", LATER)
def test_results_that_come_under_a_later_turn_are_the_outcomes_of_the_plan(
    client: TestClient, tenant_id: UUID, case: str
) -> None:
    send(client, LATER[case])
    [kept] = plans(tenant_id)
    assert ends(kept) == BOTH
    assert (kept.turn_id, kept.went_well) == ("t0", False)
    assert taught(tenant_id) == [(kept.outcome_seq, kept.plan_id)]


def test_results_of_anthropic_and_responses_count_alike(client: TestClient, tenant_id: UUID) -> None:
    uses = [
        {"type": "tool_use", "id": one, "name": tool, "input": {}} for one, tool in (("a", "blog_draft"),)
    ]
    result = [{"type": "tool_result", "tool_use_id": "a", "content": "bad", "is_error": True}]
    items = [
        {"type": "function_call", "call_id": "a", "name": "blog_draft", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "fine"},
    ]
    told = {
        "anthropic": ([USER, {"role": "assistant", "content": uses}], [{"role": "user", "content": result}]),
        "responses": ([USER, items[0]], [items[1]]),
    }
    for wire, parts in told.items():
        for number, messages in enumerate(parts):
            body = {"turn_id": f"t{number}", "messages": messages, "wire": wire}
            body |= {} if number else {"plan": STEPS}
            assert client.post(f"/v1/sessions/{wire}/turns", json=body).status_code == 202
    found = {plan.session_id: ends(plan)[0][1] for plan in plans(tenant_id)}
    assert found == {"anthropic": "error", "responses": "ok"}


def test_appended_messages_are_the_outcomes_of_the_turns_plan(client: TestClient, tenant_id: UUID) -> None:
    index = 0
    for part in ([USER, CALLS], RESULTS[:1], [RESULTS[1], DONE]):
        body = {"index": index, "messages": part, **({} if index else {"plan": STEPS})}
        assert client.post(f"{TURNS}/t0/messages", json=body).status_code == 200
        index += len(part)
    assert ends(plans(tenant_id)[0]) == BOTH


def test_a_plan_of_ours_gets_results_of_a_later_turn_with_its_id_or_without(
    client: TestClient, tenant_id: UUID
) -> None:
    for again in ({}, {"plan": True}):
        plan_id = make(tenant_id, "blog.draft", "image.generate")
        named = {"plan": {"plan_id": str(plan_id)}}
        path = f"/v1/sessions/{plan_id}/turns"
        client.post(path, json={"turn_id": "t1", "messages": [USER, CALLS], **named})
        client.post(path, json={"turn_id": "t2", "messages": RESULTS, **(named if again else {})})
    assert [ends(plan) for plan in plans(tenant_id)] == [BOTH, BOTH]


def test_results_of_another_exchange_are_no_outcomes(client: TestClient, tenant_id: UUID) -> None:
    """Each later turn has other calls, or results of other calls."""
    again = asks(("a", "blog_draft"))
    others: list[list[tuple[list[dict[str, Any]], bool]]] = [
        [([USER, DONE], True), ([USER, CALLS], False), ([*RESULTS, DONE], False)],
        [([USER, CALLS], True), ([USER, again], False), ([RESULTS[0], DONE], False)],
        [([USER, DONE], True), ([says("z", "fine")], False)],
    ]
    for number, turns in enumerate(others):
        send(client, turns, f"other{number}")
    assert [plan.outcome_seq for plan in plans(tenant_id)] == [None] * len(others)


def test_the_newest_plan_has_the_calls_that_follow_it(client: TestClient, tenant_id: UUID) -> None:
    send(client, [([USER, DONE], True), ([USER], True), ([CALLS, *RESULTS, DONE], False)])
    kept = {plan.turn_id: plan.outcome_seq is not None for plan in plans(tenant_id)}
    assert kept == {"t0": False, "t1": True}


def test_a_fork_has_no_outcomes_for_the_plan_of_the_other_session(
    client: TestClient, tenant_id: UUID
) -> None:
    send(client, [([USER, CALLS], True)])
    assert client.post("/v1/sessions/s1/fork", json={"session_id": "s2"}).status_code in {200, 201}
    client.post("/v1/sessions/s2/turns", json={"turn_id": "t1", "messages": [*RESULTS, DONE]})
    assert plans(tenant_id)[0].outcome_seq is None
    client.post("/v1/sessions/s1/turns", json={"turn_id": "t1", "messages": [*RESULTS, DONE]})
    assert ends(plans(tenant_id)[0]) == BOTH


CHANGES: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "edited": ("patch", "/messages/4", {"message": {"role": "tool", "tool_call_id": "b", "content": "fine"}}),
    "erased": ("delete", "/messages/4", None),
    "deleted": ("delete", "/turns/t1", None),
    "cut": ("post", "/truncate", {"after_turn": "t0"}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_ours", [False, True])
def test_outcomes_go_with_the_turn_that_brought_them(
    client: TestClient, tenant_id: UUID, change: str, is_ours: bool
) -> None:
    plan = {"plan_id": str(make(tenant_id, "blog.draft", "image.generate"))} if is_ours else STEPS
    client.post(TURNS, json={"turn_id": "t0", "messages": [USER, CALLS], "plan": plan})
    client.post(TURNS, json={"turn_id": "t1", "messages": [*RESULTS, DONE]})
    assert ends(plans(tenant_id)[0]) == BOTH
    method, path, body = CHANGES[change]
    answer = client.request(method, f"/v1/sessions/s1{path}", json=body)
    assert answer.status_code == 200, answer.text
    assert plans(tenant_id) == [], "its error text came with the turn"
