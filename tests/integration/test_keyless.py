"""A process without the key of a tenant whose text is sealed: it refuses to write, and says so."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.doctor import check_text_keys
from afterturn.text import app as text_commands
from models import database as session
from models.artifacts.plan import PlanKey, store_plan
from models.due_work.queue import Claim, WorkKind, enqueue, find_work
from models.encryption.keys import TextCipher, TextUnavailableError, forget_keys
from models.plans.plan import MadePlan, PlanMethod, keep_plan
from models.rekeying.rotation import change_rows
from models.scope import Scope
from tests.integration.erasing import new_summary, post_turn, tool_turn
from tests.integration.sealing import FIRST, SECOND, WRONG, Environment, tables_with_traces
from workers.jobs.lifecycle import run_work
from workers.settings import WorkerSettings

WORD = "zqxharbour"


@pytest.fixture
def keyless(client: TestClient, keys: Environment) -> TestClient:
    """A process that has no key, for a tenant that has one."""
    post_turn(client, "s1", tool_turn("t1", "other"))
    keys.use()
    return client


def test_a_turn_is_refused_and_nothing_of_it_is_stored(keyless: TestClient, keys: Environment) -> None:
    refused = keyless.post("/v1/sessions/s1/turns", json=tool_turn("t2", WORD))
    assert (refused.status_code, refused.json()["type"]) == (503, "text-key-unavailable")
    assert "start this process again with that key" in refused.json()["detail"]
    assert tables_with_traces(WORD) == set()
    keys.use(FIRST)
    assert keyless.post("/v1/sessions/s1/turns", json=tool_turn("t2", WORD)).status_code == 202


def test_every_way_to_write_is_refused(keyless: TestClient, tenant_id: UUID) -> None:
    del keyless
    ways: dict[str, Callable[[TextCipher], object]] = {
        "text": lambda cells: cells.seal("c", WORD),
        "bytes": lambda cells: cells.seal_bytes("c", b"x"),
        "json": lambda cells: cells.seal_json("c", {"a": WORD}),
        "digest": lambda cells: cells.digest(b"x" * 32),
        "key": lambda cells: cells.writing_key(),
        "plan": lambda cells: keep_plan(Scope(cells.db, tenant_id), tenant_id, MadePlan([], PlanMethod.LLM)),
        "artifact plan": lambda cells: store_plan(
            Scope(cells.db, tenant_id), PlanKey("s1", "q", "d"), plan={"a": WORD}
        ),
    }
    for name, way in ways.items():
        forget_keys()
        with session.transaction() as db, raised(name):
            way(TextCipher(db, tenant_id))


@contextmanager
def raised(name: str) -> Iterator[None]:
    try:
        yield
    except TextUnavailableError:
        return
    pytest.fail(f"{name} was written")


def test_work_waits_and_says_why(keyless: TestClient, tenant_id: UUID) -> None:
    del keyless

    def store(held: Claim) -> str:
        with session.transaction() as db:
            return TextCipher(db, held.tenant_id).seal("summary.text", new_summary(4, WORD, base=None).text)

    with session.transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, "s1")
    for _ in range(2):
        with session.transaction() as db:
            db.execute(text("update due_work set due_at = now() - interval '1 minute'"))
            found = find_work(Scope(db, tenant_id), WorkKind.SUMMARIZE, "s1")
        assert found is not None
        run_work(found.work_id, {WorkKind.SUMMARIZE: store}, WorkerSettings(max_attempts=1))
    with session.read_transaction() as db:
        found = find_work(Scope(db, tenant_id), WorkKind.SUMMARIZE, "s1")
    assert found is not None
    assert (found.state, "AFTERTURN_TEXT_KEYS" in str(found.last_error)) == ("ready", True)


def test_a_tenant_without_a_key_is_asked_about_once_and_is_served(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    keys.use()
    post_turn(client, "s1", tool_turn("t1", WORD))
    keys.use(FIRST)
    with session.transaction() as db:
        TextCipher(db, tenant_id).seal("c", WORD)
    keys.use()
    assert client.post("/v1/sessions/s1/turns", json=tool_turn("t2", WORD)).status_code == 503


def test_a_key_that_seals_nothing_any_more_is_forgotten_and_then_nothing_is_refused(
    keyless: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    forget = ["forget", "--tenant", "first"]
    keys.use(FIRST, sealing=False)
    assert CliRunner().invoke(text_commands, forget).exit_code != 0
    list(change_rows(session.transaction, tenant_id, to="plain"))
    told = CliRunner().invoke(text_commands, forget)
    assert (told.exit_code, told.output.strip()) == (0, "The key of first is gone.")
    keys.use()
    assert keyless.post("/v1/sessions/s1/turns", json=tool_turn("t2", WORD)).status_code == 202
    assert keyless.get("/readyz").status_code == 200


@pytest.mark.parametrize("wrong", ["", SECOND, WRONG], ids=["none", "another", "wrong"])
def test_it_is_not_ready_and_the_doctor_says_so(
    client: TestClient, tenant_id: UUID, keys: Environment, wrong: str
) -> None:
    assert client.get("/readyz").status_code == 200
    with session.transaction() as db:
        TextCipher(db, tenant_id).seal("c", WORD)
    forget_keys()
    assert (client.get("/readyz").status_code, check_text_keys().is_well) == (200, True)
    assert check_text_keys().seen == "1 tenant under first; new text is sealed"
    keys.use(*filter(None, [wrong]))
    ready = client.get("/readyz")
    assert ready.status_code == 503
    assert ready.json()["checks"]["text_keys"] == "AFTERTURN_TEXT_KEYS lacks, or has wrong: first"
    assert not check_text_keys().is_well
    assert "1 tenant under first, which AFTERTURN_TEXT_KEYS lacks here" in check_text_keys().seen
