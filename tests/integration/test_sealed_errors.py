"""With a key, the small texts that may quote somebody are sealed too: errors, a provider's words, salts."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID, uuid4

from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.work import app as work_commands
from context.shadow.facts import pack
from llm.failures import Cause, LlmFailure
from models import database as session
from models.due_work.queue import WorkKind, WorkState, claim, enqueue, find_work, retry_later
from models.due_work.sealed_errors import UNREADABLE
from models.ledger.call import Reservation, Settlement, reserve, settle
from models.ledger.caps import Caps
from models.rekeying.columns import COLUMNS, count_cells
from models.rekeying.rotation import change_rows
from models.scope import Scope
from models.shadow.count_losses import take_waiting
from models.shadow.reads import record_reads
from tests.integration.erasing import talk
from tests.integration.sealing import FIRST, SECOND, Environment, tables_with_traces

WORD = "zqxharbour"
SESSION = "s1"
FAILURE = LlmFailure(Cause.INVALID_REQUEST, f"no {WORD} here")
SALT = b"\x02 sixteen bytes!"


def fail(tenant_id: UUID) -> None:
    """Let a session's work be given up, and its call fail, with words of a provider."""
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        enqueue(scope, WorkKind.SUMMARIZE, SESSION)
        work = find_work(scope, WorkKind.SUMMARIZE, SESSION)
        assert work is not None
        now = datetime.now(UTC)
        call = Reservation(tenant_id, "summarize", "m", 100, Decimal("0.01"), SESSION, work.work_id)
        call_id = reserve(db, call, caps=Caps(), now=now)
        assert settle(scope, call_id, Settlement(0.1, failure="invalid", detail=FAILURE.detail), now=now)
        held = claim(db, work.work_id, lease_s=60, max_crashes=3)
        assert held is not None
        assert retry_later(db, held, FAILURE.message, delay_s=0, max_attempts=1, own=FAILURE.reason)


def shown(client: TestClient) -> str:
    answer = client.get(f"/v1/sessions/{SESSION}")
    assert answer.status_code == 200, answer.text
    return str(answer.json()["due_work"])


def test_an_error_that_quotes_is_sealed_and_shown_to_whoever_has_the_key(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    talk(client, SESSION, 1)
    fail(tenant_id)
    assert tables_with_traces(WORD) == set()
    assert FAILURE.message in shown(client)
    listed = CliRunner().invoke(work_commands, ["list", "--tenant", "first"], env={"COLUMNS": "200"})
    assert WORD in listed.output, listed.output
    keys.use(SECOND)
    assert UNREADABLE in shown(client)
    assert WORD not in shown(client)


def test_errors_are_sealed_and_opened_with_all_else(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    keys.use()
    talk(client, SESSION, 1)
    fail(tenant_id)
    assert tables_with_traces(WORD) == {"due_work", "llm_call"}
    keys.use(FIRST)
    list(change_rows(session.transaction, tenant_id, to="sealed"))
    assert tables_with_traces(WORD) == set()
    assert FAILURE.message in shown(client)
    keys.use(FIRST, sealing=False)
    list(change_rows(session.transaction, tenant_id, to="plain"))
    assert tables_with_traces(WORD) == {"due_work", "llm_call"}
    with session.read_transaction() as db:
        assert sum(count_cells(Scope(db, tenant_id), column)[0] for column in COLUMNS) == 0


def test_where_an_error_cannot_be_sealed_it_is_told_in_our_own_words(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    talk(client, SESSION, 1)
    keys.use(SECOND)
    fail(tenant_id)
    assert tables_with_traces(WORD) == set()
    with session.read_transaction() as db:
        work = find_work(Scope(db, tenant_id), WorkKind.SUMMARIZE, SESSION)
    assert work is not None
    assert (work.state, work.last_error) == (WorkState.DEAD, FAILURE.reason)


def test_the_salt_of_digests_is_sealed_so_that_nobody_can_try_words_on_them(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    keys.use()
    talk(client, SESSION, 1)
    plain = record(tenant_id)
    keys.use(FIRST)
    sealed = record(tenant_id)
    talk(client, SESSION, 1, first=2)
    with session.read_transaction() as db:
        salts = {row.read_id: row.salt for row in db.execute(text("select read_id, salt from shadow_read"))}
    assert salts[plain] == SALT
    assert SALT not in bytes(salts[sealed])
    with session.transaction() as db:
        assert {one.salt for one in take_waiting(Scope(db, tenant_id), most=9)} == {SALT}
    keys.use(FIRST, sealing=False)
    list(change_rows(session.transaction, tenant_id, to="plain"))
    with session.transaction() as db:
        assert [one.read_id for one in take_waiting(Scope(db, tenant_id), most=9)] == [plain]


def record(tenant_id: UUID) -> UUID:
    """Record what a read of shadow mode served and would have served."""
    read_id = uuid4()
    digests = {name: pack([WORD], SALT) for name in ("held", "lacking", "hidden")}
    counts = {"generation": 1, "after_seq": 2, "new_messages": 1, "hidden_tools": 1}
    sizes = {"served_tokens": 10, "would_tokens": 5, "served": {}, "would": {}}
    place = {"read_id": read_id, "part": "summaries", "session_id": SESSION, "model": "m", "state": "waiting"}
    with session.transaction() as db:
        record_reads(Scope(db, tenant_id), [{**place, **counts, **sizes, **digests, "salt": SALT}])
    return read_id
