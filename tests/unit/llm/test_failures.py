"""Typed failures: what happened, what to do, how long to wait."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.failures import MAX_RETRY_AFTER_S, Cause, FailureKind, LlmFailure, failure_of, parse_retry_after

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)


class HttpError(Exception):
    """An SDK's error: a text and a status."""

    def __init__(self, text: str, status_code: int) -> None:
        super().__init__(text)
        self.status_code = status_code


class ContextWindowExceededError(HttpError):
    pass


def cause_of(error: BaseException, on_wire: int | None = None) -> Cause:
    return failure_of(error, status_on_wire=on_wire, secrets=[]).cause


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_one_kind(cause: Cause) -> None:
    assert LlmFailure(cause).kind in FailureKind


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (400, Cause.INVALID_REQUEST),
        (401, Cause.AUTH),
        (402, Cause.BILLING),
        (403, Cause.AUTH),
        (404, Cause.MISSING_MODEL),
        (408, Cause.TIMEOUT),
        (413, Cause.CONTEXT_LENGTH),
        (422, Cause.INVALID_REQUEST),
        (429, Cause.RATE_LIMIT),
        (500, Cause.SERVER),
        (502, Cause.SERVER),
        (529, Cause.SERVER),
    ],
)
def test_a_status_that_arrived_names_the_cause(status: int, cause: Cause) -> None:
    assert cause_of(HttpError("no words", status), on_wire=status) is cause


def test_what_is_said_of_an_answer_that_could_not_be_read_does_not_repeat_it() -> None:
    error = HttpError("invalid response from the endpoint. Received: 'Zanzibar'", 500)
    failure = failure_of(error, status_on_wire=200, secrets=[])
    assert failure.cause is Cause.BAD_RESPONSE
    assert failure.detail == "HttpError"


def test_a_500_that_never_arrived_was_a_broken_connection() -> None:
    assert cause_of(HttpError("Connection error.", 500)) is Cause.CONNECTION


def test_a_500_made_of_a_200_was_a_broken_answer() -> None:
    assert cause_of(HttpError("Unterminated string", 500), on_wire=200) is Cause.BAD_RESPONSE


def test_an_error_that_nobody_planned_counts_as_a_broken_connection() -> None:
    assert cause_of(AttributeError("'NoneType' object has no attribute 'x'")) is Cause.CONNECTION


def test_a_lone_surrogate_is_the_requests_own_fault() -> None:
    with pytest.raises(UnicodeEncodeError) as raised:
        "\ud800".encode()
    assert cause_of(raised.value) is Cause.INVALID_REQUEST


def test_an_overflow_tells_the_real_window() -> None:
    error = HttpError("This model's maximum context length is 8192 tokens, you sent 9001", 400)
    assert failure_of(error, status_on_wire=400, secrets=[]).limit_tokens == 8192


def test_the_class_tells_an_overflow_from_another_400() -> None:
    assert cause_of(ContextWindowExceededError("too long", 400)) is Cause.CONTEXT_LENGTH


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size",
    ],
)
def test_an_overflow_is_known_by_its_words_too(text: str) -> None:
    assert cause_of(HttpError(text, 400), on_wire=400) is Cause.CONTEXT_LENGTH


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("You exceeded your current quota, please check your plan", 429),
        ("Your credit balance is too low to access the API", 400),
        ("Insufficient Balance", 402),
    ],
)
def test_an_empty_account_is_not_a_rate_limit(text: str, status: int) -> None:
    assert cause_of(HttpError(text, status), on_wire=status) is Cause.BILLING


@pytest.mark.parametrize("cause", [Cause.AUTH, Cause.MISSING_MODEL, Cause.BILLING])
def test_what_only_an_operator_can_mend_parks_the_model(cause: Cause) -> None:
    failure = LlmFailure(cause)
    assert failure.parks
    assert not failure.retryable


@pytest.mark.parametrize("cause", [Cause.RATE_LIMIT, Cause.SERVER, Cause.CONNECTION, Cause.TIMEOUT])
def test_trouble_of_the_provider_is_worth_waiting_for(cause: Cause) -> None:
    failure = LlmFailure(cause)
    assert failure.retryable
    assert failure.transient


@pytest.mark.parametrize(
    "cause", [Cause.NO_CONTENT, Cause.NO_CHOICES, Cause.OUTPUT_CAP, Cause.CONTENT_FILTER]
)
def test_an_answer_that_was_paid_for_is_not_asked_for_without_end(cause: Cause) -> None:
    failure = LlmFailure(cause)
    assert not failure.retryable
    assert not failure.transient


def test_seconds_are_read() -> None:
    assert parse_retry_after({"retry-after": "17"}, now=NOW) == 17


def test_milliseconds_win_over_seconds() -> None:
    assert parse_retry_after({"retry-after-ms": "250", "retry-after": "17"}, now=NOW) == 0.25


def test_a_date_is_read() -> None:
    later = format_datetime(NOW + timedelta(seconds=90), usegmt=True)
    assert parse_retry_after({"retry-after": later}, now=NOW) == 90


def test_a_date_that_is_over_means_now() -> None:
    earlier = format_datetime(NOW - timedelta(days=1), usegmt=True)
    assert parse_retry_after({"retry-after": earlier}, now=NOW) == 0


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "x"]), st.text(max_size=40)))
def test_a_wait_is_none_or_within_an_hour(headers: dict[str, str]) -> None:
    seconds = parse_retry_after(headers, now=NOW)
    assert seconds is None or 0 <= seconds <= MAX_RETRY_AFTER_S


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "soon", ""])
def test_a_wait_that_is_no_time_is_no_wait(value: str) -> None:
    assert parse_retry_after({"retry-after": value, "retry-after-ms": value}, now=NOW) in (
        None,
        MAX_RETRY_AFTER_S,
        0,
    )
