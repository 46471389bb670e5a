"""A statement run by the driver alone answers what the layers above would have answered."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import ARRAY, Integer, Text, bindparam, column, func, literal_column, select, text
from sqlalchemy.dialects.postgresql import INT8MULTIRANGE, INT8RANGE
from sqlalchemy.exc import DataError

from models.base import read_rows
from models.database import read_transaction
from models.driver_statement import DriverStatement
from models.read_ahead import QUERY
from tests.integration.summarizing import SESSION

QUERIES = {
    "a list and a value": select(func.generate_series(1, 4).column_valued("n")).where(
        column("n").in_([2, 3, bindparam("more", 0)])
    ),
    "a parameter in two places": select(
        bindparam("twice", type_=Integer).label("one"), (bindparam("twice", type_=Integer) + 1).label("two")
    ),
    "a sign of percent": select(literal_column("'7 %'"), literal_column("7 % 4"), bindparam("p", type_=Text)),
    "ranges": select(
        literal_column("int8multirange(int8range(2, 5), int8range(9, null))", INT8MULTIRANGE),
        literal_column("'{}'::int8multirange", INT8MULTIRANGE),
        literal_column("int8range(null, 7)", INT8RANGE),
        literal_column("null", INT8RANGE),
    ),
    "lists, times and nothing": select(
        bindparam("names", type_=ARRAY(Text)),
        literal_column("timestamptz '2026-01-02 03:04:05+00'") - timedelta(hours=3),
        literal_column("null::int"),
        literal_column("1.5::float8"),
    ),
}
VALUES: dict[str, Any] = {"more": 4, "twice": 20, "p": "%(p)s :p $1", "names": ["a", "%s", "ö"]}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_the_driver_reads_the_same_rows(query: Any) -> None:
    asked = {name: value for name, value in VALUES.items() if name in query.compile().binds}
    with read_transaction() as db:
        found = DriverStatement.of(query).rows(db, asked)
        assert found == [tuple(row) for row in db.execute(query, asked)]
    assert found


def test_a_session_with_removed_messages_reads_ahead_the_same(client: TestClient, tenant_id: UUID) -> None:
    for number in range(4):
        said = [{"role": role, "content": f"{role} {number}"} for role in ("user", "assistant")]
        sent = client.post(f"/v1/sessions/{SESSION}/turns", json={"turn_id": f"t{number}", "messages": said})
        assert sent.status_code == 202, sent.text
    assert client.delete(f"/v1/sessions/{SESSION}/messages/3").is_success
    asked = {
        "tenant_id": tenant_id,
        "session_id": SESSION,
        "limit_model": "gpt-4o",
        "limit_ids": ["gpt-4o"],
        "focus_keys": [],
        "question_keys": [],
        "message_tokens": 1e4,
        "least_messages": 1,
        "most_messages": 50,
        "newest_uses": 5,
        "least_turns": None,
        "step_messages": None,
    }
    with read_transaction() as db:
        [ours] = DriverStatement.of(QUERY).rows(db, asked)
        theirs = db.execute(QUERY, asked).one()
    names = theirs._fields
    by_clock = ("now", "coalesce")
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert one == other or name.startswith(by_clock), name
    assert dict(zip(names, ours, strict=True))["removed_seqs"]
    assert len(read_rows(ours[-2])) == len(read_rows(theirs[-2])) > 0


@pytest.mark.usefixtures("engine")
def test_a_statement_without_rows_gives_none_and_a_wrong_one_the_usual_error() -> None:
    with read_transaction() as db:
        assert (
            DriverStatement("update tenant set name = name where name = :name").rows(db, {"name": "?"}) == []
        )
        with pytest.raises(DataError):
            DriverStatement("select cast(:said as int)").rows(db, {"said": "no number"})
        assert db.execute(text("select 1")).scalar_one() == 1
