"""Events of a tenant: names of what became ready, read from the rows, over a stream that costs no place."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

import fastapi.routing
import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.settings import api_settings
from models import database as session
from models.conversations.summary import activate_prepared, store_summary
from models.database_settings import database_settings
from models.due_work import operator
from models.scope import Scope
from models.tenants.tenant import ensure_tenant, revoke_key
from tests.described import answer_models, keys_lost
from tests.integration.agents import listening
from tests.integration.conftest import make_key
from tests.integration.erasing import new_summary, plant_everywhere, talk
from tests.waiting import wait_until

WORD = "zqxmarker"
ALL = {"Last-Event-ID": "0-"}
SOON_S = 20.0

Told = dict[str, Any]


def parsed(lines: list[str]) -> list[Told]:
    """The events of a stream's lines."""
    found: list[Told] = []
    for block in "\n".join(lines).split("\n\n"):
        members = dict(line.split(": ", 1) for line in block.splitlines() if line and line[0] != ":")
        if members:
            found.append({"event": members["event"], "id": members["id"], **json.loads(members["data"])})
    return found


def told(client: TestClient, headers: dict[str, str] = ALL, **params: Any) -> list[Told]:
    """The events that are there, without `opened`."""
    answer = client.get("/v1/events", params={"for_s": 0, **params}, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    opened, *others = parsed(answer.text.splitlines())
    assert opened["event"] == "opened"
    return others


def summarize(
    tenant_id: UUID, session_id: str, to_seq: int, *, base: int | None, activate: bool = True
) -> None:
    with session.transaction() as db:
        made = new_summary(to_seq, "Notes [1].", base=base)
        assert store_summary(Scope(db, tenant_id), session_id, made, activate=activate)


def move(by: timedelta) -> None:
    """Let every summary have taken effect so much earlier."""
    with session.transaction() as db:
        db.execute(text("update summary set activated_at = activated_at - :by"), {"by": by})


def test_whatever_became_ready_is_told_by_its_names_alone(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, "s1", WORD, "anna")
    with session.transaction() as db:
        db.execute(
            text(
                "update artifact_summary set state = 'ready', ready_at = now(), text = 't', tokens = 1"
                " where state = 'wanted'"
            )
        )
        db.execute(text("update plan_history set source = 'asked'"))
    found = told(client)
    by_kind = {one["event"]: set(one) - {"event", "id", "at"} for one in found}
    assert by_kind["summary_ready"] == {"session_id", "version"}
    assert by_kind["artifact_summary_ready"] >= {"artifact_id"}
    assert by_kind["plan_ready"] >= {"plan_id"}
    assert [one["at"] for one in found] == sorted(one["at"] for one in found)
    assert len({one["id"] for one in found}) == len(found)
    assert WORD not in json.dumps(found)
    model = answer_models(client.app)["stream_events"]  # type: ignore[arg-type]  # the very application
    for one in found:
        assert keys_lost(model, {key: one[key] for key in one if key not in {"event", "id"}}) == set()


def test_a_summary_is_told_when_it_takes_effect(client: TestClient, tenant_id: UUID) -> None:
    talk(client, "s1", 6)
    summarize(tenant_id, "s1", 4, base=None)
    summarize(tenant_id, "s1", 8, base=1, activate=False)
    assert [one["version"] for one in told(client)] == [1]
    with session.transaction() as db:
        assert activate_prepared(Scope(db, tenant_id), "s1", generation=1) == 2
    assert [one["version"] for one in told(client)] == [1, 2]


def test_a_stream_goes_on_after_the_last_event_and_begins_with_news_alone(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, "s1", 6)
    summarize(tenant_id, "s1", 4, base=None)
    move(timedelta(minutes=2))
    summarize(tenant_id, "s1", 6, base=1)
    move(timedelta(minutes=2))
    summarize(tenant_id, "s1", 8, base=2)
    first, second, _ = told(client)
    assert [one["version"] for one in told(client, {"Last-Event-ID": first["id"]})] == [2, 3]
    assert [one["version"] for one in told(client, {"Last-Event-ID": second["id"]})] == [3]
    assert told(client, {}) == []
    assert told(client, {"Last-Event-ID": f"{'9' * 17}-"})[0]["version"] == 3


def test_a_filter_another_tenant_and_an_erasure_leave_nothing_to_tell(
    client: TestClient, tenant_id: UUID
) -> None:
    for name in ("s1", "s2"):
        talk(client, name, 6)
        summarize(tenant_id, name, 4, base=None)
    assert [one["session_id"] for one in told(client, session_id="s2")] == ["s2"]
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    assert told(client, {**ALL, "Authorization": f"Bearer {make_key(other)}"}) == []
    assert client.delete("/v1/sessions/s1").status_code == 200
    assert [one["session_id"] for one in told(client)] == ["s2"]


def test_pages_lose_and_repeat_nothing(
    client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.work.PAGE", 2)
    names = [f"s{number}" for number in range(7)]
    for name in names:
        talk(client, name, 3)
        summarize(tenant_id, name, 4, base=None)
    with session.transaction() as db:  # three of the same moment stand across the end of a page
        db.execute(text("update summary set activated_at = now() where session_id in ('s1', 's2', 's3')"))
    assert sorted(one["session_id"] for one in told(client)) == names


@pytest.mark.parametrize("last", ["x", "1", "-1-", "1-!", "1" * 30, "9" * 18 + "-"])
def test_an_id_of_nobody_is_refused(client: TestClient, last: str) -> None:
    refused = client.get("/v1/events?for_s=0", headers={"Last-Event-ID": last})
    assert (refused.status_code, refused.json()["field"]) == (422, "Last-Event-ID")


def test_events_are_found_by_their_indexes(tenant_id: UUID) -> None:
    given = {"tenant_id": tenant_id, "after": "2026-01-01", "most": 5, "session_id": "s"}
    for query in (operator._OF_ALL, operator._OF_SESSION):
        with session.transaction() as db:
            db.execute(text("set local enable_seqscan = off"))
            known = {name: given[name] for name in given if name in str(query)}
            plan = "\n".join(db.execute(text(f"explain {query}"), known).scalars())
        assert "Seq Scan" not in plan
        if query is operator._OF_ALL:
            for name in (
                "summary_tenant_id_activated",
                "artifact_summary_tenant_id_ready",
                "plan_history_tenant_id_ready",
            ):
                assert f"ix_{name}_at" in plan


class Listener:
    """Somebody who listens to a stream of a real server, in a thread."""

    def __init__(self, url: str, key: str, **params: Any) -> None:
        self._url, self._params = url, params
        self._headers = {"Authorization": f"Bearer {key}"}
        self.lines: list[str] = []
        self.has_ended = threading.Event()
        self.error: Exception | None = None
        self.status = 0
        self._thread = threading.Thread(target=self._listen)
        self._stop = False

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self.events("opened") or self.has_ended.is_set(), within_s=SOON_S, what="it opens")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join(SOON_S)
        assert not self._thread.is_alive()

    def _listen(self) -> None:
        try:
            with (
                httpx.Client(timeout=SOON_S) as http,
                http.stream(
                    "GET", f"{self._url}/v1/events", params=self._params, headers=self._headers
                ) as got,
            ):
                self.status = got.status_code
                for line in got.iter_lines():
                    self.lines.append(line)
                    if self._stop:
                        return
        except httpx.HTTPError as error:
            self.error = error
        finally:
            self.has_ended.set()

    def events(self, kind: str = "summary_ready") -> list[Told]:
        return [one for one in parsed(self.lines) if one["event"] == kind]


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Frequent pings, by which a listener that leaves is woken; settings are read anew afterwards."""
    monkeypatch.setattr(fastapi.routing, "_PING_INTERVAL", 0.1)
    yield monkeypatch
    monkeypatch.undo()
    api_settings.cache_clear()


@contextmanager
def served(patch: pytest.MonkeyPatch, **settings: str) -> Iterator[str]:
    for name, value in settings.items():
        patch.setenv(f"AFTERTURN_{name.upper()}", value)
    api_settings.cache_clear()
    with listening() as url:
        yield url


def test_a_listener_hears_at_once_also_what_is_committed_late(
    client: TestClient, tenant_id: UUID, patch: pytest.MonkeyPatch
) -> None:
    for name in ("s1", "s2"):
        talk(client, name, 6)
    with served(patch, event_poll_s="0.05") as url, Listener(url, make_key(tenant_id)) as listener:
        with session.transaction() as late:
            assert store_summary(
                Scope(late, tenant_id), "s1", new_summary(4, "Notes.", base=None), activate=True
            )
            time.sleep(0.3)
            summarize(tenant_id, "s2", 4, base=None)
            wait_until(lambda: len(listener.events()) == 1, within_s=SOON_S, what="the quick one is heard")
        wait_until(lambda: len(listener.events()) == 2, within_s=SOON_S, what="the late one is heard")
        time.sleep(0.3)
        assert [one["session_id"] for one in listener.events()] == ["s2", "s1"]
        assert ": ping" in listener.lines


def test_streams_of_a_tenant_are_counted_and_hold_neither_thread_nor_connection(
    client: TestClient, tenant_id: UUID, patch: pytest.MonkeyPatch
) -> None:
    del client
    key = make_key(tenant_id)
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    with (
        served(patch, event_poll_s="60", tenant_event_streams="5", api_threads="2", tenant_calls="1") as url,
        ExitStack() as open_streams,
    ):
        for _ in range(5):
            open_streams.enter_context(Listener(url, key))
        pool = session._reading_engine(os.getpid(), database_settings().database_url, "").pool
        wait_until(lambda: pool.checkedout() == 0, within_s=SOON_S, what="no connection is held")  # type: ignore[attr-defined]
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=SOON_S) as http:
            assert http.get("/v1/usage").status_code == 200
            refused = http.get("/v1/events?for_s=0")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert refused.json()["detail"].startswith("5 event streams of this tenant are open already")
            with Listener(url, make_key(other)) as stranger:
                assert stranger.status == 200
            open_streams.close()
            wait_until(
                lambda: http.get("/v1/events?for_s=0").status_code == 200,
                within_s=SOON_S,
                what="places are free",
            )


def test_a_stream_ends_with_its_key(tenant_id: UUID, patch: pytest.MonkeyPatch) -> None:
    key = make_key(tenant_id)
    with served(patch, event_poll_s="0.05", key_cache_s="0") as url, Listener(url, key) as listener:
        with session.transaction() as db:
            assert revoke_key(Scope(db, tenant_id), key.split("_")[1])
        assert listener.has_ended.wait(SOON_S)
        assert listener.error is None


def test_a_server_that_stops_ends_its_streams_at_once(tenant_id: UUID, patch: pytest.MonkeyPatch) -> None:
    with ExitStack() as listeners:
        with served(patch, event_poll_s="600") as url:
            heard = [listeners.enter_context(Listener(url, make_key(tenant_id))) for _ in range(3)]
            began = time.monotonic()
        assert time.monotonic() - began < 60
        for one in heard:
            assert one.has_ended.wait(SOON_S)
            assert one.error is None
