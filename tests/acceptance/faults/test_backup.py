"""The database is lost, and a dump of it goes on where it was taken, in the middle of work and traffic."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest

from afterturn.stack.roles import StackRole, dispatcher_command, worker_command
from afterturn.stack.servers import postgres_program
from llm.scripted import Mode
from tests.acceptance.faults.processes import api, process
from tests.acceptance.platform import SOON_S, WISH, Platform, dialogue
from tests.waiting import wait_until

RESTORED = "restored"


def run(program: str, *arguments: str) -> None:
    told = subprocess.run(
        [str(postgres_program(program)), *arguments], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr


def other_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@contextmanager
def restored_from(dump: Path, platform: Platform) -> Iterator[str]:
    """A new database, as the operator's page says to make one."""
    with psycopg.connect(platform.database_url, autocommit=True) as database:
        database.execute(f"create database {RESTORED}")
        try:
            url = other_database(platform.database_url, RESTORED)
            run("pg_restore", "--no-owner", "--exit-on-error", "--dbname", url, str(dump))
            with psycopg.connect(url) as restored:
                under_way = "select 1 from due_work where key = 'interrupted' and state <> 'idle'"
                assert restored.execute(under_way).fetchone(), "nothing was under way when it was dumped"
            yield url
        finally:
            database.execute(f"drop database {RESTORED} with (force)")


@contextmanager
def platform_on(url: str, platform: Platform, place: Path) -> Iterator[httpx.Client]:
    """An API, a dispatcher and a worker on another database and an empty broker."""
    broker_url = platform.broker_url.rsplit("/", 1)[0] + "/7"
    own = {"AFTERTURN_DATABASE_URL": url, "AFTERTURN_BROKER_URL": broker_url}
    settings = {**platform.environment_of(StackRole.API), **own}
    with (
        process(dispatcher_command(), settings, place / "dispatcher"),
        process(worker_command(concurrency=1, name="restored"), settings, place / "worker"),
        api(platform, place, own) as client,
    ):
        yield client


def window(client: httpx.Client) -> tuple[object, object]:
    answer = client.post("/v1/sessions/saved/context", json=WISH).json()
    return answer["messages"], answer["certificate"]


@pytest.mark.soak
def test_a_dump_is_restored_and_its_conversations_go_on(platform: Platform, tmp_path: Path) -> None:
    """Postgres is all there is: what was under way when it was dumped has a lease there that runs out.

    Red without "claim: an expired lease is free".
    """
    platform.talk("saved")
    platform.is_summarized("saved")
    platform.keeps_its_promises()
    before = window(platform.client)
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("interrupted")
    with platform.traffic(["busy"]):
        platform.flows(5)
        run("pg_dump", "--format=custom", "--file", str(tmp_path / "dump"), platform.database_url)
    platform.model.release()
    platform.keeps_its_promises()
    asked = platform.model.count
    with (
        restored_from(tmp_path / "dump", platform) as url,
        platform_on(url, platform, tmp_path) as client,
        psycopg.connect(url, autocommit=True) as database,
    ):
        # Recall may be late in a process that has just begun.
        wait_until(lambda: window(client) == before, within_s=SOON_S, what="the window that was before")
        again = client.post(
            "/v1/sessions/saved/turns", json={"turn_id": "saved-1", "messages": dialogue(1, "saved")}
        )
        assert again.json()["duplicate"] is True
        done = "select 1 from due_work where kind = 'summarize' and key = 'interrupted' and state = 'idle'"
        wait_until(
            lambda: database.execute(done.encode()).fetchone(),
            within_s=SOON_S,
            what="what was under way is done",
        )
        for number in range(5, 9):
            turn = {"turn_id": f"saved-{number}", "messages": dialogue(number, "saved")}
            assert client.post("/v1/sessions/saved/turns", json=turn).status_code == httpx.codes.ACCEPTED
        wait_until(
            lambda: len(client.get("/v1/sessions/saved/summaries").json()["summaries"]) > 1,
            within_s=SOON_S,
            what="the conversation is summarized further",
        )
    # What the restored platform asked is not in the ledger of the first.
    del platform.model.requests[asked:]
