"""When a prepared summary takes effect: while the provider's prompt cache is cold, or under pressure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from context.providers.prompt_cache import cache_ttl_s
from context.summary.trigger import Load, Thresholds, find_trigger
from context.tokens.budget import Budget


class ActivationMode(StrEnum):
    """Modes of activation: prepare summaries early for a cheap moment, or activate at once."""

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
    """Settings that decide when summaries are prepared and when they take effect.

    Attributes:
        mode: Cache-aware, or immediate. Immediate prepares nothing early and lets nothing wait.
        prepare_at: Fill level at which a summary is prepared, above 0, at most 1: 0 stands for the history
            kept raw, 1 for the history under pressure. Always between the two, whatever their sizes.
        cache_ttl_s: Changes to `prompt_cache.CACHE_TTL_S`; 0 for a provider without a cache.
    """

    mode: ActivationMode = ActivationMode.CACHE_AWARE
    prepare_at: float = 0.5
    cache_ttl_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse settings out of range.

        Raises:
            ValueError: A number is out of its range.
        """
        if not 0 < self.prepare_at <= 1:
            raise ValueError(f"prepare_at ({self.prepare_at}) must be above 0 and at most 1")
        negative = sorted(name for name, ttl_s in self.cache_ttl_s.items() if not ttl_s >= 0)
        if negative:
            raise ValueError(f"cache_ttl_s of {', '.join(negative)} must be 0 or more seconds")


UP_TO_DATE = 0.01
"""Largest growth of history that keeps a preparation up to date, as a share of the history kept raw."""

IMMEDIATE = ActivationSettings(ActivationMode.IMMEDIATE)
"""Settings under which a summary is made only when needed, and takes effect as soon as made."""


def prepare_thresholds(
    thresholds: Thresholds, settings: ActivationSettings, *, pressed: bool = False
) -> Thresholds:
    """Lower the thresholds to the fill level at which a summary is made.

    The level is above the history kept raw, and never above pressure. Under pressure a summary takes effect
    at once. A summary prepared a while ago leaves more history raw than necessary, and the prefix would soon
    change again: the summary is brought up to date first, unless hardly any history was added.

    Args:
        thresholds: Thresholds of pressure.
        settings: How far below pressure a summary is prepared; immediate lowers nothing.
        pressed: True if history without the prepared summary calls for a summary at once.

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
        prepared: The next request as if the prepared summary were in force; equal to `present` without one.
        budget: The window.
        thresholds: Thresholds of pressure.
        settings: When to prepare.

    Returns:
        True if some work is due and not yet done.
    """
    pressed = find_trigger(present, budget, thresholds) is not None
    return pressed or find_trigger(prepared, budget, prepare_thresholds(thresholds, settings)) is not None


@dataclass(frozen=True)
class Moment:
    """Facts at the moment when a prepared summary could take effect.

    Attributes:
        model: The model of the present or next request.
        idle_s: Seconds since the session's last turn ended, as far as known; None without a turn.
        pressed: True if history calls for a summary at once; for a read, if history does not fit otherwise.
        prefix_changes: True if the request starts differently from the last request: another model, system
            prompt or tools.
    """

    model: str | None
    idle_s: float | None
    pressed: bool = False
    prefix_changes: bool = False


def is_cold(moment: Moment, settings: ActivationSettings) -> bool:
    """Say whether the idle time suggests a cold prompt cache for the session's prefix."""
    return moment.idle_s is None or moment.idle_s > cache_ttl_s(moment.model, settings.cache_ttl_s)


def choose_activation(moment: Moment, settings: ActivationSettings) -> Activation | None:
    """Decide whether a prepared summary takes effect now.

    Activation changes the prefix after the system prompt, so the provider reads the rest once at the full
    price. While the cache is warm, activation waits; with a cold cache, activation costs nothing and saves.

    Args:
        moment: The facts of the moment.
        settings: When a cache counts as cold, and whether anything waits.

    Returns:
        The reason for activation, or None to wait.
    """
    if settings.mode is ActivationMode.IMMEDIATE:
        return Activation.IMMEDIATE
    if moment.pressed:
        return Activation.PRESSURE
    if is_cold(moment, settings):
        return Activation.COLD
    return Activation.PREFIX if moment.prefix_changes else None
