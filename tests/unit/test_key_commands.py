"""Times of commands that no calendar holds are refused in words, before anything is asked of a database."""

import pytest
from typer.testing import CliRunner

from afterturn.__main__ import app


@pytest.mark.parametrize(
    "given",
    [
        ("keys", "create", "x", "--days"),
        ("keys", "rotate", "000000000000", "--days"),
        ("keys", "rotate", "000000000000", "--grace-hours"),
    ],
)
@pytest.mark.parametrize("number", ["1e9", "inf", "nan", "-1"])
def test_a_time_beyond_the_calendar_is_refused_in_words(given: tuple[str, ...], number: str) -> None:
    result = CliRunner().invoke(app, [*given, number], env={"COLUMNS": "200"})
    assert (result.exit_code, f"Invalid value for '{given[-1]}'" in result.output) == (2, True)


def test_days_of_a_replay_end_with_the_calendar() -> None:
    result = CliRunner().invoke(app, ["preflight", "replay", "--days", "999999999"], env={"COLUMNS": "200"})
    assert (result.exit_code, "Invalid value for '--days'" in result.output) == (2, True)
