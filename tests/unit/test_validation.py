"""What a schema complains about is told in our words: the field, the limit, never the value or a class."""

from typing import Any

import pytest
from pydantic import ValidationError

from api.intake import TurnCompleted
from api.mcp.arguments import FindArguments
from api.preflight_calls import PreflightRequest
from api.validation import validation_error
from api.window.request import ContextRequest

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
