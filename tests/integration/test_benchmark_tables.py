"""What the benchmarks read of the tables is there, and counts what is there."""

import httpx
import psycopg
from sqlalchemy import Engine

from benchmarks.economy.background import Background, look
from benchmarks.served.door import Door


def test_a_stack_where_nothing_happened_is_at_rest_and_spent_nothing(empty_db: Engine) -> None:
    url = empty_db.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with httpx.Client() as http:
        with psycopg.connect(url, autocommit=True) as database:
            found = look(database, "nobody", 0)
        door = Door(http, url)
        door.rest([], 5.0)
    assert found.spent == Background().spent
    assert set(found.made.values()) == {0}
    assert door.failures == []
