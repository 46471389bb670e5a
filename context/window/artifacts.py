"""Artifacts of a window: a plan for them, carried out in the available room."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from context.artifact_plans.strategies import EXTRACT_TOKENS, Available, Execution, execute_plan
from context.artifacts.region import UsedArtifact, closing, frame, label, render_region
from context.artifacts.types import ArtifactPlan
from context.tokens import MESSAGE_OVERHEAD, Count, EncodingName, count_text

ROOM_SHARE = 0.5
"""Largest share of the room beside the fixed parts for artifacts, if history wants the room too."""

NO_PLAN = ArtifactPlan(())
NOTHING = Execution((), (), (), 0)

_ATTEMPTS = 4
_PROBE = 10_000
_SEAM_TOKENS = 4
"""Tokens for the line breaks around a text, and for the seam between two joined texts."""


@dataclass(frozen=True)
class ArtifactCandidates:
    """Artifacts available to a window, with a plan.

    Attributes:
        plan: A decision about each artifact.
        available: The available forms of each artifact, by id.
        room_share: The largest share of the room taken from history, in [0, 1].
        most_share: The largest share of the room in any case, in [0, 1].
        extract_tokens: The most tokens of one extract.
    """

    plan: ArtifactPlan = NO_PLAN
    available: Mapping[str, Available] = field(default_factory=dict)
    room_share: float = ROOM_SHARE
    most_share: float = 1.0
    extract_tokens: int = EXTRACT_TOKENS


@dataclass(frozen=True)
class ShownArtifacts:
    """Artifacts shown by a window.

    Attributes:
        execution: The choices made, with an account.
        text: The region as the content of one message; empty if nothing is shown.
        count: The cost of the message.
        cost: The same cost in the model's tokens.
    """

    execution: Execution = NOTHING
    text: str = ""
    count: Count = field(default_factory=lambda: Count(0, 0))
    cost: int = 0


def fill_shelf(shelf: ArtifactCandidates, room: int, price: Callable[[Count], int]) -> ShownArtifacts:
    """Carry the plan out in a room of the model's own tokens.

    Args:
        shelf: The plan, and the available artifacts.
        room: The largest cost of the region, in the model's tokens.
        price: Bounds a count in the model's tokens.

    Returns:
        The shown artifacts, never above the room; empty if the room is too small for any.
    """
    if not shelf.available and not shelf.plan.artifacts:
        return ShownArtifacts()
    most = max(room, 0)
    budget = int(most * _PROBE / max(price(Count(_PROBE)), 1))
    for _ in range(_ATTEMPTS):
        filled = _fill(shelf, budget, price)
        if filled.cost <= most:
            return filled
        budget = int(budget * most / filled.cost) - 1
    return _fill(shelf, 0, price)


def _fill(shelf: ArtifactCandidates, budget: int, price: Callable[[Count], int]) -> ShownArtifacts:
    execution = execute_plan(
        shelf.plan,
        shelf.available,
        budget_tokens=max(budget, 0),
        count=count_text,
        extract_tokens=shelf.extract_tokens,
    )
    if not execution.used:
        return ShownArtifacts(execution)
    count = _count_region(execution)
    return ShownArtifacts(execution, render_region(execution.used), count, price(count))


def _count_region(execution: Execution) -> Count:
    """Bound the region by the counts of its texts, made when the texts were stored."""
    wide = count_text(frame(), EncodingName.WIDE) + _SEAM_TOKENS
    wide += sum(_wide(one) for one in execution.used)
    return Count(execution.tokens + MESSAGE_OVERHEAD, wide + MESSAGE_OVERHEAD, messages=1)


def _wide(one: UsedArtifact) -> int:
    reading = one.reading
    known = reading.tokens_wide
    text = count_text(reading.text, EncodingName.WIDE) if known is None else known
    return (
        text + sum(count_text(part, EncodingName.WIDE) for part in (label(one), closing())) + 2 * _SEAM_TOKENS
    )
