"""Runs of retention: two at once, one that dies, one that is stuck; and how anybody hears of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from models import database as session
from models.database import transaction
from models.due_work.queue import Claim, WorkKind, claim, enqueue, find_work
from models.retention.delete_tables import _FOLD_CALLS, _OLD, FIRST, Wishing, find_old_sessions, find_wishing
from models.retention.settings import RetentionSettings
from models.retention.tenant_policy import RETENTION, LastRun, find_last_run, list_gone, note_gone
from models.scope import Scope
from models.telemetry.counters import flush
from models.tenants.tenant import create_key, ensure_tenant, find_caller, list_keys
from tests.integration.test_retention import FOR_EVER, TEN_DAYS, calls, count, do, run, sessions, talk
from tests.integration.watching import forget_counts, scrape
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.sweep import retain

pytestmark = pytest.mark.usefixtures("one_day")


def take() -> Claim:
    """The work, as a worker takes it; whoever had it has lost its lease."""
    with transaction() as db:
        operator = ensure_tenant(db, "operator")
        enqueue(Scope(db, operator), WorkKind.SWEEP, RETENTION)
        db.execute(text("update due_work set lease_until = now() - interval '1 s' where lease is not null"))
        work_id = db.execute(text("select work_id from due_work where key = 'retention'")).scalar_one()
        held = claim(db, work_id, lease_s=60, max_crashes=9)
    assert held is not None
    return held


def gone(tenant_id: UUID) -> dict[str, int]:
    """What was noted to have gone, by table."""
    with session.read_transaction() as db:
        return {name: rows for _, name, rows in list_gone(Scope(db, tenant_id), days=2)}


def many_old_things(client: TestClient, tenant_id: UUID) -> None:
    for number in range(24):
        talk(client, f"old-{number}", days_ago=11)
    talk(client, "young", days_ago=1)
    calls(tenant_id, datetime.now(UTC) - timedelta(days=60), 40)


OLD = TEN_DAYS.model_copy(update={"retain_ledger_days": 30, "retain_at_once": 3})


def test_two_runs_at_once_do_each_thing_once(client: TestClient, tenant_id: UUID) -> None:
    """The lease admits one; but one that lost it unnoticed goes on beside the next."""
    many_old_things(client, tenant_id)
    first, second = take(), take()
    together = Barrier(2)

    def one(held: Claim) -> str:
        together.wait()
        try:
            return retain(held, settings=OLD)
        except LeaseLostError:
            return "lost"

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(one, (first, second)))
    assert outcomes[0] == "lost"
    assert outcomes[1] != "lost"
    assert sessions() == {"young"}
    assert gone(tenant_id) == {"session": 24, "message": 48, "llm_call": 40}
    assert (count("llm_call"), count("message")) == (0, 2)
    told = client.get("/v1/usage", params={"from": str((datetime.now(UTC) - timedelta(days=90)).date())})
    assert told.json()["total"]["calls"] == 40


@contextmanager
def failing(session_id: str, *, code: str) -> Iterator[None]:
    """Postgres fails whoever deletes this session."""
    fail = f"begin raise exception 'no' using errcode = '{code}'; end"
    do(f"create function fail() returns trigger language plpgsql as '{fail.replace(chr(39), chr(39) * 2)}'")
    do(
        "create trigger fail before delete on session for each row "
        f"when (old.session_id = '{session_id}') execute function fail()"
    )
    try:
        yield
    finally:
        do("drop trigger fail on session")
        do("drop function fail()")


def test_a_run_that_fails_half_way_leaves_whole_steps_and_the_next_one_ends_them(
    client: TestClient, tenant_id: UUID
) -> None:
    many_old_things(client, tenant_id)
    with failing("old-4", code="P0001"), pytest.raises(DBAPIError):
        retain(take(), settings=OLD)
    assert gone(tenant_id) == {"session": 4, "message": 8}
    assert (len(sessions()), count("message"), count("turn")) == (21, 42, 21)
    assert retain(take(), settings=OLD) == "20 sessions deleted, 40 calls folded"
    assert gone(tenant_id) == {"session": 24, "message": 48, "llm_call": 40}


@pytest.mark.parametrize("code", ["55P03", "40P01", "57014"])
def test_a_session_whose_rows_are_held_or_that_takes_too_long_stops_none_behind_it(
    client: TestClient, code: str
) -> None:
    for name in ("a", "b", "c"):
        talk(client, name, days_ago=11)
    with failing("b", code=code):
        assert run(TEN_DAYS) == "2 sessions deleted"
    assert sessions() == {"b"}
    assert run(TEN_DAYS) == "1 sessions deleted"


class TestLeftovers:
    def days(self, **days: int) -> RetentionSettings:
        return FOR_EVER.model_copy(update={f"retain_{name}_days": number for name, number in days.items()})

    @pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
    def test_keys_that_open_nothing_go_at_their_age_and_those_in_force_never(
        self, tenant_id: UUID, column: str
    ) -> None:
        with transaction() as db:
            for label in ("old", "young", "in force"):
                create_key(Scope(db, tenant_id), label=label)
            for label, age in (("old", 10.01), ("young", 9.99)):
                statement = (
                    f"update api_key set {column} = now() - make_interval(secs => :s) where label = :l"  # noqa: S608 (names of ours)
                )
                db.execute(text(statement), {"s": age * 86_400, "l": label})
        assert run(self.days(key=0)) == "nothing was too old"
        assert run(self.days(key=10)) == "1 keys deleted"
        with session.read_transaction() as db:
            assert {key.label for key in list_keys(Scope(db, tenant_id))} == {"young", "in force"}
        assert gone(tenant_id) == {"api_key": 1}

    def test_a_key_in_force_that_will_run_out_stays(self, tenant_id: UUID) -> None:
        with transaction() as db:
            key = create_key(Scope(db, tenant_id), label="soon", lasts=timedelta(days=1))
            db.execute(text("update api_key set created_at = now() - interval '9 years'"))
        run(self.days(key=1))
        with session.read_transaction() as db:
            assert find_caller(db, key) is not None

    def test_work_that_was_given_up_goes_at_its_age_and_begins_anew_when_it_is_asked_for(
        self, tenant_id: UUID
    ) -> None:
        with Scope.write(tenant_id) as scope:
            for key in ("old", "young", "waits"):
                enqueue(scope, WorkKind.SUMMARIZE, key)
        do("update due_work set state = 'dead', attempts = 5, last_error = 'x' where key <> 'waits'")
        do("update due_work set due_at = now() - interval '10 days 1 minute' where key in ('old', 'waits')")
        do("update due_work set due_at = now() - interval '9 days 23 hours' where key = 'young'")
        assert run(self.days(dead_work=0)) == "nothing was too old"
        assert run(self.days(dead_work=10)) == "1 dead work deleted"
        with transaction() as db:
            scope = Scope(db, tenant_id)
            kept = db.execute(text("select key from due_work where kind = 'summarize' order by key"))
            assert kept.scalars().all() == ["waits", "young"]
            enqueue(scope, WorkKind.SUMMARIZE, "old")
            work = find_work(scope, WorkKind.SUMMARIZE, "old")
        assert work is not None
        assert (work.state, work.attempts) == ("ready", 0)

    def test_receipts_go_at_their_age(self, client: TestClient) -> None:
        for name in ("one", "two"):
            talk(client, name, days_ago=0)
            assert client.delete(f"/v1/sessions/{name}").status_code == 200
        do(
            "update erase_receipt set erased_at = now() - interval '11 days' "
            "where id_sha256 = (select id_sha256 from erase_receipt order by 1 limit 1)"
        )
        assert run(self.days(receipt=10)) == "1 receipts deleted"
        assert {client.delete(f"/v1/sessions/{name}").status_code for name in ("one", "two")} == {200, 404}

    def test_counts_of_what_went_go_at_their_age(self, tenant_id: UUID) -> None:
        with Scope.write(tenant_id) as scope:
            note_gone(scope, "session", 3)
            note_gone(scope, "message", 5)
        do("update retention_log set day = day - 11 where name = 'message'")
        do("update retention_log set day = day - 9 where name = 'session'")
        assert run(self.days(log=0)) == "nothing was too old"
        assert run(self.days(log=10)) == "1 old counts deleted"
        with session.read_transaction() as db:
            left = [(name, rows) for _, name, rows in list_gone(Scope(db, tenant_id), days=30)]
        assert left == [("retention_log", 1), ("session", 3)]


class TestHeard:
    def last_run(self) -> LastRun | None:
        with session.read_transaction() as db:
            return find_last_run(db)

    def test_before_anything_asked_for_a_run_there_is_nothing_to_say(self, tenant_id: UUID) -> None:
        del tenant_id
        assert self.last_run() is None

    def test_a_run_is_late_after_three_missed_ones_and_an_hour(self, tenant_id: UUID) -> None:
        del tenant_id
        run()
        last = self.last_run()
        assert last is not None
        assert (last.outcome, last.is_late) == ("nothing was too old", False)
        bound_s = 3 * last.every_s + 3_600
        assert [LastRun(bound_s + s, None, last.every_s).is_late for s in (-1, 0, 1)] == [False, False, True]

    def test_work_that_never_ends_is_as_old_as_the_wish_for_it(self, tenant_id: UUID) -> None:
        del tenant_id
        take()
        do("update due_work set created_at = now() - interval '5 hours'")
        last = self.last_run()
        assert last is not None
        assert (last.outcome, last.is_late) == (None, True)

    def test_prometheus_is_told_of_the_run_and_of_what_went(
        self, client: TestClient, tenant_id: UUID
    ) -> None:
        forget_counts()
        many_old_things(client, tenant_id)
        run(OLD)
        do("update due_work set finished_at = now() - interval '90 s' where key = 'retention'")
        assert flush()
        page = scrape(client.app)
        told = {name: page.value("retention_rows_total", rows_of=name) for name in gone(tenant_id)}
        assert told == gone(tenant_id) == {"session": 24, "message": 48, "llm_call": 40}
        assert 90 <= page.value("retention_last_run_seconds") < 900
        assert page.value("retention_every_seconds") == 3_600


def test_a_receipt_that_is_not_of_a_known_kind_is_refused_by_the_database(tenant_id: UUID) -> None:
    statement = "insert into erase_receipt values (:tenant, 'else', :digest, '{}', 0, true)"
    with pytest.raises(Exception, match="erased_is_known"):
        do(statement, tenant=tenant_id, digest=uuid4().bytes * 2)


class TestSize:
    """Nothing of a run grows with what is young, or with what nobody wants gone."""

    @pytest.fixture
    def many(self, client: TestClient, tenant_id: UUID) -> UUID:
        """Three old sessions, three that are old and go on, thousands of young ones, and as many calls."""
        for number in range(3):
            talk(client, f"old-{number}", days_ago=11)
            talk(client, f"going-{number}", days_ago=11)
        do("update session set last_turn_at = now() where session_id like 'going-%'")
        do(
            "insert into session (tenant_id, session_id, last_turn_at) "
            "select :tenant, 'young-' || n, now() from generate_series(1, 5000) as n",
            tenant=tenant_id,
        )
        calls(tenant_id, datetime.now(UTC), 40_000)
        calls(tenant_id, datetime.now(UTC) - timedelta(days=60), 3)
        do("analyze session, llm_call")
        return tenant_id

    def test_only_what_is_old_is_read(self, many: UUID) -> None:
        with session.transaction() as db:
            wishing = Wishing(many, 10)
            page = find_old_sessions(db, wishing, FIRST)
            plan = db.execute(
                text(f"explain (analyze, format json) {_OLD}"), page_values(wishing)
            ).scalar_one()
        assert set(page.sessions) == {"old-0", "old-1", "old-2"}
        assert page.after is None
        assert most_rows(plan[0]["Plan"]) <= 6

    @pytest.mark.usefixtures("many")
    def test_calls_are_found_without_reading_those_of_today(self) -> None:
        values = {"general": 30, "most": 200}
        with session.transaction() as db:
            plan = db.execute(text(f"explain (analyze, format json) {_FOLD_CALLS}"), values).scalar_one()
        assert most_rows(plan[0]["Plan"]) <= 3
        assert count("llm_call") == 40_000

    def test_pages_join_without_a_gap(
        self, client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("models.retention.delete_tables.LOOKED_AT", 2)
        for number in range(7):
            talk(client, f"old-{number}", days_ago=11 + number % 2)
        do("update session set last_turn_at = now() where session_id in ('old-2', 'old-5')")
        assert run(TEN_DAYS) == "5 sessions deleted"
        assert sessions() == {"old-2", "old-5"}
        del tenant_id

    def test_without_a_wish_no_session_is_looked_at(self, many: UUID) -> None:
        with session.read_transaction() as db:
            assert find_wishing(db, "session_days", general=0) == []
            assert find_wishing(db, "session_days", general=9) == [Wishing(many, 9)]
            assert find_wishing(db, "session_days", general=365) == []

    def test_a_step_that_takes_too_long_stops_none_behind_it(
        self, client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls(tenant_id, datetime.now(UTC) - timedelta(days=60), 3)
        talk(client, "old", days_ago=11)

        def slow(db: session.Transaction, *_: object, **__: object) -> int:
            db.execute(text("set local statement_timeout = 10"))
            return int(db.execute(text("select pg_sleep(9)")).rowcount)

        monkeypatch.setattr("workers.jobs.sweep.drop_old_plans", slow)
        settings = OLD.model_copy(update={"retain_plan_days": 30})
        told = run(settings)
        assert told == "1 sessions deleted, 3 calls folded, given up this time: plans deleted"


def page_values(wishing: Wishing) -> dict[str, object]:
    at = {"created_at": FIRST[0], "session_id": FIRST[1]}
    return {"tenant_id": wishing.tenant_id, "days": wishing.most, "looked_at": 2_000, **at}


def most_rows(plan: dict[str, Any]) -> float:
    """The most rows that a node of a plan reads of a table, those that it throws away included."""
    own = plan.get("Actual Rows", 0) + plan.get("Rows Removed by Filter", 0) if "Relation Name" in plan else 0
    if plan.get("Relation Name") in {"tenant", "retention"}:
        own = 0
    return max([own, *(most_rows(below) for below in plan.get("Plans", ()))])
