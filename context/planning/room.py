"""The room for artifacts, in the count in which they are stored."""

from collections.abc import Mapping, Sequence

from context.artifacts.superseded import Reason, Superseded
from context.artifacts.types import Artifact
from context.tokens import guarantee

_SAMPLE_TOKENS = 10_000


def canonical_tokens(tokens: int, model: str) -> int:
    """Convert a model's own tokens into stored ones, on the safe side.

    Args:
        tokens: A number of tokens as the model counts, >= 0.
        model: The model; an unknown one counts as the most expensive.
    """
    return tokens * _SAMPLE_TOKENS // max(guarantee(_SAMPLE_TOKENS, model), 1)


ARTIFACT_TOKENS = 1_500
"""What artifacts of earlier turns may take of a small window, whatever share of it that is."""


def room_for_artifacts(whole: int, raw: int, *, share: float, most_share: float = 1.0) -> int:
    """Say what artifacts may take: what history leaves, and a share at least; never more than another share.

    Args:
        whole: The room beside what must be sent.
        raw: What raw history would take of it, >= 0.
        share: The least share of it, 0 to 1.
        most_share: The most share of it, 0 to 1.

    Returns:
        Tokens, >= 0.
    """
    return min(max(int(whole * share), whole - raw, 0), max(int(whole * most_share), 0))


def most_share_of_old(whole: int, most_share: float) -> float:
    """Say the most share of a room for artifacts of earlier turns: never less than `ARTIFACT_TOKENS`."""
    return max(most_share, min(ARTIFACT_TOKENS / max(whole, 1), 1.0))


def fits_whole(artifacts: Sequence[Artifact], old: Mapping[str, Superseded], room: int) -> bool:
    """Say whether all artifacts that a window could show fit as they are: nothing is to choose or to read.

    Args:
        artifacts: Each once.
        old: Those that a later use made old; what was read again later is not shown.
        room: The room for them, in stored tokens.
    """
    shown = [one for one in artifacts if (why := old.get(one.artifact_id)) is None or _is_shown(why)]
    return sum(artifact.tokens for artifact in shown) <= room


def _is_shown(why: Superseded) -> bool:
    return why.reason is Reason.CHANGED
