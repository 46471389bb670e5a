"""One model after another: the refusal that is raised is the one that waits least."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from context.errors import AfterturnError
from llm.failures import Cause, LlmFailure
from llm.gateway import first_answer
from models.ledger.caps import BudgetDeniedError, Denial
from models.providers.circuit_breaker import ProviderPacedError, ProviderParkedError

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)
PARK_S = 900.0


def parked(seconds: float) -> ProviderParkedError:
    return ProviderParkedError("m", until=NOW + timedelta(seconds=seconds), reason="why", now=NOW)


def paced(seconds: float) -> ProviderPacedError:
    return ProviderPacedError("m", until=NOW + timedelta(seconds=seconds), reason="why", now=NOW)


def denied() -> BudgetDeniedError:
    return BudgetDeniedError(Denial("tenant", "usd", Decimal(9), Decimal(2), Decimal(10)), now=NOW)


def limited() -> LlmFailure:
    return LlmFailure(Cause.RATE_LIMIT, retry_after_s=5)


def asked(answers: Mapping[str, AfterturnError | str]) -> tuple[list[str], str | AfterturnError]:
    """Which models were asked, and what came of it."""
    tried: list[str] = []

    def ask(model: str) -> str:
        tried.append(model)
        answer = answers[model]
        if isinstance(answer, AfterturnError):
            raise answer
        return answer

    try:
        return tried, first_answer(list(answers), ask, park_s=PARK_S)
    except AfterturnError as error:
        return tried, error


@pytest.mark.parametrize(
    "fallback",
    [parked(800), denied(), paced(50), LlmFailure(Cause.AUTH), LlmFailure(Cause.INVALID_REQUEST)],
    ids=["parked", "over a cap", "paced", "bad key", "cannot read the question"],
)
def test_a_fallback_that_cannot_help_does_not_make_work_wait_longer_than_the_model(
    fallback: AfterturnError,
) -> None:
    first = limited()
    assert asked({"first": first, "second": fallback}) == (["first", "second"], first)


def test_of_two_parked_models_the_one_that_is_back_first_is_waited_for() -> None:
    soon = parked(10)
    assert asked({"first": soon, "second": parked(900)})[1] is soon
    assert asked({"first": parked(900), "second": soon})[1] is soon


def test_a_question_that_a_fallback_cannot_read_is_not_held_against_work_whose_model_is_parked() -> None:
    waits = parked(900)
    assert asked({"first": waits, "second": LlmFailure(Cause.INVALID_REQUEST)})[1] is waits


def test_a_question_that_no_model_can_read_is_at_fault() -> None:
    last = LlmFailure(Cause.INVALID_REQUEST)
    assert asked({"first": LlmFailure(Cause.INVALID_REQUEST), "second": last})[1] is last


def test_over_a_cap_no_cheaper_model_is_asked_instead() -> None:
    refused = denied()
    assert asked({"first": refused, "second": "an answer"}) == (["first"], refused)


def test_a_fallback_over_a_cap_is_passed_over_for_one_that_is_not() -> None:
    answers: dict[str, AfterturnError | str] = {"first": limited(), "second": denied(), "third": "an answer"}
    assert asked(answers) == (["first", "second", "third"], "an answer")


def test_an_answer_that_cannot_be_used_ends_the_asking() -> None:
    empty = LlmFailure(Cause.NO_CONTENT)
    assert asked({"first": empty, "second": "an answer"}) == (["first"], empty)


def named(model: str, seconds: float) -> ProviderParkedError:
    return ProviderParkedError(model, until=NOW + timedelta(seconds=seconds), reason="why", now=NOW)


def bad_key(model: str) -> LlmFailure:
    failure = LlmFailure(Cause.AUTH)
    failure.model = model
    return failure


@pytest.mark.parametrize(
    ("first", "second", "gates"),
    [
        (named("first", 900), named("second", 10), ("first", "second")),
        (bad_key("first"), named("second", 10), ("first", "second")),
        (named("first", 900), LlmFailure(Cause.INVALID_REQUEST), ("first",)),
        (named("first", 900), paced(5), ()),
    ],
    ids=[
        "both parked",
        "a bad key just now",
        "a fallback that cannot read the question",
        "a place in a line",
    ],
)
def test_work_waits_for_every_gate_that_stands_in_its_way(
    first: AfterturnError, second: AfterturnError, gates: tuple[str, ...]
) -> None:
    refusal = asked({"first": first, "second": second})[1]
    assert isinstance(refusal, ProviderParkedError)
    assert refusal.gates == gates
