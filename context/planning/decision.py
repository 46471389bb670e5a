"""Decision between a model's plan, worth the call, and the plan by rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.artifacts.types import Artifact
from context.errors import InvalidInputError


class PlanningReason(StrEnum):
    """The deciding row of the table; `nothing-calls-for-it` if no row decided."""

    NO_ARTIFACTS = "no-artifacts"
    HISTORICAL = "historical-artifacts"
    SMALL_TOTAL = "small-total"
    FITS_AND_CHEAP = "fits-and-cheap"
    NEAR_LIMIT = "near-limit"
    EXPENSIVE_PRIMARY = "expensive-primary"
    LARGE_ARTIFACT = "large-artifact"
    NOTHING_CALLS_FOR_IT = "nothing-calls-for-it"


@dataclass(frozen=True)
class PlanningChoice:
    """Choice between a model's plan and the plan by rule.

    Attributes:
        use: True to ask a model.
        reason: The deciding row.
    """

    use: bool
    reason: PlanningReason


@dataclass(frozen=True)
class PlanningThresholds:
    """The numbers of the table.

    Attributes:
        small_total_chars: Total characters of artifacts below which no plan is needed, >= 0.
        large_artifact_chars: Characters above which an artifact is large, >= 0.
        buffer_share: The share of the room that stays free if artifacts fit easily, 0 to 1.
        near_share: The share of the room at which artifacts are near the limit: above `1 - buffer_share`,
            <= 1.

    Raises:
        InvalidInputError: A number is outside its range, or two contradict each other.
    """

    small_total_chars: int = 5_000
    large_artifact_chars: int = 10_000
    buffer_share: float = 0.3
    near_share: float = 0.9

    def __post_init__(self) -> None:
        """Refuse thresholds that would make a row of the table unreachable."""
        for field in ("small_total_chars", "large_artifact_chars"):
            if getattr(self, field) < 0:
                raise InvalidInputError(field, f"{getattr(self, field)} is negative")
        if not 0 <= self.buffer_share < 1:
            raise InvalidInputError("buffer_share", f"{self.buffer_share} is not within [0, 1)")
        if not 1 - self.buffer_share < self.near_share <= 1:
            raise InvalidInputError(
                "near_share",
                f"must be above {1 - self.buffer_share:g}, up to which artifacts fit easily, and at most 1; "
                f"it is {self.near_share}",
            )


DEFAULT_THRESHOLDS = PlanningThresholds()


def should_use_llm_planning(
    artifacts: Sequence[Artifact],
    *,
    available_tokens: int,
    is_expensive_primary: bool,
    artifact_tokens: int | None = None,
    thresholds: PlanningThresholds = DEFAULT_THRESHOLDS,
) -> PlanningChoice:
    """Decide whether a model should plan the use of artifacts; the first matching row decides.

    No artifacts: no. Historical artifacts: yes, at any size, since recency no longer tells relevance. Small
    together: no. Fitting with the buffer and a cheap model: no, even with a large artifact. Near or over the
    limit: yes. An expensive model: yes. A large artifact: yes; this row is reached between the buffer and the
    limit only. Otherwise: no.

    Args:
        artifacts: The available artifacts.
        available_tokens: The room for artifacts, >= 0.
        is_expensive_primary: True if the answering model is expensive; False for an unknown price.
        artifact_tokens: The artifacts' cost in the model's tokens; None for the canonical counts.
        thresholds: The numbers of the table.

    Returns:
        The choice and the deciding row.
    """
    if artifact_tokens is None:
        artifact_tokens = sum(artifact.tokens for artifact in artifacts)
    total_chars = sum(artifact.size_chars for artifact in artifacts)
    fits = artifact_tokens <= available_tokens * (1 - thresholds.buffer_share)
    is_near = artifact_tokens >= available_tokens * thresholds.near_share
    has_large = any(artifact.size_chars > thresholds.large_artifact_chars for artifact in artifacts)
    table = (
        (not artifacts, False, PlanningReason.NO_ARTIFACTS),
        (any(artifact.is_historical for artifact in artifacts), True, PlanningReason.HISTORICAL),
        (total_chars < thresholds.small_total_chars, False, PlanningReason.SMALL_TOTAL),
        (fits and not is_expensive_primary, False, PlanningReason.FITS_AND_CHEAP),
        (is_near, True, PlanningReason.NEAR_LIMIT),
        (is_expensive_primary, True, PlanningReason.EXPENSIVE_PRIMARY),
        (has_large, True, PlanningReason.LARGE_ARTIFACT),
        (True, False, PlanningReason.NOTHING_CALLS_FOR_IT),
    )
    return next(PlanningChoice(use, reason) for holds, use, reason in table if holds)
