"""The OpenAPI document: authentication of calls, and the common form of errors."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

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

_REFUSAL = {
    "description": "The call was refused, and nothing was changed.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
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
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = _REFUSAL
            if path.startswith(_SIGNED):
                operation["security"] = [{"key": []}]
    return document
