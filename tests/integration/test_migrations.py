"""Migrations on real databases: every step up, down and up again, against the models, beside traffic."""

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

import models
from afterturn.migrate import MOST_TRIES, OldServerError, config, downgrade, newest, upgrade
from models.base import Base
from tests.data import ROOT
from tests.integration.catalog import connected, differences, new_database, read_catalog
from tests.waiting import wait_until

STEPS: list[Script] = [*ScriptDirectory.from_config(config("")).walk_revisions()][::-1]
ALTERS = next(step for step in STEPS if step.down_revision and "alter table" in Path(step.path).read_text())
"""A step that changes a table which is there."""

STOPS_WRITERS = ("SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE")
"""Modes of locks in the order of their strength: who names the strongest has said all."""

RECORD = """
    insert into seen select txid_current(), current_setting('lock_timeout'),
        (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())"""
MADE_STEP = '''"""A step of a test."""

from alembic import op

revision = "{revision}"
down_revision = {before}


def upgrade() -> None:
    for statement in {statements}:
        op.execute(statement)
'''


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """An empty database of the test's own."""
    with new_database(postgres_url) as url:
        yield url


class Walk:
    """One database that is taken from step to step: to begin anew for each would take minutes."""

    def __init__(self, url: str) -> None:
        """Begin with an empty one."""
        self.url = url
        self._at = "base"

    def to(self, revision: str) -> None:
        """Bring it to a step, from wherever a test left it."""
        places = {name: place for place, name in enumerate(("base", *(step.revision for step in STEPS)))}
        if places[revision] != places[self._at]:
            go = upgrade if places[revision] > places[self._at] else downgrade
            go(self.url, revision)
        self._at = revision


@pytest.fixture(scope="module")
def walk(postgres_url: str) -> Iterator[Walk]:
    """A database that the tests of single steps share."""
    with new_database(postgres_url) as url:
        yield Walk(url)


@pytest.fixture
def server(database_url: str) -> Iterator[psycopg.Connection]:
    """Another connection to the test's database, each statement for itself."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def made_steps(url: str, folder: Path, *steps: list[str]) -> Config:
    """Alembic's configuration with our own environment, and with steps made of these statements."""
    for number, statements in enumerate(steps, 1):
        before = f'"{number - 1:04}"' if number > 1 else None
        script = MADE_STEP.format(revision=f"{number:04}", before=before, statements=statements)
        (folder / f"{number:04}_made.py").write_text(script)
    settings = config(url)
    settings.set_main_option("version_locations", str(folder))
    settings.set_main_option("path_separator", "os")
    return settings


