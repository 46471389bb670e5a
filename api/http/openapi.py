"""The OpenAPI document: authentication of calls, and the common form of errors."""

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

API_VERSION = "1.0"
"""Version of the calls: an incompatible change raises the first number, an addition the second."""

PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "An RFC 9457 problem document; numbers and the name of the field stand beside these.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "A stable slug."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, in a sentence."},
        "field": {"type": "string", "description": "Which field, where it is one."},
        "limit": {"type": "integer", "description": "The limit that was passed, where it was one."},
    },
}
KEY = {"type": "http", "scheme": "bearer", "description": "A key that `afterturn keys create` printed."}

_EXAMPLES = Path(__file__).parent.parent / "answers" / "examples.json"
_HEADERS = {
    "X-Request-Id": {
        "description": "The name of the request in traces and logs; sent by the caller, or made here.",
        "schema": {"type": "string"},
    },
    "X-Trace-Id": {
        "description": "The id of the request's trace; where traces are on, and this one is sent.",
        "schema": {"type": "string"},
    },
    "Server-Timing": {
        "description": "How long the server took, in milliseconds.",
        "schema": {"type": "string"},
    },
}
_RETRY = {
    "Retry-After": {
        "description": "Seconds after which the call may be sent again; where sending again helps.",
        "schema": {"type": "integer"},
    }
}
_REFUSAL = {
    "description": "The call was refused, and nothing was changed.",
    "headers": {**_HEADERS, **_RETRY},
    "content": {
        "application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "example": {
                "field": "session_id",
                "type": "invalid-input",
                "title": "Invalid input",
                "status": 422,
                "detail": "session_id: must have 1 to 200 characters",
            },
        }
    },
}
_SIGNED = "/v1/"
_OF_THE_FRAMEWORK = ("HTTPValidationError", "ValidationError")


def describe_calls(app: FastAPI) -> dict[str, Any]:
    """Write the OpenAPI document of an application.

    Args:
        app: The application with all routes.

    Returns:
        The document; the framework's own error form is replaced by the problem document.
    """
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    parts = document.setdefault("components", {})
    schemas = {**parts.get("schemas", {}), "Problem": PROBLEM}
    parts["schemas"] = {name: schemas[name] for name in schemas if name not in _OF_THE_FRAMEWORK}
    parts["securitySchemes"] = {"key": KEY}
    examples = json.loads(_EXAMPLES.read_bytes())
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            for answer in operation["responses"].values():
                answer["headers"] = _HEADERS
                for content in answer.get("content", {}).values():
                    content.pop("itemSchema", None)  # of a later version of OpenAPI than the document's
                    content["example"] = examples[operation["operationId"]]
            operation["responses"]["default"] = _REFUSAL
            if path.startswith(_SIGNED):
                operation["security"] = [{"key": []}]
    return document
