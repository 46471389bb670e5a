"""The second wall: with it on, the database gives a call nothing of another tenant, whatever it forgets."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError

from afterturn.migrate import hold_to_tenants
from models import database as session
from models.database_settings import database_settings
from models.due_work.queue import WorkKind, enqueue
from models.encryption.keys import TextCipher, TextForgottenError
from models.rekeying.rotation import forget_text_key
from models.scope import Scope
from models.tenants.row_security import POLICY, ROLE, SEEN_THROUGH_VIEWS, VIEWS, keep_to
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.doors import DOORS
from tests.integration.erasing import plant_everywhere
from tests.integration.recalling_users import KAYAK, ask, index, region, say, switch
from tests.integration.sealing import Environment
from tests.integration.test_tenancy import (
    CASES,
    NOBODYS,
    SESSION,
    USER,
    WORD,
    Owner,
    call,
    owner,
    rows_of,
    stranger,
    without_ids,
)

__all__ = ["owner"]

Found = TypeVar("Found")

BEFORE_A_TENANT_IS_KNOWN = {"api_key"}


@pytest.fixture(scope="module")
def wall(engine: Engine, postgres_url: str) -> Iterator[None]:
    """The wall, and the setting that sends every call behind it."""
    del engine  # has named the database
    hold_to_tenants(postgres_url)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AFTERTURN_ROW_SECURITY", "on")
        database_settings.cache_clear()
        yield
    database_settings.cache_clear()


pytestmark = pytest.mark.usefixtures("wall")


def behind_the_wall(tenant_id: UUID, work: Callable[[], Found]) -> Found:
    """Do something as a call of a tenant does it."""

    def held() -> Found:
        keep_to(tenant_id)
        return work()

    return copy_context().run(held)


def tables(db: Connection) -> list[str]:
    """Every table that knows tenants."""
    rows = db.execute(
        text(
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid "
            "where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace "
            "and a.attname = 'tenant_id' order by 1"
        )
    )
    return [str(name) for name in rows.scalars()]


def counted(db: Connection, *, but: UUID | None = None) -> dict[str, int]:
    """How many rows each table shows to a query without any filter, or of all but one tenant."""
    return {
        name: db.execute(
            text(f"select count(*) from {name} where tenant_id is distinct from :but"),  # noqa: S608 (names of the catalog)
            {"but": but},
        ).scalar_one()
        for name in tables(db)
        if name != "api_key"
    }


@pytest.fixture
def second(owner: Owner) -> UUID:
    """Another tenant, with rows everywhere too."""
    with session.transaction() as db:
        tenant_id = ensure_tenant(db, "second")
    with TestClient(owner.client.app) as other:
        other.headers["Authorization"] = f"Bearer {make_key(tenant_id)}"
        plant_everywhere(tenant_id, other, "session-of-the-second", "second", "user-of-the-second")
    return tenant_id


def test_every_table_that_knows_tenants_is_held_to_them(engine: Engine) -> None:
    with engine.connect() as db:
        held = db.execute(
            text(
                "select c.relname from pg_class c join pg_policy p on p.polrelid = c.oid "
                "where c.relrowsecurity and p.polname = :policy and p.polroles = array["
                "(select oid from pg_roles where rolname = :role)]"
            ),
            {"policy": POLICY, "role": ROLE},
        ).scalars()
        assert set(held) == set(tables(db))


def test_the_role_can_neither_log_in_nor_step_around_the_wall(engine: Engine) -> None:
    with engine.connect() as db:
        may = db.execute(
            text(
                "select rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, "
                "exists (select from pg_class where relowner = r.oid) from pg_roles r where rolname = :role"
            ),
            {"role": ROLE},
        ).one()
    assert tuple(may) == (False,) * 5


def test_a_query_that_forgets_its_tenant_finds_its_own_rows_alone(owner: Owner, second: UUID) -> None:
    with session.read_transaction() as db:
        everything = counted(db)
        foreign = {tenant_id: counted(db, but=tenant_id) for tenant_id in (owner.tenant_id, second)}

    def look() -> list[dict[str, int]]:
        found = []
        for way in (
            session.read_transaction,
            session.transaction,
            lambda: session.brief_read_transaction(5_000),
        ):
            with way() as db:
                found.append(counted(db))
        return found

    for tenant_id in (owner.tenant_id, second, owner.tenant_id):
        own = {name: rows - foreign[tenant_id][name] for name, rows in everything.items()}
        assert behind_the_wall(tenant_id, look) == [own] * 3
        assert sum(own.values()) < sum(everything.values())


@pytest.mark.parametrize("named", ["", "0191d8a0-0000-7000-8000-000000000000"])
def test_who_names_no_tenant_or_an_unknown_one_finds_nothing(
    owner: Owner, engine: Engine, named: str
) -> None:
    assert sum(len(rows) for rows in rows_of(owner.tenant_id).values()) > 20
    with engine.begin() as db:
        db.execute(text(f"set local role {ROLE}"))
        db.execute(text(f"set local search_path = {VIEWS}, public"))
        assert set(counted(db).values()) == {0}
        db.execute(text("select set_config('afterturn.tenant', :named, true)"), {"named": named})
        assert set(counted(db).values()) == {0}


def test_nothing_is_changed_or_added_for_somebody_else(owner: Owner, second: UUID) -> None:
    before = rows_of(owner.tenant_id)

    def steal() -> None:
        with session.transaction() as db:
            for name in ("turn", "message", "summary", "session"):
                assert db.execute(text(f"delete from {name} where tenant_id <> '{second}'")).rowcount == 0  # noqa: S608
            update = "update session set last_seq = 0, start_seq = 0 where tenant_id = :theirs"
            assert db.execute(text(update), {"theirs": owner.tenant_id}).rowcount == 0
            enqueue(Scope(db, owner.tenant_id), WorkKind.SUMMARIZE, "planted")

    with pytest.raises(DBAPIError, match="row-level security"):
        behind_the_wall(second, steal)
    assert rows_of(owner.tenant_id) == before


def test_a_tenant_seals_behind_the_wall_and_sees_which_of_its_keys_were_forgotten(
    tenant_id: UUID, keys: Environment
) -> None:
    del keys

    def sealed() -> str:
        with session.transaction() as db:
            return TextCipher(db, tenant_id).seal("c", "word")

    def opened() -> str:
        with session.read_transaction() as db:
            return TextCipher(db, tenant_id).open("c", stored)

    stored = behind_the_wall(tenant_id, sealed)
    assert behind_the_wall(tenant_id, opened) == "word"
    with session.transaction() as db:
        assert forget_text_key(Scope(db, tenant_id))
    with pytest.raises(TextForgottenError):
        behind_the_wall(tenant_id, opened)


def test_keys_are_out_of_reach_behind_the_wall(owner: Owner) -> None:
    def look() -> None:
        with session.read_transaction() as db:
            db.execute(text("select secret_sha256 from api_key"))

    with pytest.raises(DBAPIError, match="permission denied for table api_key"):
        behind_the_wall(owner.tenant_id, look)


def test_a_table_that_the_wall_does_not_hold_yet_is_closed(owner: Owner, engine: Engine) -> None:
    def look() -> None:
        with session.read_transaction() as db:
            db.execute(text("select * from new_table"))

    with engine.begin() as db:
        db.execute(text("create table new_table (tenant_id uuid)"))
    try:
        with pytest.raises(DBAPIError, match="permission denied for table new_table"):
            behind_the_wall(owner.tenant_id, look)
    finally:
        with engine.begin() as db:
            db.execute(text("drop table new_table"))


def test_a_transaction_that_failed_leaves_no_tenant_behind(owner: Owner, second: UUID) -> None:
    def fail() -> None:
        with session.transaction() as db:
            db.execute(text("select 1 / 0"))

    def who() -> Any:
        with session.transaction() as db:
            return db.execute(text("select current_setting('afterturn.tenant'), current_user")).one()

    with pytest.raises(DBAPIError, match="division by zero"):
        behind_the_wall(owner.tenant_id, fail)
    assert behind_the_wall(second, who) == (str(second), ROLE)


def test_a_call_leaves_the_next_one_of_its_thread_unheld(owner: Owner) -> None:
    behind_the_wall(owner.tenant_id, lambda: None)
    with session.read_transaction() as db:
        assert db.execute(text("select current_user")).scalar() != ROLE


def test_raising_the_wall_again_changes_nothing(postgres_url: str) -> None:
    assert hold_to_tenants(postgres_url) == []


@contextmanager
def tables_used_unheld(engine: Engine) -> Iterator[set[str]]:
    """Which tables are named in statements that no tenant is named for."""
    used: set[str] = set()

    def look(_: Any, __: Any, statement: str, *___: Any) -> None:
        used.update(re.findall(r"(?:from|into|update|join)\s+([a-z_]+)", statement.lower()))

    with session.read_transaction() as db:
        pools = [engine, db.engine]
    for pool in pools:
        event.listen(pool, "before_cursor_execute", look)
    try:
        yield used
    finally:
        for pool in pools:
            event.remove(pool, "before_cursor_execute", look)


def test_every_route_does_its_work_behind_the_wall(owner: Owner, engine: Engine) -> None:
    key, foreign = make_key(owner.tenant_id), stranger()
    told = {}
    with tables_used_unheld(engine) as used:
        for case, (way, door) in CASES.items():
            if way[0] == "DELETE":
                continue
            answer = call(owner.client, key, way, door, owner.ids)
            if answer.status_code >= 500 or answer.status_code in {401, 403, 404} - door.strangers:
                told[case] = answer.text
        for case, (way, door) in CASES.items():
            answer = call(owner.client, foreign, way, door, NOBODYS)
            if answer.status_code >= 500:
                told[case] = answer.text
        way = ("DELETE", "/v1/sessions/{session_id}")
        assert call(owner.client, key, way, DOORS[way], owner.ids).status_code == 200
    assert told == {}
    assert used & {*rows_of(owner.tenant_id)} <= BEFORE_A_TENANT_IS_KNOWN
    assert "api_key" in used


def test_answers_are_the_same_with_and_without_the_wall(
    owner: Owner, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.begin() as db:  # no piece of work becomes due between the two readings
        db.execute(text("update due_work set due_at = now() - interval '1 hour'"))
    key = make_key(owner.tenant_id)
    reads = {case: asked for case, asked in CASES.items() if asked[0][0] == "GET"}
    behind = {
        case: without_ids(call(owner.client, key, way, door, owner.ids), owner.ids)
        for case, (way, door) in reads.items()
    }
    monkeypatch.setenv("AFTERTURN_ROW_SECURITY", "off")
    database_settings.cache_clear()
    before = {
        case: without_ids(call(owner.client, key, way, door, owner.ids), owner.ids)
        for case, (way, door) in reads.items()
    }
    monkeypatch.undo()
    database_settings.cache_clear()
    assert behind == before
    assert WORD in json.dumps(behind)


def test_what_is_left_for_after_the_answer_is_done_behind_the_wall(owner: Owner, engine: Engine) -> None:
    asked = {"message": "Please write a Python function and fix the bug in it.", "session_id": SESSION}
    before = len(rows_of(owner.tenant_id)["preflight_decision"])
    with tables_used_unheld(engine) as used:
        assert owner.client.post("/v1/preflight", json=asked).status_code == 200
        said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "welcome"}]
        usage = {"prompt_tokens": 100, "completion_tokens": 5}
        turn = {"turn_id": "late", "messages": said, "usage": usage, "model": "gpt-4o", "user_id": USER}
        assert owner.client.post(f"/v1/sessions/{SESSION}/turns", json=turn).status_code == 202
    assert len(rows_of(owner.tenant_id)["preflight_decision"]) == before + 1
    assert used & {*rows_of(owner.tenant_id)} <= BEFORE_A_TENANT_IS_KNOWN


@pytest.mark.parametrize("column", ["keys", "user_keys"])
def test_a_search_of_older_turns_is_served_by_its_index_behind_the_wall(
    owner: Owner, engine: Engine, column: str
) -> None:
    with engine.begin() as db:
        db.execute(
            text(
                "insert into recall_passage select :tenant_id, :session_id, 0, 1000 + n, 1, 1, 0, 0, 1, "
                "'user', 'word', 5, array[n, n + 1], array[n, n + 1] from generate_series(100, 20000) n"
            ),
            {"tenant_id": owner.tenant_id, "session_id": SESSION},
        )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
        db.execute(text("analyze recall_passage"))

    def look() -> tuple[str, int]:
        search = f"select start from recall_passage where {column} && array[500::bigint] limit 600"  # noqa: S608 (of two names)
        with session.read_transaction() as db:
            plan = "\n".join(db.execute(text(f"explain {search}")).scalars())
            return plan, len(db.execute(text(search)).all())

    plan, found = behind_the_wall(owner.tenant_id, look)
    assert f"ix_recall_passage_{column}" in plan
    assert found == 2
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    assert behind_the_wall(other, look)[1] == 0


def test_what_a_user_said_in_another_session_is_found_behind_the_wall(owner: Owner) -> None:
    switch(owner.tenant_id)
    say(owner.client, "before")
    index(owner.tenant_id, ["before"])
    assert KAYAK in region(ask(owner.client))


def test_no_other_table_is_searched_by_what_the_wall_would_make_slow(engine: Engine) -> None:
    with engine.connect() as db:
        others = db.execute(
            text(
                "select distinct t.relname from pg_index i join pg_class c on c.oid = i.indexrelid "
                "join pg_am a on a.oid = c.relam join pg_class t on t.oid = i.indrelid "
                "where a.amname <> 'btree' and t.relnamespace = 'public'::regnamespace"
            )
        )
        assert set(others.scalars()) == set(SEEN_THROUGH_VIEWS)