@contextmanager
def migrating(url: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """A runner in a process of its own, which does not outlive the test."""
    runner = subprocess.Popen(
        [sys.executable, "-m", "afterturn", "migrate", *words],
        cwd=ROOT,
        env={**os.environ, "AFTERTURN_DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with runner:
        try:
            yield runner
        finally:
            runner.kill()


def ended(runner: "subprocess.Popen[str]") -> tuple[int, str]:
    """How a runner ended and what it told."""
    told, _ = runner.communicate(timeout=60)
    return runner.returncode, told


def advisory_lock() -> int:
    """The constant of migrations/env.py, which cannot be imported: it would run."""
    (value,) = [
        ast.literal_eval(node.value)
        for node in ast.parse((ROOT / "migrations/env.py").read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ADVISORY_LOCK"
    ]
    return int(value)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.revision)
def test_every_step_can_be_taken_back_and_taken_again(walk: Walk, step: Script) -> None:
    before = str(step.down_revision or "base")
    walk.to(before)
    catalogs = []
    for revision in (step.revision, before, step.revision):
        with connected(walk.url) as db:
            catalogs.append(read_catalog(db))
        walk.to(revision)
    without, with_it, without_again = catalogs
    assert differences(without, without_again) == []
    with connected(walk.url) as db:
        assert differences(with_it, read_catalog(db)) == []


def test_a_server_that_is_too_old_is_refused_before_anything_is_changed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afterturn.migrate.OLDEST_SERVER", 990_000)
    with pytest.raises(OldServerError, match=r"PostgreSQL \d+ is too old, 16 to 18 serve"):
        upgrade(database_url)
    with connected(database_url) as db:
        assert db.execute(text("select count(*) from pg_class where relname = 'tenant'")).scalar_one() == 0


def test_ids_of_older_servers_are_of_version_7_and_in_the_order_of_time(database_url: str) -> None:
    """The function of the baseline, under another name, since this server may have one itself."""
    made = STEPS[0].module.UUIDS.replace("uuidv7()", "older_ids()")
    with connected(database_url) as db:
        db.exec_driver_sql(made)
        one_id = text("select older_ids() from pg_sleep(.003)")
        ids = [UUID(str(db.execute(one_id).scalar_one())) for _ in range(5)]
        now = db.execute(text("select extract(epoch from clock_timestamp()) * 1000")).scalar_one()
    assert {(one.version, one.variant) for one in ids} == {(7, "specified in RFC 4122")}
    assert ids == sorted(ids)
    assert abs((ids[-1].int >> 80) - int(now)) < 1_000


def test_the_migrations_make_what_the_models_say(database_url: str, postgres_url: str) -> None:
    for module in pkgutil.walk_packages(models.__path__, "models."):
        importlib.import_module(module.name)
    upgrade(database_url)
    with connected(database_url) as db:
        migrated = read_catalog(db)
    with new_database(postgres_url) as url, connected(url) as db:
        db.exec_driver_sql(STEPS[0].module.UUIDS)
        Base.metadata.create_all(db)
        assert differences(migrated, read_catalog(db)) == []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.revision)
def test_a_docstring_names_every_lock_that_stops_writers(walk: Walk, step: Script) -> None:
    walk.to(str(step.down_revision or "base"))
    told = re.search(r"^Locks: (.*?)^Old code:", step.longdoc, re.DOTALL | re.MULTILINE)
    assert told
    with connected(walk.url) as db:
        existing = db.execute(text("select relname from pg_class where relkind = 'r'")).scalars().all()
    strongest: dict[str, str] = {}
    for table, mode in locks_of(walk.url, step):
        strongest[table] = max(strongest.get(table, mode), mode, key=STOPS_WRITERS.index)
    for table, mode in strongest.items():
        if table in existing:
            assert mode in told[1], f"{mode} on {table}"
            assert re.search(rf"\b{table}\b", told[1]), f"{mode} on {table}"


def test_the_locks_of_a_step_are_seen(walk: Walk) -> None:
    walk.to(str(ALTERS.down_revision))
    assert "ACCESS EXCLUSIVE" in {mode for _, mode in locks_of(walk.url, ALTERS)}


class _TakenBackError(Exception):
    """Ends a step that was only looked at."""


def locks_of(url: str, step: Script) -> list[tuple[str, str]]:
    """Take a step, look at its locks while it holds them, and take it back."""
    held: list[tuple[str, str]] = []
    with create_engine(url, poolclass=NullPool).connect() as db, suppress(_TakenBackError):
        steps = MigrationContext.configure(db, opts={"transaction_per_migration": True})
        with steps.begin_transaction(_per_migration=True), Operations.context(steps):
            step.module.upgrade()
            held = locks_held(db)
            raise _TakenBackError
    return held


def locks_held(db: Connection) -> list[tuple[str, str]]:
    """Our own tables on which this transaction stops writers, and how, in PostgreSQL's words."""
    rows = db.execute(
        text("""
            select c.relname, l.mode from pg_locks l
            join pg_class c on c.oid = l.relation
            where l.pid = pg_backend_pid() and c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
            and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')""")
    )
    return [
        (table, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", mode.removesuffix("Lock")).upper())
        for table, mode in rows
    ]


def test_a_database_brought_here_by_the_steps_before_the_baseline_is_recognised(
    database_url: str, server: psycopg.Connection
) -> None:
    server.execute(HISTORY_OF_OTHERS.format(STEPS[0].revision).encode())
    server.execute("create table tenant (name text)")
    server.execute("insert into tenant values ('kept')")
    upgrade(database_url, STEPS[0].revision)
    assert server.execute("select name from tenant").fetchall() == [("kept",)]


@pytest.mark.parametrize("revision", ["0031", "9999"], ids=["older than the baseline", "newer"])
def test_a_database_at_an_unknown_step_is_left_as_it_is_with_words_that_help(
    database_url: str, server: psycopg.Connection, revision: str
) -> None:
    server.execute(HISTORY_OF_OTHERS.format(revision).encode())
    with migrating(database_url) as runner:
        code, told = ended(runner)
    assert code == 1
    assert told.startswith(
        f"The database is at migration {revision}, this version knows {STEPS[0].revision} to "
    )
    assert "Traceback" not in told
    assert server.execute("select version_num from alembic_version").fetchall() == [(revision,)]
    assert server.execute("select to_regclass('tenant')").fetchone() == (None,)


def test_the_newer_version_takes_its_steps_back_for_the_older_one(
    database_url: str, server: psycopg.Connection
) -> None:
    upgrade(database_url)
    earlier = STEPS[-2].revision
    for revision in (earlier, earlier, newest()):
        with migrating(database_url, "--to", revision) as runner:
            assert ended(runner) == (0, f"at migration {revision}\n")
        assert server.execute("select version_num from alembic_version").fetchall() == [(revision,)]


def test_a_step_that_nobody_knows_is_no_goal(database_url: str, server: psycopg.Connection) -> None:
    upgrade(database_url, STEPS[0].revision)
    with migrating(database_url, "--to", "0046") as runner:
        code, told = ended(runner)
    assert code == 1
    assert told.startswith(f"There is no migration '0046', this version knows {STEPS[0].revision} to ")
    assert server.execute("select version_num from alembic_version").fetchall() == [(STEPS[0].revision,)]


def test_two_runners_that_start_together_both_succeed(database_url: str) -> None:
    with migrating(database_url) as one, migrating(database_url) as other:
        assert [ended(one), ended(other)] == [(0, f"at migration {newest()}\n")] * 2


def test_a_runner_that_waits_for_its_turn_changes_nothing_and_blocks_no_index(
    database_url: str, server: psycopg.Connection
) -> None:
    asks = "select 1 from pg_stat_activity where datname = current_database() and query like %s"
    server.execute("create table busy (id int)")
    server.execute("select pg_advisory_lock(%s)", (advisory_lock(),))
    with migrating(database_url) as runner:
        wait_until(
            lambda: server.execute(asks, ("%pg_try_advisory_lock(%",)).fetchone(),
            within_s=120,
            what="the runner asks for its turn",
        )
        server.execute("set statement_timeout = '120s'")
        server.execute("create index concurrently on busy (id)")
        assert server.execute("select to_regclass('alembic_version')").fetchone() == (None,)
        server.execute("select pg_advisory_unlock_all()")
        assert ended(runner) == (0, f"at migration {newest()}\n")


def test_each_step_has_a_transaction_and_all_of_them_one_lock_and_a_limit(
    database_url: str, server: psycopg.Connection, tmp_path: Path
) -> None:
    table = "create table seen (txid bigint, lock_timeout text, advisory_locks int)"
    command.upgrade(made_steps(database_url, tmp_path, [table, RECORD], [RECORD, RECORD]), "head")
    first, *second = server.execute("select * from seen").fetchall()
    assert {row[1:] for row in (first, *second)} == {("2s", 1)}
    assert len({row[0] for row in second}) == 1
    assert first[0] not in {row[0] for row in second}


def test_a_step_that_fails_leaves_nothing_of_itself_and_the_steps_before_it(
    database_url: str, server: psycopg.Connection, tmp_path: Path
) -> None:
    steps = made_steps(database_url, tmp_path, ["create table one ()"], ["create table two ()", "select 1/0"])
    with pytest.raises(DBAPIError, match="division by zero"):
        command.upgrade(steps, "head")
    assert server.execute("select version_num from alembic_version").fetchall() == [("0001",)]
    assert server.execute("select to_regclass('one')::text, to_regclass('two')::text").fetchone() == (
        "one",
        None,
    )


def test_a_runner_that_failed_does_not_keep_its_turn(
    database_url: str, server: psycopg.Connection, tmp_path: Path
) -> None:
    with pytest.raises(DBAPIError, match="division by zero"):
        command.upgrade(made_steps(database_url, tmp_path, ["select 1/0"]), "head")
    take = "select pg_try_advisory_lock(%s)"
    wait_until(
        lambda: server.execute(take, (advisory_lock(),)).fetchone() == (True,),
        within_s=30,
        what="the lock is free",
    )


def test_a_step_that_does_not_get_its_lock_gives_up_and_lets_traffic_through(
    database_url: str, server: psycopg.Connection, tmp_path: Path
) -> None:
    steps = made_steps(database_url, tmp_path, ["create table busy (id int)"], ["alter table busy add n int"])
    command.upgrade(steps, "0001")
    waits = "select 1 from pg_locks where relation = 'busy'::regclass and not granted"
    with psycopg.connect(database_url) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("insert into busy values (1)")
        upgrading = pool.submit(command.upgrade, steps, "head")
        wait_until(lambda: server.execute(waits).fetchone(), within_s=30, what="the step waits for its lock")
        server.execute("set statement_timeout = '30s'")
        assert server.execute("select count(*) from busy").fetchone() == (0,)
        with pytest.raises(DBAPIError, match="lock timeout"):
            upgrading.result(timeout=30)
    assert server.execute("select version_num from alembic_version").fetchall() == [("0001",)]


HISTORY_OF_OTHERS = """
create table alembic_version (version_num varchar(32) primary key);
insert into alembic_version values ('{}')
"""
LOSING = """
create sequence tries;
create function lose() returns event_trigger language plpgsql as $$ begin
    if nextval('tries') <= {times} then raise exception 'lost to others' using errcode = '{code}'; end if;
end $$;
create event trigger lose on ddl_command_start when tag in ('ALTER TABLE') execute function lose()
"""
TRIES = "select last_value::int from tries"


def test_the_steps_after_the_baseline_go_up_and_down_where_tables_have_parts(
    database_url: str, server: psycopg.Connection
) -> None:
    upgrade(database_url, "0048")
    for table, key in [("message", "seq"), ("summary", "version")]:
        like = f"like {table}_whole including defaults including constraints"
        for statement in (
            f"alter table {table} rename to {table}_whole",
            f"create table {table} ({like}) partition by hash (tenant_id, session_id)",
            f"alter table {table} add primary key (tenant_id, session_id, {key})",
            f"create table {table}_p0 partition of {table} for values with (modulus 1, remainder 0)",
        ):
            server.execute(statement.encode())
    upgrade(database_url)
    indexes = server.execute("select indexname from pg_indexes where tablename in ('message', 'summary')")
    names = {name for (name,) in indexes}
    assert names >= {"ix_message_compaction", "ix_summary_tenant_id_activated_at"}
    downgrade(database_url, "0048")
    left = server.execute("select 1 from pg_indexes where indexname = any(%s)", [[*names]]).fetchall()
    assert len(left) == len(names) - 2


@pytest.mark.parametrize("code", ["40P01", "55P03"], ids=["deadlock", "late lock"])
def test_a_step_that_lost_to_traffic_is_taken_again(
    database_url: str, server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr("afterturn.migrate.PAUSE_S", 0)
    upgrade(database_url, str(ALTERS.down_revision))
    server.execute(LOSING.format(times=2, code=code).encode())
    upgrade(database_url, ALTERS.revision)
    [(tries,)] = server.execute(TRIES).fetchall()
    assert tries > 2
    assert server.execute("select version_num from alembic_version").fetchone() == (ALTERS.revision,)


def test_a_step_that_always_loses_to_traffic_is_given_up(
    database_url: str, server: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afterturn.migrate.PAUSE_S", 0)
    upgrade(database_url, str(ALTERS.down_revision))
    server.execute(LOSING.format(times=99, code="40P01").encode())
    with pytest.raises(DBAPIError, match="lost to others"):
        upgrade(database_url, ALTERS.revision)
    assert server.execute(TRIES).fetchone() == (MOST_TRIES,)
    assert server.execute("select version_num from alembic_version").fetchone() == (ALTERS.down_revision,)


def test_writers_go_on_while_every_later_step_is_taken(database_url: str, server: psycopg.Connection) -> None:
    upgrade(database_url, STEPS[0].revision)
    server.execute("insert into tenant (name) values ('first')")
    server.execute("insert into session (tenant_id, session_id) select tenant_id, '0' from tenant")
    begun, stop = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write_sessions, database_url, begun, stop)
        assert begun.wait(timeout=30)
        try:
            upgrade(database_url)
        finally:
            stop.set()
        commits = written.result(timeout=30)
    found = server.execute("select count(*), max(last_seq) from session").fetchone()
    assert found == (commits + 1, commits)


def write_sessions(database_url: str, begun: threading.Event, stop: threading.Event) -> int:
    """Change a row and add one in each transaction, until told to stop. Returns how many."""
    commits = 0
    with psycopg.connect(database_url, autocommit=True, options="-c lock_timeout=5s") as db:
        while not stop.is_set():
            with db.transaction():
                db.execute("update session set last_seq = last_seq + 1 where session_id = '0'")
                db.execute(
                    "insert into session (tenant_id, session_id) select tenant_id, %s from tenant",
                    (str(commits + 1),),
                )
            commits += 1
            begun.set()
    return commits
