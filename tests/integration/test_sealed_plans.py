"""Plans whose words are sealed: read, joined, looked back upon and learned from as if they were not."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.priors.state import state_from_bytes
from context.tool_plans.features import intent_sha, read_features
from models import database as session
from models.encryption.keys import TextUnavailableError
from models.learning.prior_set import SetState
from models.learning.progress import find_counted, read_page
from models.learning.served_set import load_set
from models.plans.plan import (
    FailedPlan,
    MadePlan,
    PlanMethod,
    WantedPlan,
    fail_plan,
    find_plan,
    keep_plan,
    want_plan,
)
from models.rekeying.rotation import change_rows
from models.scope import Scope
from tests.integration.erasing import post_turn
from tests.integration.learning import (
    NAME,
    catalog_document,
    learn_now,
    place,
    put,
    sets,
    shuffled,
    store_plans,
)
from tests.integration.sealing import FIRST, Environment, tables_with_traces
from tests.unit.priors.plans import numbers_of

WORD = "zqxharbour"
INTENT = f"Find every crane of {WORD}."
CHANCE = ("plan_id", "created_at", "ready_at", "outcome_at", "due_at", "last_at")
EVERY = {"after_seq": 0, "through_seq": 1000, "most": 100}


def plan(tenant_id: UUID, *, intent: str = INTENT) -> UUID:
    """Ask for a plan as a call does."""
    features = read_features(intent)
    with session.transaction() as db:
        return want_plan(
            Scope(db, tenant_id),
            WantedPlan(
                intent=intent,
                intent_sha=intent_sha(intent),
                features=features.as_json(),
                complexity=features.complexity,
                mode="plan",
                catalog="tools",
                catalog_digest="d",
                model="m",
                context=f"we spoke of {WORD}",
                user_id="anna",
            ),
        )


def make(tenant_id: UUID, *, intent: str = INTENT) -> UUID:
    """Have a plan made, as a worker does."""
    plan_id = plan(tenant_id, intent=intent)
    steps = [
        {"order": order, "tool": tool, "args": {"of": WORD}, "rationale": WORD, "outcome": None}
        for order, tool in enumerate(("look", "tell"), 1)
    ]
    made = MadePlan(steps, PlanMethod.LLM, gap_warning=f"nothing weighs {WORD}")
    with session.transaction() as db:
        assert keep_plan(Scope(db, tenant_id), plan_id, made)
    return plan_id


def fail(tenant_id: UUID) -> UUID:
    """Have a plan fail."""
    plan_id = plan(tenant_id)
    with session.transaction() as db:
        assert fail_plan(Scope(db, tenant_id), plan_id, FailedPlan("malformed", f"it said {WORD}"))
    return plan_id


def shown(client: TestClient, path: str) -> Any:
    """An answer without its ids and times."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text

    def settled(value: Any) -> Any:
        if isinstance(value, list):
            return [settled(one) for one in value]
        if isinstance(value, dict):
            return {name: settled(one) for name, one in value.items() if name not in CHANCE}
        return value

    return settled(answer.json())


def lived(client: TestClient, tenant_id: UUID) -> list[Any]:
    """What a platform sees of plans from the question to the outcome; nothing of it stays."""
    ready, failed, wanted = make(tenant_id), fail(tenant_id), plan(tenant_id)
    error = {"order": 1, "outcome": "error", "error": f"no {WORD}"}
    joined = [client.post(f"/v1/plans/{ready}/outcome", json={"steps": [error]}) for _ in range(2)]
    calls = {"id": "c1", "type": "function", "function": {"name": "tell", "arguments": "{}"}}
    said = [
        {"role": "user", "content": WORD},
        {"role": "assistant", "content": None, "tool_calls": [calls]},
        {"role": "tool", "tool_call_id": "c1", "content": f"told {WORD}"},
    ]
    own = {"intent": f"tell {WORD}", "steps": [{"tool": "tell", "args": {"whom": WORD}}]}
    post_turn(client, "s1", {"turn_id": "t1", "messages": said, "plan": {"plan_id": str(ready)}})
    post_turn(client, "s1", {"turn_id": "t2", "messages": said, "plan": own})
    documents = [shown(client, f"/v1/plans/{one}") for one in (ready, failed, wanted)]
    with session.read_transaction() as db:
        taught = [read_page(Scope(db, tenant_id), catalog, **EVERY) for catalog in ("tools", None)]
    return [
        *documents,
        *([one.json()["steps"], one.json()["joined"]] for one in joined),
        shown(client, "/v1/my-plans"),
        shown(client, "/v1/my-plans?user_id=anna"),
        [(one.intent, one.category, one.steps) for page in taught for one in page],
    ]


