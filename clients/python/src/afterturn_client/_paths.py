"""Paths and bodies of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from afterturn_client.streams.answer import Json


def path_of(*parts: str, **query: Any) -> str:
    """Write a path of the API; ids may hold any character."""
    path = "/v1/" + "/".join(quote(part, safe="") for part in parts)
    given = {name.rstrip("_"): value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def without_none(body: Mapping[str, Any]) -> Json:
    """Leave out members that the caller did not set."""
    return {name: value for name, value in body.items() if value is not None}
