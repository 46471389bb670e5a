"""What agents are told of failures: the slug and the sentence, and nothing of what broke inside."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from structlog.testing import capture_logs

from api.http.errors import ProblemError
from api.mcp.server import as_problem, in_words
from context.errors import FixedPartOverBudgetError, InvalidInputError

SECRET = "what they said"


def test_a_problem_keeps_its_slug_its_status_and_its_numbers() -> None:
    error = FixedPartOverBudgetError(parts={"tools": 70, "message": 50}, budget_tokens=100)
    problem = as_problem(error, call="read_context")
    assert (problem["type"], problem["status"], problem["over_by"]) == ("context-over-budget", 422, 20)


@pytest.mark.parametrize(
    "error", [OperationalError(SECRET, None, Exception(SECRET)), PoolTimeoutError(SECRET)]
)
def test_a_database_that_is_away_is_named_so_that_agents_try_again(error: Exception) -> None:
    with capture_logs() as logged:
        problem = as_problem(error, call="find_tools")
    assert (problem["type"], problem["status"]) == ("unavailable", 503)
    assert SECRET not in f"{problem}{logged}"


@pytest.mark.parametrize("error", [KeyError(SECRET), ProgrammingError(SECRET, None, ValueError(SECRET))])
def test_a_fault_is_logged_by_its_kind_and_told_without_it(error: Exception) -> None:
    with capture_logs() as logged:
        problem = as_problem(error, call="find_tools")
    assert (problem["type"], problem["status"]) == ("internal-error", 500)
    [event] = logged
    assert (event["event"], event["call"]) == ("request_failed", "find_tools")
    assert SECRET not in f"{problem}{logged}"


def test_an_error_without_numbers_is_one_sentence() -> None:
    assert in_words(as_problem(ProblemError("not-found", "there is no such plan"), call="x")) == (
        "not-found: there is no such plan"
    )


@given(st.dictionaries(st.sampled_from(["limit", "parts", "over_by"]), st.integers(), min_size=1))
def test_numbers_stand_behind_the_sentence_as_json(numbers: dict[str, int]) -> None:
    words = in_words(as_problem(InvalidInputError("intent", "is missing", **numbers), call="x"))
    sentence, _, written = words.partition(" {")
    assert sentence == "invalid-input: intent: is missing"
    assert json.loads("{" + written) == {"field": "intent", **numbers}
