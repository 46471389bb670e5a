"""Check of a call's body before the protocol's code: exactly a single message."""

import json
from collections.abc import Mapping
from typing import TypeGuard

import pydantic_core
from fastapi import Response

_VERSION = "2.0"
_INVALID_REQUEST = -32600
"""Protocol error code for JSON without a valid message."""


def refusal(raw: bytes) -> Response | None:
    """Refuse JSON other than a single message, without repeating any of the body.

    Args:
        raw: A body.

    Returns:
        A protocol error; None for a message, and for invalid JSON: the protocol reports the position.
    """
    try:
        message = pydantic_core.from_json(raw)  # as the protocol's own code reads it
    except ValueError:
        return None
    fault = fault_of(message)
    if fault is None:
        return None
    told = {"jsonrpc": _VERSION, "id": _id_of(message), "error": {"code": _INVALID_REQUEST, "message": fault}}
    return Response(json.dumps(told), 400, media_type="application/json")


def fault_of(message: object) -> str | None:
    """Explain the fault of a JSON-RPC message, with the expected form; None for a valid message."""
    if isinstance(message, list):
        return "body: a list of messages is not taken; send each by a POST of its own"
    if not isinstance(message, Mapping):
        return "body: must be an object: a message of JSON-RPC 2.0"
    if message.get("jsonrpc") != _VERSION:
        return f'jsonrpc: must be "{_VERSION}"'
    if "method" in message:
        return _fault_of_request(message)
    if "result" in message or "error" in message:
        return _fault_of_answer(message)
    return 'method: is missing; name one, such as "tools/list"'


def _fault_of_request(message: Mapping[str, object]) -> str | None:
    if not isinstance(message["method"], str):
        return "method: must be a string"
    if "id" in message and _id_of(message) is None:
        return "id: must be a string or a whole number; leave it out where no answer is wanted"
    if not isinstance(message.get("params"), Mapping | None):
        return "params: must be an object"
    return None


def _fault_of_answer(message: Mapping[str, object]) -> str | None:
    if "error" not in message:
        if _id_of(message) is None:
            return "id: must be that of the request that is answered"
        return None if isinstance(message["result"], Mapping) else "result: must be an object"
    if "id" not in message or (_id_of(message) is None and message["id"] is not None):
        return "id: must be that of the request that is answered, or null"
    error = message["error"]
    is_told = (
        isinstance(error, Mapping) and _is_whole(error.get("code")) and isinstance(error.get("message"), str)
    )
    return None if is_told else "error: must be an object with a whole number as `code` and a `message`"


def _id_of(message: object) -> str | int | None:
    found = message.get("id") if isinstance(message, Mapping) else None
    return found if isinstance(found, str) or _is_whole(found) else None


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
