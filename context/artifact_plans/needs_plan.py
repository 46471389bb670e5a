"""Decide whether a request needs a plan of artifacts, in how much room, and by which models."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from context.artifacts.superseded import Superseded, SupersededReason
from context.artifacts.types import Artifact
from context.errors import InvalidInputError
from context.providers.model_windows import model_ids
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
    return why.reason is SupersededReason.CHANGED


class PlanningReason(StrEnum):
    """The deciding row of the table; `nothing-calls-for-it` if no row decided."""

    NO_ARTIFACTS = "no-artifacts"
    HISTORICAL = "historical-artifacts"
    SMALL_TOTAL = "small-total"
    FITS_AND_CHEAP = "fits-and-cheap"
    NEAR_LIMIT = "near-limit"
    EXPENSIVE_PRIMARY = "expensive-primary"
    LARGE_ARTIFACT = "large-artifact"
    LEFT_TO_STEPS = "left-to-steps"
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


DEFAULT_MODEL = "gpt-4o-mini"
EXPENSIVE_USD_PER_INPUT_TOKEN = Decimal("0.00001")
"""Ten dollars a million tokens: only the largest models cost more."""

LARGEST_CLASS_SHARE = Decimal("0.25")
_LARGEST = re.compile(r"claude-(?:[\d.-]+-)?(?:opus|mythos|fable)|(?:^|/)o\d(?:-\w+)?-pro|gpt-[\d.]+-pro")
_SHOWN_MODELS = 10


@dataclass(frozen=True)
class ModelDefaults:
    """The models of the settings.

    Attributes:
        context_planner: Plans how artifacts are used.
        summarizer: Summarizes history and artifacts.
    """

    context_planner: str = DEFAULT_MODEL
    summarizer: str = DEFAULT_MODEL


@dataclass(frozen=True)
class ModelConfig:
    """The models of one request.

    Attributes:
        primary: Answers; named by the request.
        context_planner: As in `ModelDefaults`.
        summarizer: As in `ModelDefaults`.
    """

    primary: str
    context_planner: str
    summarizer: str

    @classmethod
    def from_request(
        cls,
        primary: str,
        *,
        planner: str | None = None,
        summarizer: str | None = None,
        defaults: ModelDefaults,
        allowed: Collection[str],
    ) -> "ModelConfig":
        """Choose the models of a request.

        Args:
            primary: The answering model.
            planner: A planning model other than the settings'; None for the settings' model.
            summarizer: The same for summaries.
            defaults: The models of the settings.
            allowed: The choices of a request beside its own default, which is always allowed.

        Raises:
            InvalidInputError: A model may not be chosen; the field and the allowed models are named.
        """
        if not primary.strip():
            raise InvalidInputError("model", "must not be empty")
        return cls(
            primary=primary,
            context_planner=_chosen("planner_model", planner, defaults.context_planner, allowed),
            summarizer=_chosen("summarizer_model", summarizer, defaults.summarizer, allowed),
        )


def is_expensive_primary(
    price_per_input_token: Decimal | None,
    threshold: Decimal | float = EXPENSIVE_USD_PER_INPUT_TOKEN,
    *,
    model: str = "",
) -> bool:
    """Tell whether a model's input is so expensive that a cheap model should choose it first.

    A model without a known price is not expensive: such models are mostly hosted by the platform itself, and
    a planning call costs money for certain while its saving is a guess. An unknown price is never taken as
    0: no cost is computed from it.

    Args:
        price_per_input_token: In US dollars; None if unknown.
        threshold: The price above which a model is expensive, >= 0.
        model: The name at any host. A model of its maker's largest class is expensive from a quarter of the
            threshold on, since such models became cheaper and are still the dearest.

    Returns:
        True for a known price above the threshold.
    """
    if price_per_input_token is None:
        return False
    share = LARGEST_CLASS_SHARE if is_of_the_largest_class(model) else 1
    return price_per_input_token > Decimal(str(threshold)) * share


def is_of_the_largest_class(model: str) -> bool:
    """Say whether a model's name belongs to its maker's largest class."""
    return any(_LARGEST.search(name) for name in model_ids(model))


def _chosen(field: str, wanted: str | None, default: str, allowed: Collection[str]) -> str:
    if wanted is None or wanted == default:
        return default
    if wanted in allowed:
        return wanted
    names = sorted({default, *allowed} - {""})
    shown = ", ".join(names[:_SHOWN_MODELS]) + (" …" if len(names) > _SHOWN_MODELS else "")
    raise InvalidInputError(
        field, f"{wanted[:80]!r} may not be chosen; allowed: {shown or 'none'}", allowed=names
    )
