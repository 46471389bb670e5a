"""Run an API and workers behind PgBouncer in transaction mode, beside the same ones without PgBouncer.

python -m benchmarks.pooler [--sessions 8] [--reads 400] [--connections 8]

The program `pgbouncer` must be there (`apt-get install pgbouncer`); without it nothing is measured.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import httpx
import psycopg
from rich.console import Console
from rich.table import Table

from afterturn.conversations.bundled import bundled_conversation
from afterturn.stack.processes import account_for_postgres
from afterturn.stack.roles import (
    LOOPBACK,
    SERVERS,
    api_command,
    application_environment,
    dispatcher_command,
    worker_command,
)
from afterturn.stack.stack import Stack
from benchmarks.context_read.cases import CASES, body_of
from benchmarks.context_read.server import free_port, wait_ready
from benchmarks.idle_stack import used_s
from benchmarks.model_concurrency import provider
from benchmarks.report import save
from benchmarks.soak.samples import descendants
from models.database import make_engine
from models.database_settings import DatabaseSettings
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant

READERS = 50
MODEL_S = 0.4
START_S = 10.0
SETTLE_S = 180.0
TOOLS = [
    {"type": "function", "function": {"name": f"read_{name}", "description": f"Read the {name} of a lot."}}
    for name in ("weight", "owner", "place", "age", "price")
]


@contextmanager
def pooler(database_url: str, directory: Path, *, connections: int) -> Iterator[tuple[str, int]]:
    """Run PgBouncer in transaction mode; give the database's address through it, and its process id.

    Args:
        database_url: Address of the server.
        directory: Place for its configuration and log; must be open to the account of PostgreSQL.
        connections: Connections to the server, for all clients together.

    Raises:
        LookupError: The program is missing.
        RuntimeError: The program does not start.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        raise LookupError("the program pgbouncer is missing")
    at, port = urlsplit(database_url), free_port()
    name, account = at.path.strip("/"), account_for_postgres(directory, Path(program))
    directory.mkdir(exist_ok=True)
    configuration = directory / "pgbouncer.ini"
    server = f"host={at.hostname} port={at.port} user={at.username} password={unquote(at.password or '')}"
    configuration.write_text(
        f"[databases]\n{name} = dbname={name} {server}\n[pgbouncer]\nlisten_addr = {LOOPBACK}\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
        f"default_pool_size = {connections}\nmax_client_conn = 1000\n"
    )
    if account is not None:
        for path in (directory, configuration):
            os.chown(path, account.uid, account.gid)
    who: dict[str, Any] = {"user": account.uid, "group": account.gid} if account else {}
    with (directory / "pgbouncer.log").open("wb") as log:
        child = subprocess.Popen([program, str(configuration)], stdout=log, stderr=log, **who)  # noqa: S603
    try:
        url = f"postgresql://{at.username}@{LOOPBACK}:{port}/{name}"
        _wait_for(lambda: _answers(url), START_S, "PgBouncer does not start")
        yield url, child.pid
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(10)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=1).close()
    except psycopg.OperationalError:
        return False
    return True


def _wait_for(is_so: Callable[[], bool], within_s: float, what: str) -> None:
    until = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > until:
            raise RuntimeError(what)
        time.sleep(0.1)


