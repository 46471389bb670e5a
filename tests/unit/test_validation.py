"""What a schema complains about is told in our words: the field, the limit, never the value or a class."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

import api.app  # noqa: F401 (with all bodies of requests)
from api.context.request import ContextRequest
from api.http.call import Body, Parameters
from api.http.errors import validation_error
from api.mcp.tools import FindArguments
from api.preflight.routes import PreflightRequest
from api.turns.intake import TurnCompleted

TURN: dict[str, Any] = {"turn_id": "t1", "messages": [{"role": "user", "content": "x"}]}
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}

COMPLAINTS: dict[str, tuple[type[Any], Any, str, object]] = {
    "an array": (TurnCompleted, [], "body: must be an object", None),
    "no model": (ContextRequest, {"messages": [{}]}, "model: is missing", None),
    "no messages": (TurnCompleted, TURN | {"messages": []}, "messages: must not be empty", 1),
    "messages in an object": (TurnCompleted, TURN | {"messages": {}}, "messages: must be a list", None),
    "a message that is text": (
        TurnCompleted,
        TURN | {"messages": ["x"]},
        "messages[0]: must be an object",
        None,
    ),
    "a field that is called as a place is": (
        FindArguments,
        {"catalog": "main"},
        "query: is missing",
        None,
    ),
    "an unknown field that is called so": (
        TurnCompleted,
        TURN | {"path": 1},
        "path: is not a known field; remove it",
        None,
    ),
    "an unknown field": (TurnCompleted, TURN | {"hue": 1}, "hue: is not a known field; remove it", None),
    "a number for an id": (TurnCompleted, TURN | {"turn_id": 5}, "turn_id: must be a string", None),
    "words for a number": (
        ContextRequest,
        ASKED | {"context_window": "128k"},
        "context_window: must be a whole number",
        None,
    ),
    "true for a number": (
        ContextRequest,
        ASKED | {"budget": True},
        "budget: must be a whole number",
        None,
    ),
    "half a token": (ContextRequest, ASKED | {"max_tokens": 1.5}, "max_tokens: must be a whole number", None),
    "too large": (
        ContextRequest,
        ASKED | {"context_window": 10**9},
        "context_window: must be at most 100000000",
        100_000_000,
    ),
    "negative": (ContextRequest, ASKED | {"wait_ms": -1}, "wait_ms: must be at least 0", 0),
    "too long": (
        TurnCompleted,
        TURN | {"speaker": "s" * 201},
        "speaker: is too long: at most 200 characters",
        200,
    ),
    "empty": (ContextRequest, ASKED | {"model": ""}, "model: must not be empty", 1),
    "another format": (
        ContextRequest,
        ASKED | {"wire": "smoke"},
        "wire: is unknown; allowed: 'openai', 'anthropic' or 'responses'",
        None,
    ),
    "no zone": (
        TurnCompleted,
        TURN | {"completed_at": "2026-01-01T00:00:00"},
        "completed_at: has no zone; write it as 2026-01-31T12:00:00Z",
        None,
    ),
    "neither of two kinds": (
        PreflightRequest,
        {"message": "hello", "tools": ["read", 3]},
        "tools[1]: must be a string or an object",
        None,
    ),
    "neither of two fields": (
        ContextRequest,
        ASKED | {"attachments": [{}]},
        "attachments[0]: send attachment_id or content, and not both",
        None,
    ),
    "no time": (
        TurnCompleted,
        TURN | {"completed_at": "yesterday"},
        "completed_at: must be a date and time with a zone, such as 2026-01-31T12:00:00Z",
        None,
    ),
}


@pytest.mark.parametrize("case", COMPLAINTS)
def test_a_complaint_names_the_field_and_the_limit(case: str) -> None:
    model, value, said, limit = COMPLAINTS[case]
    with pytest.raises(ValidationError) as caught:
        model.model_validate(value)
    found = validation_error(caught.value)
    assert found.message == said
    assert found.numbers.get("limit") == limit


def numbers() -> list[tuple[type[Body], str]]:
    """Every field of every body and of every tool of agents that takes a number."""
    return [
        (model, field.alias or name)
        for model in every_body(Body)
        for name, field in model.model_fields.items()
        if re.search(r"\b(int|float)\b", str(field.annotation)) and "bool" not in str(field.annotation)
    ]


def every_body(model: type[Body]) -> list[type[Body]]:
    """All bodies of requests."""
    return [model, *(each for one in model.__subclasses__() for each in every_body(one))]


@pytest.mark.parametrize("value", [True, False, [True], "50", "1.0", ""])
@pytest.mark.parametrize(("model", "name"), numbers(), ids=str)
def test_a_number_is_a_number_everywhere(model: type[Body], name: str, value: object) -> None:
    if value == "50" and issubclass(model, Parameters):
        assert 50 in vars(model.model_validate({name: value})).values()  # an address has texts alone
        return
    with pytest.raises(ValidationError) as refused:
        model.model_validate({name: value})
    assert any(complaint["loc"][:1] == (name,) for complaint in refused.value.errors())


def test_the_fields_that_take_numbers_are_found() -> None:
    found = {name for _, name in numbers()}
    assert {"context_window", "max_tokens", "budget", "wait_ms", "top_n", "observed_limit", "order"} <= found
