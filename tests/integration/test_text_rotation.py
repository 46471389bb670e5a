"""Rotation while people talk: killed half way, run again, and nobody notices."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.artifacts.attachment import load_attachments
from models.conversations.history import load_oldest
from models.database_settings import database_settings
from models.encryption.keys import TextCipher, unwrap
from models.rekeying.rotation import AT_ONCE
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.data import ROOT
from tests.integration.erasing import post_turn, tool_turn
from tests.integration.sealing import FIRST, SECOND, Environment
from tests.waiting import wait_until

WORD = "zqxharbour"
OTHERS = 2 * AT_ONCE + 9
SOON_S = 60.0
MESSAGES = 4
"""Of each turn."""


class Traffic:
    """A writer and a reader that do not stop while keys are rotated."""

    def __init__(self, client: TestClient) -> None:
        self._client, self._ends = client, threading.Event()
        self.turns = 0
        self.reads = 0
        self.refused: list[str] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [
            threading.Thread(target=self._until_the_end, args=(one,)) for one in (self._say, self._read)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            for thread in threads:
                thread.join(SOON_S)

    def goes_on(self) -> None:
        """Wait until something was said and something was read after this moment."""
        turns, reads = self.turns, self.reads
        wait_until(
            lambda: self.refused or (self.turns > turns + 1 and self.reads > reads + 1),
            within_s=SOON_S,
            what="turns and reads",
        )

    def _until_the_end(self, do: Callable[[], None]) -> None:
        while not self._ends.is_set() and not self.refused:
            do()

    def _say(self) -> None:
        answer = self._client.post("/v1/sessions/s1/turns", json=tool_turn(f"t{self.turns + 1}", WORD))
        if answer.status_code != 202:
            self.refused.append(answer.text)
        self.turns += 1
        document = {"content": f"{WORD} {self.turns}. " * 100, "title": WORD}
        stored = self._client.post("/v1/attachments", json=document)
        if stored.status_code != 201:
            self.refused.append(stored.text)

    def _read(self) -> None:
        asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"what of {WORD}?"}]}
        answer = self._client.post("/v1/sessions/s0/context", json=asked)
        if answer.status_code != 200 or WORD not in answer.text:
            self.refused.append(answer.text)
        self.reads += 1


def begin_rotation() -> "subprocess.Popen[str]":
    """Run the command as an operator does."""
    return subprocess.Popen(
        [sys.executable, "-m", "afterturn", "text", "rotate", "--data-dir", "/nonexistent"],
        cwd=ROOT,
        env={**os.environ, "AFTERTURN_DATABASE_URL": database_settings().database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wrapped_by(master_id: str) -> int:
    with session.read_transaction() as db:
        found = db.execute(text("select count(*) from text_key where master_id = :id"), {"id": master_id})
        return int(found.scalar_one())


def give_keys_to_others() -> UUID:
    """Many tenants with keys. Returns the one that comes last."""
    with session.transaction() as db:
        others = [ensure_tenant(db, f"other-{number}") for number in range(OTHERS)]
        for tenant_id in others:
            TextCipher(db, tenant_id).seal("c", WORD)
        return UUID(db.execute(text("select max(tenant_id::text) from text_key")).scalar_one())


def test_a_rotation_that_is_killed_half_way_under_traffic_is_run_again_and_nobody_notices(
    client: TestClient, tenant_id: UUID, keys: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_TEXT_KEY_CACHE_S", "0")
    keys.use(FIRST, SECOND)
    post_turn(client, "s0", tool_turn("t0", WORD))
    last = give_keys_to_others()
    keys.use(SECOND, FIRST)
    traffic = Traffic(client)
    with traffic.running():
        traffic.goes_on()
        with session.engine().begin() as holding:
            holding.execute(text("select 1 from text_key where tenant_id = :last for update"), {"last": last})
            killed = begin_rotation()
            wait_until(lambda: wrapped_by("second") == 2 * AT_ONCE, within_s=SOON_S, what="half of the keys")
            traffic.goes_on()
            killed.kill()
            killed.communicate()
        assert wrapped_by("first") == OTHERS + 1 - 2 * AT_ONCE
        traffic.goes_on()
        told, _ = begin_rotation().communicate(timeout=SOON_S)
        assert (
            told.strip() == f"{OTHERS + 1 - 2 * AT_ONCE} keys were wrapped anew, {2 * AT_ONCE} were already."
        )
        traffic.goes_on()
    assert traffic.refused == []
    assert wrapped_by("first") == 0
    keys.use(SECOND)
    with session.read_transaction() as db:
        scope = Scope(db, tenant_id)
        for row in db.execute(text("select tenant_id, master_id, wrapped from text_key")):
            unwrap(row.tenant_id, row.master_id, row.wrapped)
        log = load_oldest(scope, "s1", after_seq=0, up_to_seq=10_000, most=10_000)
        ids = db.execute(text("select artifact_id from artifact_attachment")).scalars().all()
        uploads = load_attachments(scope, ids)
    assert len(log) == MESSAGES * traffic.turns
    assert all(WORD in message.raw for message in log)
    assert [upload.title for upload in uploads.values()] == [WORD] * traffic.turns
