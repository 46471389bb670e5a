"""What shadow mode reports: sums of its record, a verdict, and planted facts."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from afterturn.client import Client
from afterturn.shadow import plant_and_probe
from context.providers.profiles import ProfileOverride
from context.shadow.facts import PLANTED
from context.shadow.verdict import ShadowPart
from models import database as session
from models.catalogs.model_profile import set_override
from models.conversations.summary import store_summary
from models.scope import Scope
from models.shadow.reads import find_switch, forget_old_reads, record_reads
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import new_summary, post_turn
from tests.integration.shadowing import fresh_switches, records, switch

__all__ = ["fresh_switches"]

ASKED = {"model": "gpt-4o", "context_window": 16_000, "max_tokens": 500}
QUESTION = [{"role": "user", "content": "And now?"}]


def put_records(tenant_id: UUID, count: int, **fields: Any) -> None:
    """Write records that were judged."""
    numbers = {"needed": 2, "lost": 0, "calls": 1, "blocked": 0, "hidden_tools": 0}
    sizes = {"served_tokens": 1_000, "would_tokens": 600, "served": {}, "would": {}}
    place = {"session_id": "s1", "generation": 1, "after_seq": 2, "new_messages": 1, "model": "gpt-4o"}
    with session.transaction() as db:
        rows = [
            {
                "read_id": uuid4(),
                "part": "summaries",
                "state": "judged",
                **numbers,
                **sizes,
                **place,
                "judged_at": "2026-01-01T00:00:00+00:00",
                **fields,
            }
            for _ in range(count)
        ]
        record_reads(Scope(db, tenant_id), rows)


def report(client: TestClient, **query: Any) -> dict[str, Any]:
    """The one part of a report."""
    answer = client.get("/v1/shadow", params=query)
    assert answer.status_code == 200, answer.text
    (part,) = answer.json()["parts"]
    found: dict[str, Any] = part
    return found


def test_a_report_adds_the_record_up_and_says_what_to_do(client: TestClient, tenant_id: UUID) -> None:
    put_records(tenant_id, 199)
    few = report(client)
    assert few["verdict"] == "not enough reads: 199 of 200"
    put_records(tenant_id, 1, lost=2, session_id="s2")
    enough = report(client)
    assert (enough["reads"], enough["judged"], enough["sessions"]) == (200, 200, 2)
    assert (enough["served_tokens"], enough["would_be_tokens"]) == (200_000, 120_000)
    assert enough["saving"] == pytest.approx(0.4)
    assert (enough["facts"]["needed"], enough["facts"]["lost"]) == (400, 2)
    assert enough["facts"]["share"] == pytest.approx(0.005)
    assert enough["facts"]["low"] < 0.005 < enough["facts"]["high"]
    assert (enough["switch_on"], enough["verdict"]) == (True, "switch on")


def test_money_is_known_where_the_price_is_and_null_where_it_is_not(
    client: TestClient, tenant_id: UUID
) -> None:
    put_records(tenant_id, 2, model="nobodys/model-without-a-price")
    unknown = report(client)
    assert (unknown["saved_usd"], unknown["unpriced_reads"]) == (None, 2)
    with session.transaction() as db:
        set_override(Scope(db, tenant_id), ProfileOverride("gpt-4o", input_usd=Decimal("2.5")))
    put_records(tenant_id, 1)
    known = report(client)
    assert known["unpriced_reads"] == 2
    assert known["saved_usd"] == pytest.approx(400 * 2.5e-6)


def test_another_tenant_s_record_is_not_in_a_report(client: TestClient, tenant_id: UUID) -> None:
    put_records(tenant_id, 3)
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    headers = {"Authorization": f"Bearer {make_key(other)}"}
    assert client.get("/v1/shadow", headers=headers).json()["parts"] == []


def test_a_report_is_for_whoever_administers(client: TestClient, tenant_id: UUID) -> None:
    headers = {"Authorization": f"Bearer {make_key(tenant_id, 'read', 'write')}"}
    assert client.get("/v1/shadow", headers=headers).status_code == 403
    asked = {**ASKED, "messages": QUESTION, "facts": ["x"]}
    assert client.post("/v1/sessions/s1/shadow", json=asked, headers=headers).status_code == 403


@pytest.mark.parametrize(("days", "status"), [(0, 422), (1, 200), (400, 200), (401, 422)])
def test_a_report_looks_back_one_to_four_hundred_days(client: TestClient, days: int, status: int) -> None:
    assert client.get("/v1/shadow", params={"days": days}).status_code == status


def test_old_records_are_forgotten(client: TestClient, tenant_id: UUID) -> None:
    del client
    put_records(tenant_id, 2)
    with session.transaction() as db:
        assert forget_old_reads(db, keep=timedelta(days=1)) == 0
    with session.transaction() as db:
        assert forget_old_reads(db, keep=timedelta(0)) == 2
    assert records(tenant_id) == []


def test_a_probe_says_which_facts_a_window_holds_and_counts_them_as_planted(
    client: TestClient, tenant_id: UUID
) -> None:
    for number, planted in enumerate(PLANTED, 1):
        said = [
            {"role": "user", "content": planted.said},
            {"role": "assistant", "content": planted.answer},
        ]
        post_turn(client, "s1", {"turn_id": f"t{number}", "messages": said})
    with session.transaction() as db:
        notes = f"Keep {PLANTED[0].fact} and {PLANTED[1].fact}."
        assert store_summary(
            Scope(db, tenant_id), "s1", new_summary(20, notes, base=None, generation=1), activate=True
        )
    facts = [planted.fact for planted in PLANTED]
    asked = {**ASKED, "messages": QUESTION, "facts": [*facts, "nobody said this"]}
    answer = client.post("/v1/sessions/s1/shadow", json={**asked, "parts": ["summaries"]})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    # Two facts are in the notes, the last two in the raw turns after them, eight in neither.
    assert found["served"]["held"] == [True] * 12 + [False]
    assert found["would_be"]["summaries"]["held"] == [True] * 2 + [False] * 8 + [True] * 2 + [False]
    assert found["served"]["certificate"]["summary_covers"] is None
    assert found["would_be"]["summaries"]["certificate"]["summary_covers"] == [1, 20]
    told = report(client)
    assert (told["planted"], told["reads"]) == ({"needed": 12, "lost": 8}, 0)


def test_a_probe_of_a_session_that_there_is_not_is_not_found(client: TestClient) -> None:
    asked = {**ASKED, "messages": QUESTION, "facts": ["x"]}
    assert client.post("/v1/sessions/nobody/shadow", json=asked).status_code == 404


@pytest.mark.parametrize(("count", "status"), [(0, 422), (1, 200), (200, 200), (201, 422)])
def test_a_probe_asks_for_one_to_two_hundred_facts(client: TestClient, count: int, status: int) -> None:
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "welcome"}]
    post_turn(client, "s1", {"turn_id": "t1", "messages": said})
    asked = {**ASKED, "messages": QUESTION, "facts": ["x"] * count}
    assert client.post("/v1/sessions/s1/shadow", json=asked).status_code == status


class Through(httpx.BaseTransport):
    """Reaches an application in this process."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {"Authorization": request.headers["authorization"]}
        answer = self._client.request(
            request.method, request.url.path, content=request.content, headers=headers
        )
        return httpx.Response(answer.status_code, content=answer.content)


