"""Rows that change all the time are changed in place: no index grows with them."""

from fastapi.testclient import TestClient
from sqlalchemy import text

from models import session
from tests.integration.summarizing import dialogue
from tests.waiting import wait_until

TURNS = 60


def updates(table: str) -> tuple[int, int]:
    """All updates of a table so far, and those that left every index alone."""
    with session.reading() as db:
        db.execute(text("select pg_stat_clear_snapshot()"))
        found = db.execute(
            text("select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = :table"),
            {"table": table},
        ).one()
    return found.n_tup_upd, found.n_tup_hot_upd


def test_a_turn_changes_its_session_in_place(client: TestClient) -> None:
    before = updates("session")
    for number in range(TURNS):
        turn = {"turn_id": f"t{number}", "messages": dialogue(number)}
        assert client.post(f"/v1/sessions/busy-{number % 3}/turns", json=turn).status_code == 202
    wait_until(lambda: updates("session")[0] - before[0] >= TURNS, within_s=30, what="the counts are told")
    changed, in_place = (now - then for now, then in zip(updates("session"), before, strict=True))
    assert in_place >= 0.8 * changed