def clear() -> None:
    with session.transaction() as db:
        db.execute(text("delete from plan_history"))
        db.execute(text("delete from session"))


def test_plans_live_as_they_do_without_a_key(client: TestClient, tenant_id: UUID, keys: Environment) -> None:
    keys.use()
    plain = lived(client, tenant_id)
    assert "plan_history" in tables_with_traces(WORD)
    clear()
    keys.use(FIRST)
    sealed = lived(client, tenant_id)
    assert WORD in json.dumps(sealed, default=str)
    assert tables_with_traces(WORD) == set()
    for place_, (answer, expected) in enumerate(zip(sealed, plain, strict=True)):
        assert answer == expected, place_


def test_equal_intents_are_one_group_whichever_way_they_are_stored(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    intent = f"Weigh {WORD}, {'box after box ' * 300}"
    keys.use()
    make(tenant_id, intent=intent)
    keys.use(FIRST)
    make(tenant_id, intent=intent)
    [group] = client.get("/v1/my-plans").json()["plans"]
    assert (group["times"], group["intent_sha"]) == (2, intent_sha(intent).hex())
    list(change_rows(session.transaction, tenant_id, to="sealed"))
    assert tables_with_traces(WORD) == set()
    [of_sealed] = client.get("/v1/my-plans").json()["plans"]
    keys.use(FIRST, sealing=False)
    list(change_rows(session.transaction, tenant_id, to="plain"))
    keys.use()
    [of_opened] = client.get("/v1/my-plans").json()["plans"]
    assert of_sealed == of_opened == group


def test_what_is_learned_of_sealed_plans_is_the_same_and_is_sealed(
    tenant_id: UUID, keys: Environment
) -> None:
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled())
    keys.use()
    of_plain = learn_now(tenant_id)
    plain = learned(tenant_id)
    assert [bytes(one[:1]) for one in stored_bytes()] == [b"A", b"A"]
    with session.transaction() as db:
        for table in ("learning_state", "prior_set"):
            db.execute(text(f"delete from {table}"))  # noqa: S608 (names of our own)
    keys.use(FIRST)
    list(change_rows(session.transaction, tenant_id, to="sealed"))
    assert learn_now(tenant_id) == of_plain
    assert learned(tenant_id) == plain
    assert [bytes(one[:1]) for one in stored_bytes()] == [b"\x02", b"\x02"]
    store_plans(tenant_id, shuffled(2))
    learn_now(tenant_id)
    assert sets(tenant_id)[0].version == 2


def learned(tenant_id: UUID) -> tuple[Any, ...]:
    """What was counted, and the set in force."""
    with session.read_transaction() as db:
        counted = find_counted(Scope(db, tenant_id), NAME)
        stored = load_set(db, place(tenant_id), state=SetState.ACTIVE)
    assert counted.state is not None
    assert stored is not None
    return numbers_of(state_from_bytes(counted.state)), counted.watermark, stored.blob


def stored_bytes() -> list[bytes]:
    with session.read_transaction() as db:
        return [
            db.execute(text("select state from learning_state")).scalar_one(),
            db.execute(text("select blob from prior_set")).scalar_one(),
        ]


@pytest.mark.parametrize("column", ["intent", "steps"])
def test_words_of_a_plan_do_not_open_in_the_row_of_another(
    tenant_id: UUID, keys: Environment, column: str
) -> None:
    del keys
    one, other = make(tenant_id), make(tenant_id)
    move = f"update plan_history set {column} = (select {column} from plan_history where plan_id = :other)"  # noqa: S608 (names of our own)
    with session.transaction() as db:
        db.execute(text(f"{move} where plan_id = :one"), {"one": one, "other": other})
    with session.read_transaction() as db, pytest.raises(TextUnavailableError, match="where it stands"):
        find_plan(Scope(db, tenant_id), one)
