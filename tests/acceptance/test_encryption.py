"""Sealed text on a running stack: keys are rotated, text is sealed and opened, a key is forgotten."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.servers import postgres_program
from afterturn.stack.stack import Stack
from tests.acceptance.environment import untouched
from tests.acceptance.platform import MARKER, SETTINGS, SOON_S, dialogue
from tests.data import ROOT
from tests.oracle import is_at_rest
from tests.waiting import wait_until

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)
OLD, NEW = (f"{name}:{base64.b64encode(name[:1].encode() * 32).decode()}" for name in ("old", "new"))
TURNS = 8
SESSION = "/v1/sessions/quiet"


@pytest.fixture
def stack() -> Iterator[Stack]:
    """A stack that seals with the old key and knows the new one; no process keeps a tenant's key."""
    chosen = {
        **SETTINGS,
        "SUMMARIZER_MODEL": "extractive",
        "CONTEXT_PLANNER_MODEL": "extractive",
        "AFTERTURN_TEXT_KEYS": f"{OLD},{NEW}",
        "AFTERTURN_TEXT_KEY_CACHE_S": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in chosen.items():
            patch.setenv(name, value)
        with Stack(roles=ROLES) as running:
            yield running


def run(stack: Stack, *words: str, keys: str, sealing: bool = True, code: int = 0, **more: str) -> str:
    """Run a command as an operator does, with keys of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "afterturn", *words, "--data-dir", str(stack.at.directory)],
        cwd=ROOT,
        env=untouched(
            AFTERTURN_TEXT_KEYS=keys,
            AFTERTURN_TEXT_SEALING=str(sealing).lower(),
            AFTERTURN_TEXT_KEY_CACHE_S="0",
            COLUMNS="200",
            **more,
        ),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@contextmanager
def restored(stack: Stack, dump: Path) -> Iterator[str]:
    """Another database of the same server, from a dump."""
    url = urlunsplit(urlsplit(stack.at.database_url)._replace(path="/restored"))
    with psycopg.connect(stack.at.database_url, autocommit=True) as db:
        db.execute("create database restored")
    subprocess.run([postgres_program("pg_restore"), "--no-owner", "--dbname", url, dump], check=True)
    yield url


def tables_that_say(stack: Stack | str, word: str) -> set[str]:
    """The tables that hold a word."""
    url = stack if isinstance(stack, str) else stack.at.database_url
    with psycopg.connect(url, autocommit=True) as db:
        names = [row[0] for row in db.execute("select tablename from pg_tables where schemaname = 'public'")]
        held = "select exists (select from {} t where t::text ilike %s)"
        return {
            name
            for name in names
            if db.execute(held.format(name).encode(), [f"%{word}%"]).fetchone() == (True,)
        }


def talk(stack: Stack, client: httpx.Client) -> None:
    """A conversation with plans, until it is summarized and nothing more is made of it."""
    for number in range(TURNS):
        plan = {"intent": f"call {MARKER}", "steps": [{"tool": "call", "args": {"who": MARKER}}]}
        turn = {"turn_id": f"t{number}", "messages": dialogue(number), "plan": plan}
        client.post(f"{SESSION}/turns", json=turn).raise_for_status()
    wait_until(
        lambda: client.get(f"{SESSION}/summaries").json()["summaries"], within_s=SOON_S, what="a summary"
    )
    # What is still under way would write more text, and change what is compared.
    wait_until(lambda: is_at_rest(stack.at.database_url), within_s=SOON_S, what="nothing is left to do")


def told(client: httpx.Client) -> str:
    """What is shown of the conversation and of its plans, and what the next request is sent."""
    asked = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "And now?"}]}
    context = client.post(f"{SESSION}/context", json=asked)
    assert context.status_code == 200, context.text
    assert MARKER in context.text
    pages = [client.get(path).json() for path in (f"{SESSION}/turns", f"{SESSION}/summaries", "/v1/my-plans")]
    return json.dumps(pages)


def test_text_is_sealed_rotated_opened_sealed_again_and_forgotten_while_a_stack_runs(stack: Stack) -> None:
    headers = {"Authorization": f"Bearer {stack.at.api_key}"}
    with httpx.Client(base_url=stack.at.base_url, headers=headers, timeout=60) as client:
        talk(stack, client)
        before = told(client)
        assert tables_that_say(stack, MARKER) == set()
        dump = stack.at.directory / "afterturn.dump"
        subprocess.run(
            [postgres_program("pg_dump"), "--format=custom", "--file", dump, stack.at.database_url],
            check=True,
        )
        assert "1 keys were wrapped anew" in run(stack, "text", "rotate", keys=f"{NEW},{OLD}")
        assert "missing  text keys: 1 tenant under new" in run(stack, "doctor", keys=OLD, code=1)
        assert "well     text keys: 1 tenant under new" in run(stack, "doctor", keys=NEW)
        assert told(client) == before
        assert "stored as it is" in run(stack, "text", "unseal", keys=NEW, sealing=False)
        assert tables_that_say(stack, MARKER) >= {"message", "summary", "plan_history"}
        assert told(client) == before
        assert "is sealed" in run(stack, "text", "seal", keys=NEW)
        assert tables_that_say(stack, MARKER) == set()
        assert told(client) == before
        forgotten = run(stack, "text", "forget", "--tenant", "default", "--for-ever", keys=NEW)
        assert "Nothing is left of default that cannot be read" in forgotten
        assert client.get(f"{SESSION}/turns").status_code == 404
        assert client.get("/v1/my-plans").json()["plans"] == []
        talk(stack, client)
        assert MARKER in told(client)
        assert tables_that_say(stack, MARKER) == set()
    with restored(stack, dump) as url:
        assert "1 tenant under old" in run(stack, "doctor", keys=NEW, code=1, AFTERTURN_DATABASE_URL=url)
        assert "1 keys" in run(stack, "text", "rotate", keys=f"{NEW},{OLD}", AFTERTURN_DATABASE_URL=url)
        run(stack, "text", "unseal", keys=NEW, sealing=False, AFTERTURN_DATABASE_URL=url)
        assert tables_that_say(url, MARKER) >= {"message", "summary", "plan_history"}