@contextmanager
def application(stack: Stack, name: str, settings: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Run API, dispatcher and worker with further settings; give the API's address and their log."""
    port, at, log = free_port(), stack.at, stack.at.directory / f"{name}.log"
    own = application_environment(database_url=at.database_url, broker_url=at.broker_url, api_port=port)
    environment = {**os.environ, **own, **settings}
    with ExitStack() as held, log.open("wb") as output:
        children = []
        for _, *command in (api_command(), dispatcher_command(), worker_command()):
            child = subprocess.Popen(  # noqa: S603 (our own modules)
                [sys.executable, *command], env=environment, stdout=output, stderr=output
            )
            children.append(child)
            held.callback(child.wait, 30)
            held.callback(child.terminate)
        wait_ready(f"http://{LOOPBACK}:{port}", children[0])
        yield f"http://{LOOPBACK}:{port}", log


class Watch:
    """Looks several times a second at the connections of the server, from a thread of its own."""

    def __init__(self, database_url: str) -> None:
        """Look until the end of the block."""
        self.most, self._url, self._is_over = 0, database_url, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        asked = "select count(*) from pg_stat_activity where backend_type = 'client backend'"
        with psycopg.connect(self._url, autocommit=True) as database:
            while not self._is_over.wait(0.2):
                row = database.execute(asked).fetchone()
                self.most = max(self.most, int(row[0]) - 1 if row else 0)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._is_over.set()
        self._thread.join()


def talk(http: httpx.Client, session: str) -> tuple[list[float], list[float], list[int]]:
    """Store the bundled conversation, with a context before each turn. Returns times in ms, and statuses."""
    turns: list[float] = []
    contexts: list[float] = []
    statuses = []
    for event in bundled_conversation().events:
        for path, body, taken in (
            ("context", body_of(CASES[0], "Which lots are open?"), contexts),
            ("turns", event.body(), turns),
        ):
            began = time.perf_counter()
            answer = http.post(f"/v1/sessions/{session}/{path}", json=body)
            taken.append((time.perf_counter() - began) * 1_000)
            statuses.append(answer.status_code)
    return turns, contexts, statuses


def measure(stack: Stack, base_url: str, name: str, *, sessions: int, reads: int) -> dict[str, Any]:
    """Drive turns, contexts, an awaited plan and summaries, then many readers at once."""
    engine = make_engine(DatabaseSettings(database_url=stack.at.database_url))
    with engine.begin() as db:
        key = create_key(Scope(db, ensure_tenant(db, name)), label="bench")
    engine.dispose()
    postgres = stack.at.pids["postgres"]
    limits = httpx.Limits(max_connections=READERS, keepalive_expiry=2)  # below that of the server
    http = httpx.Client(
        base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=120, limits=limits
    )
    names = [f"{name}-{number}" for number in range(sessions)]
    with http, Watch(stack.at.database_url) as watch, ThreadPoolExecutor(READERS) as threads:
        before_s = sum(map(used_s, descendants(postgres)))
        told = list(threads.map(lambda one: talk(http, one), names))
        _wait_for(lambda: not any(_pending(http, one) for one in names), SETTLE_S, "work stays due")
        http.put("/v1/catalogs/lots", json={"tools": TOOLS}).raise_for_status()
        began = time.perf_counter()
        asked = {"intent": "weigh lot 7", "catalog": "lots", "model": "openai/scripted", "wait_ms": 60_000}
        planned = http.post("/v1/plans", json=asked).json()
        plan_ms = (time.perf_counter() - began) * 1_000
        body = body_of(CASES[0], "When may GW-3 be restarted?")
        began = time.perf_counter()
        paths = [f"/v1/sessions/{names[number % sessions]}/context" for number in range(reads)]
        answers = list(threads.map(lambda path: http.post(path, json=body), paths))
        reading_s = time.perf_counter() - began
        postgres_s = sum(map(used_s, descendants(postgres))) - before_s
        summaries = [http.get(f"/v1/sessions/{one}/summaries").json()["summaries"] for one in names]
    statuses = [status for _, _, many in told for status in many] + [one.status_code for one in answers]
    return {
        "turn_p50_ms": statistics.median(ms for turns, _, _ in told for ms in turns),
        "context_p50_ms": statistics.median(ms for _, contexts, _ in told for ms in contexts),
        "awaited_plan_ms": plan_ms,
        "plans_ready": int(planned["status"] == "ready"),
        "summaries_in_force": sum(any(one["state"] == "active" for one in many) for many in summaries),
        "reads_a_second": reads / reading_s,
        "calls": len(statuses),
        "failed_calls": sum(status >= httpx.codes.BAD_REQUEST for status in statuses),
        "most_connections": watch.most,
        "postgres_cpu_ms_a_call": postgres_s * 1_000 / len(statuses),
    }


def _pending(http: httpx.Client, session: str) -> bool:
    return bool(http.get(f"/v1/sessions/{session}").json()["freshness"]["pending"])


def show(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Show a row for each figure."""
    table = Table(title="Behind PgBouncer in transaction mode, and without it")
    table.add_column("figure")
    for name in found:
        table.add_column(name, justify="right")
    for figure in next(iter(found.values())):
        table.add_row(figure, *(f"{one[figure]:.4g}" for one in found.values()))
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--reads", type=int, default=400)
    parser.add_argument("--connections", type=int, default=8)
    given = parser.parse_args(arguments)
    found = {}
    with Stack(roles=SERVERS) as stack, ExitStack() as held:
        direct = stack.at.database_url
        with psycopg.connect(direct, autocommit=True) as database:
            database.execute("alter role current_user set statement_timeout = 15000")
        try:
            url, pid = held.enter_context(
                pooler(direct, stack.at.directory / "pooler", connections=given.connections)
            )
        except LookupError as missing:
            sys.exit(str(missing))
        models = {
            "SUMMARIZER_MODEL": "openai/scripted",
            "AFTERTURN_LLM_API_BASE": held.enter_context(provider(MODEL_S)),
            "AFTERTURN_LLM_API_KEY": "none",
        }
        pooled = {
            "AFTERTURN_DATABASE_URL": url,
            "AFTERTURN_DIRECT_DATABASE_URL": direct,
            "AFTERTURN_TRANSACTION_POOLER": "true",
        }
        for name, settings in (("direct", {}), ("pooled", pooled)):
            with application(stack, name, {**models, **settings}) as (base_url, log):
                began_s = used_s(pid)
                figures = measure(stack, base_url, name, sessions=given.sessions, reads=given.reads)
                figures["error_lines"] = log.read_bytes().count(b'"level": "error"')
                figures["pooler_cpu_ms_a_call"] = (used_s(pid) - began_s) * 1_000 / figures["calls"]
                found[name] = figures
    Console().print(show(found))
    save("pooler", found)


if __name__ == "__main__":
    main()
