"""Rows of plans: read strictly, and written so that they read back the same."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.errors import InvalidInputError
from context.tool_plans.reported import COLUMNS, PlanRow, number_equals, read_cells, read_row, write_cells

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ROW: dict[str, Any] = {"intent": "play a song", "tools": ["find", "play"], "at": "2026-11-01T10:00:00Z"}

names = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=12)
ends = st.sampled_from(["ok", "error", None])
rows = st.lists(st.tuples(names, ends), min_size=1, max_size=5).flatmap(
    lambda steps: st.builds(
        PlanRow,
        intent=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip),
        tools=st.just(tuple(name for name, _ in steps)),
        outcomes=st.just(tuple(end for _, end in steps)),
        at=st.datetimes(datetime(1971, 1, 1), datetime(2026, 11, 1), timezones=st.just(UTC)),  # noqa: DTZ001
        catalog=st.sampled_from(["main", None]),
        user_id=st.sampled_from(["anna", None]),
        given_id=st.sampled_from(["a-1", None]),
    )
)


@given(rows)
def test_a_row_reads_back_as_it_was_written(row: PlanRow) -> None:
    assert read_row(row.as_json(), now=NOW) == row
    assert read_row(read_cells(dict(zip(COLUMNS, write_cells(row), strict=True))), now=NOW) == row


def test_one_word_is_the_outcome_of_all_tools_and_a_time_without_a_zone_is_utc() -> None:
    row = read_row({**ROW, "outcome": "ok", "at": "2026-11-01"}, now=NOW)
    assert row.outcomes == ("ok", "ok")
    assert row.at == datetime(2026, 11, 1, tzinfo=UTC)
    assert read_row(ROW, now=NOW).outcomes == (None, None)


def test_cells_name_tools_between_bars_or_in_json() -> None:
    cells = {"intent": "play", "tools": "find | play", "outcome": "ok|", "at": "2026-11-01", "catalog": ""}
    row = read_row(read_cells(cells), now=NOW)
    assert (row.tools, row.outcomes, row.catalog) == (("find", "play"), ("ok", None), None)
    again = read_row(read_cells({**cells, "tools": '["find", "a|b"]', "outcome": "error"}), now=NOW)
    assert (again.tools, again.outcomes) == (("find", "a|b"), ("error", "error"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"intent": " \0"}, "intent"),
        ({"intent": None}, "intent"),
        ({"intent": "x" * 100_001}, "intent"),
        ({"tools": []}, "tools"),
        ({"tools": "find"}, "tools"),
        ({"tools": ["a\nb"]}, "tools"),
        ({"tools": [7]}, "tools"),
        ({"tools": ["x" * 257]}, "tools"),
        ({"outcome": ["ok"]}, "outcome"),
        ({"outcome": "fine"}, "outcome"),
        ({"outcome": ["ok", {}]}, "outcome"),
        ({"at": None}, "at"),
        ({"at": 1_790_000_000}, "at"),
        ({"at": "yesterday"}, "at"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "at"),
        ({"at": (NOW + timedelta(days=2)).isoformat()}, "at"),
        ({"catalog": "a/b"}, "catalog"),
        ({"user_id": 5}, "user_id"),
        ({"id": ""}, "id"),
        ({"tool": "find"}, "tool"),
    ],
)
def test_a_bad_value_is_named_by_its_field_and_not_quoted(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_row({**ROW, **change}, now=NOW)
    assert error.value.field == field
    assert "yesterday" not in error.value.message


@pytest.mark.parametrize("value", [None, [], "row", 1])
def test_a_row_is_an_object(value: object) -> None:
    with pytest.raises(InvalidInputError):
        read_row(value, now=NOW)


@pytest.mark.parametrize("cell", ["[", "[1", '[{"a"'])
def test_a_cell_that_begins_as_a_list_must_be_one(cell: str) -> None:
    with pytest.raises(InvalidInputError):
        read_cells({"tools": cell})


def test_equal_rows_are_numbered_and_rows_with_an_id_are_not() -> None:
    one, other = read_row(ROW, now=NOW), read_row({**ROW, "outcome": "ok"}, now=NOW)
    named = read_row({**ROW, "id": "a"}, now=NOW)
    assert number_equals([one, other, one, named, named, one]) == [0, 0, 1, 0, 0, 2]
