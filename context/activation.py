"""When a prepared summary takes effect: while the provider's prompt cache is cold, or under pressure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from context.budget import Budget
from context.compression import Load, Thresholds, find_trigger
from context.prompt_cache import cache_ttl_s


class ActivationMode(StrEnum):
    """Whether summaries are prepared early and wait for a good moment."""

    CACHE_AWARE = "cache-aware"
    IMMEDIATE = "immediate"


class Activation(StrEnum):
    """Why a summary takes effect now."""

    PRESSURE = "pressure"
    COLD = "cold cache"
    PREFIX = "prefix changes anyway"
    IMMEDIATE = "immediate"


@dataclass(frozen=True)
class ActivationSettings:
    """When summaries are prepared and when they take effect.

    Attributes:
        mode: Cache-aware, or immediate: then nothing is prepared early and nothing waits.
        prepare_at: How far the way is from what stays raw (0) to what calls for a summary at once (1) at
            which one is prepared, above 0, at most 1. Between the two by construction, whatever they are.
        cache_ttl_s: Changes to `prompt_cache.CACHE_TTL_S`; 0 for a provider that caches nothing.
    """

    mode: ActivationMode = ActivationMode.CACHE_AWARE
    prepare_at: float = 0.5
    cache_ttl_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what could never act.

        Raises:
            ValueError: A number is out of its range.
        """
        if not 0 < self.prepare_at <= 1:
            raise ValueError(f"prepare_at ({self.prepare_at}) must be above 0 and at most 1")
        negative = sorted(name for name, ttl_s in self.cache_ttl_s.items() if not ttl_s >= 0)
        if negative:
            raise ValueError(f"cache_ttl_s of {', '.join(negative)} must be 0 or more seconds")


UP_TO_DATE = 0.01
"""A preparation is up to date as long as history is longer by no more than this share than what stays raw."""

IMMEDIATE = ActivationSettings(ActivationMode.IMMEDIATE)
"""Every summary takes effect as soon as it is made, and is made only when it is needed."""


def prepare_thresholds(
    thresholds: Thresholds, settings: ActivationSettings, *, pressed: bool = False
) -> Thresholds:
    """Lower the thresholds to where a summary is made: above what stays raw, never above pressure.

    Under pressure a summary takes effect at once. One that was prepared a while ago leaves more history raw
    than it could, and the prefix would have to change again soon: it is brought up to date first, unless
    hardly anything came since.

    Args:
        thresholds: What counts as pressure.
        settings: How far below it a summary is prepared; immediate lowers nothing.
        pressed: Whether history without the prepared summary calls for one at once.

    Returns:
        The thresholds for history as if the prepared summary were in force.
    """
    if settings.mode is ActivationMode.IMMEDIATE:
        return thresholds
    way = min(UP_TO_DATE, settings.prepare_at) if pressed else settings.prepare_at
    share = _between(thresholds.keep_share, thresholds.window_share, way)
    count = _between(thresholds.keep_messages, thresholds.message_count, way)
    return replace(
        thresholds,
        window_share=share,
        message_count=max(int(count), thresholds.keep_messages + 1),
        min_progress=UP_TO_DATE if pressed else thresholds.min_progress,
    )


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


def calls_for_work(
    present: Load, prepared: Load, budget: Budget, thresholds: Thresholds, settings: ActivationSettings
) -> bool:
    """Say whether a worker should look at the session: to prepare a summary, or because history presses.

    Args:
        present: The next request with the summary in force.
        prepared: The same as if the prepared summary were in force; equal where there is none.
        budget: The window.
        thresholds: What counts as pressure.
        settings: When to prepare.

    Returns:
        True where there is something to do that was not done before.
    """
    pressed = find_trigger(present, budget, thresholds) is not None
    return pressed or find_trigger(prepared, budget, prepare_thresholds(thresholds, settings)) is not None


@dataclass(frozen=True)
class Moment:
    """What is known when a prepared summary could take effect.

    Attributes:
        model: The model that is asked, or will be.
        idle_s: Seconds since the session's last turn ended, as far as known; None where it never had one.
        pressed: Whether history calls for a summary at once; to a reader, whether it does not fit otherwise.
        prefix_changes: Whether the request starts otherwise than the last one: another model, system prompt
            or tools.
    """

    model: str | None
    idle_s: float | None
    pressed: bool = False
    prefix_changes: bool = False


def is_cold(moment: Moment, settings: ActivationSettings) -> bool:
    """Whether the provider has forgotten the session's prefix, as far as the idle time tells."""
    return moment.idle_s is None or moment.idle_s > cache_ttl_s(moment.model, settings.cache_ttl_s)


def choose_activation(moment: Moment, settings: ActivationSettings) -> Activation | None:
    """Decide whether a prepared summary takes effect now.

    Putting it in force changes the prefix after the system prompt, so that all that follows is read at the
    full price once. While the cache is warm this waits; when nothing is cached it costs nothing, and saves.

    Args:
        moment: What is known.
        settings: When a cache counts as cold, and whether anything waits.

    Returns:
        Why it takes effect, or None: it waits.
    """
    if settings.mode is ActivationMode.IMMEDIATE:
        return Activation.IMMEDIATE
    if moment.pressed:
        return Activation.PRESSURE
    if is_cold(moment, settings):
        return Activation.COLD
    return Activation.PREFIX if moment.prefix_changes else None
