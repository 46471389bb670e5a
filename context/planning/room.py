"""Room for artifacts, in stored tokens."""

from collections.abc import Mapping, Sequence

from context.artifacts.superseded import Reason, Superseded
from context.artifacts.types import Artifact
from context.tokens import guarantee

_SAMPLE_TOKENS = 10_000


def canonical_tokens(tokens: int, model: str) -> int:
    """Convert a model's own tokens into stored tokens, on the safe side.

    Args:
        tokens: A number of the model's tokens, >= 0.
        model: The model; an unknown model counts as the most expensive.
    """
    return tokens * _SAMPLE_TOKENS // max(guarantee(_SAMPLE_TOKENS, model), 1)


ARTIFACT_TOKENS = 1_500
"""Tokens of a small window always open to artifacts of earlier turns, whatever the share."""


def room_for_artifacts(whole: int, raw: int, *, share: float, most_share: float = 1.0) -> int:
    """Return the room for artifacts: everything left by history, at least one share, at most another.

    Args:
        whole: The room beside the fixed parts.
        raw: The need of raw history, >= 0.
        share: The least share of the room, 0 to 1.
        most_share: The largest share of the room, 0 to 1.

    Returns:
        Tokens, >= 0.
    """
    return min(max(int(whole * share), whole - raw, 0), max(int(whole * most_share), 0))


def most_share_of_old(whole: int, most_share: float) -> float:
    """Return the largest share for artifacts of earlier turns, at least `ARTIFACT_TOKENS`."""
    return max(most_share, min(ARTIFACT_TOKENS / max(whole, 1), 1.0))


def fits_whole(artifacts: Sequence[Artifact], old: Mapping[str, Superseded], room: int) -> bool:
    """Say whether all artifacts of a window fit unchanged, so that nothing needs a choice or a reading.

    Args:
        artifacts: Each once.
        old: Artifacts made old by a later use; artifacts read again later are not shown.
        room: The room for artifacts, in stored tokens.
    """
    shown = [one for one in artifacts if (why := old.get(one.artifact_id)) is None or _is_shown(why)]
    return sum(artifact.tokens for artifact in shown) <= room


def _is_shown(why: Superseded) -> bool:
    return why.reason is Reason.CHANGED
