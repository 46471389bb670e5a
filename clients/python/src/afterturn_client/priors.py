"""Answers about sets of priors, and about sets served to a share of sessions."""

from __future__ import annotations

from datetime import datetime

from afterturn_client.models import ApiAnswer


class CanaryOutcomes(ApiAnswer):
    """Outcomes of the plans that one set ranked: sessions, plans, and plans without a failed step."""

    sessions: int
    plans: int
    well: int


class Canary(ApiAnswer):
    """A set served to a share of sessions, beside the set in force.

    Attributes:
        share: Share of sessions.
        base: The set in force beside it; None for words alone.
        since: Its start.
        until: The last moment at which it serves.
        end: `promoted` or `dropped` by outcomes; None while it runs, and after an end by hand.
        new: Outcomes under the set.
        in_force: Outcomes under the set in force.
    """

    share: float
    base: int | None
    since: datetime
    until: datetime
    end: str | None
    new: CanaryOutcomes
    in_force: CanaryOutcomes


class PriorSet(ApiAnswer):
    """A set of priors, as a night learned it.

    Attributes:
        version: Its number.
        state: `observing`, `canary`, `active`, `superseded` or `rejected`.
        reason: The judgement in words.
        evidence: Plans behind the set; older ones count for less.
        made_at: When it was learned.
        canary: How it is or was served to a share of sessions.
    """

    version: int
    state: str
    reason: str
    evidence: float
    made_at: datetime
    canary: Canary | None = None


class PriorSets(ApiAnswer):
    """Sets of priors, the newest first."""

    sets: list[PriorSet]


class SetInForce(ApiAnswer):
    """The version of the set in force after a change; None where words alone rank."""

    in_force: int | None


class CanaryShare(ApiAnswer):
    """Share of sessions to which a better set is served first, and whose share it is."""

    share: float
    source: str
