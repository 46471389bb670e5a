"""The described answers of the API, and a comparison of a real answer with its description."""

import json
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from tests.data import ROOT

EXAMPLES: dict[str, Any] = json.loads((ROOT / "api/answers/examples.json").read_bytes())


def routes_of(routes: Any) -> Iterator[Any]:
    """Every route, also those of included routers."""
    for route in routes:
        if hasattr(route, "original_router"):
            yield from routes_of(route.original_router.routes)
        else:
            yield route


def answer_models(app: FastAPI) -> dict[str, type[BaseModel]]:
    """The shape of each operation's answer, by the operation's name."""
    return {
        route.operation_id: route.response_model
        for route in routes_of(app.routes)
        if getattr(route, "operation_id", None)
    }


def keys_lost(model: type[BaseModel], answer: Any) -> set[str]:
    """Names in an answer that its description does not know; fails where the answer has another shape."""
    read = model.model_validate(answer).model_dump(mode="json", by_alias=True, exclude_unset=True)
    return set(_paths(answer)) - set(_paths(read))


def _paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield f"{path}{name}"
            yield from _paths(member, f"{path}{name}.")
    elif isinstance(value, list):
        for member in value:
            yield from _paths(member, f"{path}[].")
