"""Calls about API keys."""

from __future__ import annotations

from collections.abc import Sequence

from afterturn_client._caller import Call, Caller, Repeat
from afterturn_client._flow import Flow
from afterturn_client._paths import path_of, without_none
from afterturn_client.models import Key, KeyPage, NewKey


class KeyCalls:
    """Calls about the tenant's keys; the client's own key needs the scope `admin`."""

    def __init__(self, caller: Caller) -> None:
        """Share the client's connections."""
        self._caller = caller

    def create(
        self, label: str, *, scopes: Sequence[str] | None = None, days: int | None = None
    ) -> Flow[NewKey]:
        """Make a key. It is shown once; after a failure without a known outcome, list the keys.

        Args:
            label: The purpose of the key.
            scopes: `read`, `write` and `admin`; None for all of the client's own key.
            days: Days after which the key is refused; None for as long as the client's own key.
        """
        body = without_none({"label": label, "scopes": scopes, "days": days})
        call = Call("POST", path_of("keys"), body, repeat=Repeat.IF_UNSENT)
        return (yield from self._caller.read(NewKey, call))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Flow[KeyPage]:
        """List keys by id, without secrets: a page, and the cursor of the next."""
        path = path_of("keys", limit=limit, cursor=cursor)
        return (yield from self._caller.read(KeyPage, Call("GET", path)))

    def revoke(self, key_id: str) -> Flow[Key]:
        """Refuse a key from now on."""
        return (yield from self._caller.read(Key, Call("DELETE", path_of("keys", key_id))))
