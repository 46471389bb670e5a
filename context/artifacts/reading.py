"""Reading of an artifact: the text shown in one window, and the kind of text."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.artifacts.types import Artifact, ProcessingStrategy


class How(StrEnum):
    """Kinds of readings."""

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
    """A text shown in place of an artifact.

    Attributes:
        how: The whole, a summary for the very focus, a summary for a near focus, or an extract.
        text: The text.
        tokens: The cost, >= 0, in the count of the budget.
        focus: The focus of a summary; empty for the general summary.
        similarity: Similarity between a near focus and the wanted focus, 0 to 1; 1 for other readings.
        call_ids: The model calls behind the text, for their cost.
        places: The places of an extract's passages, such as `lines 10-24`.
        tokens_wide: The cost in the second count; None if not counted.
        is_partial: True if a summary was made of passages chosen for its focus, not of the whole.
        other_summarizer: True if the model or prompt behind the summary is no longer the current choice.
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
    """An artifact as shown by a window.

    Attributes:
        artifact: The artifact.
        reading: The reading shown; text disarmed.
        tokens: The cost with the label, >= 0.
        stale_by: The message whose call changed the artifact's subject; None if nothing changed.
    """

    artifact: Artifact
    reading: Reading
    tokens: int = 0
    stale_by: int | None = None
