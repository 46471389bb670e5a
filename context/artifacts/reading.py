"""A reading of an artifact: the text that stands for it in one window, and what that text is."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.artifacts.types import Artifact, ProcessingStrategy


class How(StrEnum):
    """What a reading is."""

    FULL = "full"
    EXACT = "exact"
    NEAR = "near"
    EXTRACT = "extract"


STRATEGY_OF = {
    How.FULL: ProcessingStrategy.INCLUDE_FULL,
    How.EXACT: ProcessingStrategy.SUMMARIZE,
    How.NEAR: ProcessingStrategy.SUMMARIZE,
    How.EXTRACT: ProcessingStrategy.RAG_EXTRACT,
}


@dataclass(frozen=True)
class Reading:
    """A text that stands for an artifact.

    Attributes:
        how: The whole, a summary for the very focus, a summary for a near one, or an extract.
        text: The text.
        tokens: Its cost, >= 0, in the count in which the budget is.
        focus: What a summary was made for; empty for the general one.
        similarity: How near that focus is to the wanted one, 0 to 1; 1 for everything but a near reading.
        call_ids: The model calls that made it, for their cost.
        places: Where an extract's passages stand, such as `lines 10-24`.
        tokens_wide: Its cost in the second count; None where it was not counted.
        is_partial: Whether a summary was made of passages that were chosen for its focus, not of the whole.
        other_summarizer: Whether another model or prompt made it than makes such summaries now.
    """

    how: How
    text: str
    tokens: int
    focus: str = ""
    similarity: float = 1.0
    call_ids: Sequence[str] = ()
    places: Sequence[str] = ()
    tokens_wide: int | None = None
    is_partial: bool = False
    other_summarizer: bool = False


@dataclass(frozen=True)
class UsedArtifact:
    """An artifact as a window shows it.

    Attributes:
        artifact: Which one.
        reading: What stands for it; its text disarmed.
        tokens: What it costs with its label, >= 0.
        stale_by: The message whose call changed what this shows; None where it is still so.
    """

    artifact: Artifact
    reading: Reading
    tokens: int = 0
    stale_by: int | None = None
