"""Figures of judged sets, each share with its 95 % interval."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from context.priors.evaluate import Change
from context.shares import Share, wilson
from context.text.cut import one_line, printable
from context.types import JsonObject
from models.learning.canary import CanaryFacts
from models.learning.set_listing import SetFacts

RANKINGS = {"new": "new", "observed": "observed", "in_force": "in force", "words": "words alone"}
RECALLS = {"recall_at_1": "recall@1", "recall_at_5": "recall@5"}
MOST_INTENT = 80
"""Characters of an intent in an example."""

_OF = {"recall_at_1": "plans", "recall_at_5": "plans", "harm": "with_calls"}


def share_of(figures: Mapping[str, Any], name: str) -> Share | None:
    """Return a share with Wilson's interval, each held-out plan or turn as a trial.

    Args:
        figures: Figures of a ranking or a policy, as in the evaluation of a set.
        name: `recall_at_1`, `recall_at_5` or `harm`.

    Returns:
        The share; None where nothing was judged. A plan with several tools counts in parts, so that the
        interval is rather too wide.
    """
    of = int(figures.get(_OF[name]) or 0)
    if not of or name not in figures:
        return None
    share = float(figures[name])
    around = wilson(min(round(share * of), of), of)
    return Share(share, min(around.low, share), max(around.high, share)) if around else None


def show_share(share: Share) -> str:
    """Format a share with its interval."""
    return f"{share.share:.3f} [{share.low:.3f}, {share.high:.3f}]"


def describe_evaluation(evaluation: Mapping[str, Any]) -> list[JsonObject]:
    """Describe the figures of a ranking set: each ranking with its plans, and its shares with intervals."""
    return [
        {
            "ranking": name,
            "plans": evaluation[name]["plans"],
            **{which: share_of(evaluation[name], which) for which in RECALLS},
        }
        for name in RANKINGS
        if name in evaluation
    ]


def print_evaluation(evaluation: Mapping[str, Any]) -> None:
    """Print the figures of a ranking set, a line for each ranking."""
    for one in describe_evaluation(evaluation):
        shares = [f"{RECALLS[which]} {show_share(one[which])}" for which in RECALLS if one[which]]
        if shares:
            print(f"  {RANKINGS[one['ranking']]:<11}  {'  '.join(shares)}  of {one['plans']:.0f} plans")


def print_changes(changes: Sequence[Change], most: int) -> None:
    """Print the tools of held-out intents that rank higher and lower than by words alone.

    Args:
        changes: The largest gain first, losses last.
        most: Number of examples of each kind.
    """
    better = [one for one in changes if one.gain > 0]
    worse = [one for one in reversed(changes) if one.gain < 0]
    for name, found in (("better", better), ("worse", worse)):
        print(f"  {name} than words alone: {len(found):,} tools of held-out intents")
        for one in found[:most]:
            intent = one_line(printable(one.intent), MOST_INTENT)
            print(f'    {_place(one.before)} -> {_place(one.after)}  {one.tool}  "{intent}"')


def _place(place: int | None) -> str:
    return "-" if place is None else str(place)


def describe_set(one: SetFacts) -> JsonObject:
    """Describe a judged set for programs."""
    return {
        "catalog": one.name,
        "version": one.version,
        "state": one.state,
        "made_at": one.made_at,
        "evidence": one.evidence,
        "drift": one.drift,
        "reason": one.reason,
        "rankings": describe_evaluation(one.evaluation),
        "canary": describe_canary(one.canary),
    }


def describe_canary(canary: CanaryFacts | None) -> JsonObject | None:
    """Describe a canary for programs, the sets named as in lists: null for words alone."""
    return {**asdict(canary), "base": canary.base or None} if canary else None


def show_canary(canary: CanaryFacts | None) -> str:
    """Format a canary: its share of sessions, its end, and the shares of plans that went well."""
    if canary is None:
        return ""
    new, old = (show_share(arm.share) if arm.share else "-" for arm in (canary.new, canary.in_force))
    plans = f"{canary.new.plans} and {canary.in_force.plans} plans"
    told = canary.end or f"until {canary.until:%Y-%m-%d}"
    return f"{canary.share:.0%} of sessions, {told}: {new} / {old} of {plans}"


def print_canary(one: SetFacts) -> None:
    """Print the canary of a set, if it is or was one."""
    if one.canary:
        print(f"  canary       {show_canary(one.canary)}")
