"""A call through this door, as the endpoints of the HTTP API see it."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.types import Scope

from api.call import Call
from api.encoding import encode
from context.types import JsonObject

_LATER = "afterturn.later"


async def finish(scope: Scope) -> None:
    """Do what the endpoints left for the time after the answer."""
    for task in scope.get(_LATER, ()):
        await task()


class Visit:
    """Who asks; every endpoint checks the key by itself, as ever."""

    def __init__(self, request: Request) -> None:
        """Take the HTTP request that brought the call."""
        self._request = request

    def call(self, body: JsonObject | None = None) -> Call:
        """A call of an endpoint with this body."""
        return Call(self._request, b"" if body is None else encode(body))

    def leave(self, task: BackgroundTask) -> None:
        """Leave something to be done once the answer is sent."""
        self._request.scope.setdefault(_LATER, []).append(task)

    def read(self, path: str, query: Mapping[str, object]) -> Request:
        """A GET of a path; what is None is not in its query."""
        named = {name: value for name, value in query.items() if value is not None}
        place = {"method": "GET", "path": path, "query_string": urlencode(named).encode()}
        return Request({**self._request.scope, **place})
