"""Calls about learned priors of catalogs, and about sets served to a share of sessions."""

from __future__ import annotations

from afterturn_client._caller import Call, Caller, Repeat
from afterturn_client._flow import Flow
from afterturn_client._paths import path_of, without_none
from afterturn_client.priors import CanaryShare, PriorSets, SetInForce


class PriorCalls:
    """Calls about sets of priors; changes need a key of the scope `admin`."""

    def __init__(self, caller: Caller) -> None:
        """Share the client's connections."""
        self._caller = caller

    def list(self, catalog: str) -> Flow[PriorSets]:
        """List a catalog's sets of priors, the newest first."""
        return (yield from self._caller.read(PriorSets, Call("GET", path_of("catalogs", catalog, "priors"))))

    def roll_back(self, catalog: str, version: int) -> Flow[SetInForce]:
        """Take the set in force out of use: the set before serves again, or words alone.

        Raises:
            ConflictError: Another version is in force; nothing was changed.
        """
        path = path_of("catalogs", catalog, "priors", "rollback")
        call = Call("POST", path, {"version": version}, repeat=Repeat.IF_UNSENT)
        return (yield from self._caller.read(SetInForce, call))

    def start_canary(
        self, catalog: str, version: int, *, share: float, days: int | None = None
    ) -> Flow[PriorSets]:
        """Serve a set to a share of sessions, until the outcomes of plans promote or drop it.

        Args:
            catalog: The catalog.
            version: A kept set that is not in force.
            share: Share of sessions, above 0 and below 1.
            days: Days after which the set is dropped without a verdict; None as the service is set.

        Returns:
            The set, with its canary.

        Raises:
            ConflictError: A canary runs already, or the set is in force.
        """
        body = without_none({"version": version, "share": share, "days": days})
        path = path_of("catalogs", catalog, "priors", "canary")
        return (yield from self._caller.read(PriorSets, Call("POST", path, body, repeat=Repeat.IF_UNSENT)))

    def stop_canary(self, catalog: str) -> Flow[SetInForce]:
        """Stop a catalog's canary: the set in force serves every session again."""
        path = path_of("catalogs", catalog, "priors", "canary")
        return (yield from self._caller.read(SetInForce, Call("DELETE", path, repeat=Repeat.IF_UNSENT)))

    def share(self) -> Flow[CanaryShare]:
        """Read the share of sessions to which a night's better set is served first."""
        return (yield from self._caller.read(CanaryShare, Call("GET", path_of("canary-share"))))

    def set_share(self, share: float | None) -> Flow[CanaryShare]:
        """Set the tenant's share for later nights: 0 for none, null for the installation's share."""
        return (
            yield from self._caller.read(CanaryShare, Call("PUT", path_of("canary-share"), {"share": share}))
        )
