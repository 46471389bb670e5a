"""The caller of a call of the protocol, as endpoints take it."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.types import Scope

from api.http.call import Call
from api.http.values import encode
from context.types import JsonObject

_LATER = "afterturn.later"


async def finish(scope: Scope) -> None:
    """Run the endpoints' background tasks after the answer."""
    for task in scope.get(_LATER, ()):
        await task()


class Visit:
    """The caller of an MCP request; every endpoint checks the key itself."""

    def __init__(self, request: Request) -> None:
        """Take the HTTP request of the call."""
        self._request = request

    def call(self, body: JsonObject | None = None, *, was_cleaned: bool = False) -> Call:
        """Make an endpoint call with a given body, whose text was perhaps changed on entry."""
        return Call(self._request, b"" if body is None else encode(body), was_cleaned=was_cleaned)

    def leave(self, task: BackgroundTask) -> None:
        """Leave something to be done once the answer is sent."""
        self._request.scope.setdefault(_LATER, []).append(task)

    def read(self, path: str, query: Mapping[str, object]) -> Request:
        """Make a GET request of a path; None values are left out of the query."""
        named = {name: value for name, value in query.items() if value is not None}
        place = {"method": "GET", "path": path, "query_string": urlencode(named).encode()}
        return Request({**self._request.scope, **place})