def test_planting_asks_for_every_fact_of_the_conversation(client: TestClient, tenant_id: UUID) -> None:
    def summarize(_pause_s: float) -> None:
        with session.transaction() as db:
            made = new_summary(48, f"Keep {PLANTED[0].fact}.", base=None, generation=1)
            assert store_summary(Scope(db, tenant_id), "planted", made, activate=True)

    key = client.headers["authorization"].partition(" ")[2]
    with Client("http://test", key, transport=Through(client)) as caller:
        probes = plant_and_probe(caller, session_id="planted", pause=summarize, wait_s=5)
    assert [probe.question for probe in probes] == [planted.question for planted in PLANTED]
    assert all(probe.served for probe in probes)
    # The notes of messages 1 to 48 keep one fact of the eight said there; four are raw after them.
    assert [probe.would["summaries"] for probe in probes] == [True] + [False] * 7 + [True] * 4
    assert probes[0].would_tokens["summaries"] < probes[0].served_tokens


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["shadow", *arguments, "--tenant", "first"], env={"COLUMNS": "240"})


def test_the_command_puts_parts_in_shadow_and_takes_them_out(client: TestClient, tenant_id: UUID) -> None:
    del client
    assert "in shadow: summaries, extracts" in run("on", "--part", "summaries", "--part", "extracts").output
    assert "in shadow: extracts" in run("off", "--part", "summaries").output
    shown = run("status").output
    assert "summaries  in use" in shown
    assert "extracts   in shadow" in shown
    assert "in shadow: nothing" in run("off").output
    with session.read_transaction() as db:
        assert find_switch(Scope(db, tenant_id), default=[ShadowPart.CATALOG]).parts == set()
    refused = run("on", "--part", "summary")
    assert refused.exit_code == 2


def test_the_command_reports_a_table_and_json(client: TestClient, tenant_id: UUID) -> None:
    del client
    assert "no reads in shadow" in run("report").output
    put_records(tenant_id, 3)
    table = run("report").output
    assert "0 of 6: 0.0%" in table
    assert "(0.0% to 39.0%)" in table
    assert "summaries: not enough reads: 3 of 200" in table
    (part,) = json.loads(run("report", "--json").output)
    assert (part["part"], part["saving"]) == ("summaries", pytest.approx(0.4))


def test_a_switch_is_known_to_the_api_after_its_cache(client: TestClient, tenant_id: UUID) -> None:
    switch(tenant_id, ShadowPart.CATALOG)
    assert client.get("/v1/shadow").json()["in_shadow"] == ["catalog"]
