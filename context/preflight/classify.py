"""Classify a new message, and say what follows: which tools stay, how much memory and thought it needs."""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from context.preflight.config import PreflightConfig
from context.preflight.followup import FRESH, FollowUp, find_follow_up, weight_after
from context.preflight.hint import write_hint
from context.preflight.policy import DEFAULT_THINKING, FULL_MEMORY, MEMORY, THINKING, TOOLS, highest, widest
from context.preflight.signs import Signs, find_signs
from context.preflight.small_talk import is_all_small_talk, is_more_than_small_talk
from context.preflight.tools import choose_tools, wanted_tools
from context.preflight.types import Category, Kind, MemoryParams, Preflight, Previous, ThinkingLevel, Weights
from context.preflight.weights import WEIGHTS

RECOGNIZED = 1.0
_LEAST_FACTOR, _MOST_FACTOR = 0.5, 2.0
_PROFILE_WEIGHT = 0.2
_DOUBT_FROM = 0.5
_ORDER = tuple(Category)
_DEFAULT_CONFIG = PreflightConfig()
_NEUTRAL = Weights()


def classify(
    message: str,
    *,
    attachments: Sequence[str] = (),
    previous: Previous | None = None,
    kind: Kind = Kind.USER,
    tools: Sequence[str] | None = None,
    pinned: Collection[str] = (),
    config: PreflightConfig = _DEFAULT_CONFIG,
    weights: Weights = _NEUTRAL,
    policy_version: int = 0,
) -> Preflight:
    """Classify a message; the time is linear, and bounded, in its length.

    Args:
        message: The new message's text, in any script.
        attachments: The media type or the name of each thing attached.
        previous: What the session was last about; None where nothing is known of it.
        kind: What the request comes from; all but a user's message pass unchanged.
        tools: The names of the caller's tools, after its own denials; None where it does not say.
        pinned: Tools that stay whatever the message says: those of the history that is sent along.
        config: The tenant's policy.
        weights: What was learned about the tenant and the user.
        policy_version: The version of `config`, kept with the decision.
    """
    if kind is not Kind.USER or not config.enabled:
        return _pass_through(f"kind.{kind}" if config.enabled else "policy.disabled", policy_version)
    signs = find_signs(
        message, attachments=attachments, complex_chars=config.complex_threshold, own=config.own_words
    )
    scores = _score(signs, config, weights)
    found, reasons = _recognize(scores, signs)
    categories, inherited, unsure = _carry_on(signs, found, previous, config, reasons)
    confidence = _confidence(categories, scores, previous if inherited else None)
    if categories and not inherited and confidence < config.min_confidence:
        unsure = True
        reasons.append("rule.too_unsure")
    allowlist = _allow(signs, categories, tools, pinned, config, unsure=unsure, reasons=reasons)
    thinking = _thinking(categories, config)
    return Preflight(
        categories=categories,
        scores=scores,
        confidence=confidence,
        inherited=inherited,
        tool_allowlist=allowlist,
        hidden=len(tools) - len(allowlist) if tools is not None and allowlist is not None else 0,
        memory=_memory(categories, config),
        thinking_level=thinking,
        hint=write_hint(categories, allowlist, thinking) if config.prompt_annotation else None,
        policy_version=policy_version,
        reasons=(*reasons, *signs.found),
        features={name: len(what) for name, what in signs.found.items()},
    )


def _pass_through(reason: str, policy_version: int) -> Preflight:
    """What holds where nothing is classified: the request as it came."""
    return Preflight(
        categories=(),
        scores={},
        confidence=0.0,
        inherited=False,
        tool_allowlist=None,
        hidden=0,
        memory=FULL_MEMORY,
        thinking_level=DEFAULT_THINKING,
        hint=None,
        policy_version=policy_version,
        reasons=(reason,),
    )


def _score(signs: Signs, config: PreflightConfig, weights: Weights) -> dict[Category, float]:
    """Add up the signs; of several words of one sign each further one counts half of the one before."""
    scores = dict.fromkeys(_ORDER, 0.0)
    for name, what in signs.found.items():
        for category, weight in WEIGHTS.get(name, ()):
            scores[category] += weight * (2.0 - 0.5 ** (len(what) - 1))
    for category in config.categories:
        if f"own.{category}" in signs.found:
            scores[category] += RECOGNIZED
    for category, score in scores.items():
        if score <= 0.0 or category in config.disabled:
            scores[category] = 0.0
        elif weights.factors or weights.profile:
            scores[category] = _learned(category, score, weights)
    return scores


def _learned(category: Category, score: float, weights: Weights) -> float:
    factor = min(max(weights.factors.get(category, 1.0), _LEAST_FACTOR), _MOST_FACTOR)
    return score * factor + _PROFILE_WEIGHT * weights.profile.get(category, 0.0)


def _recognize(scores: dict[Category, float], signs: Signs) -> tuple[tuple[Category, ...], list[str]]:
    found = tuple(category for category in _ORDER if scores[category] >= RECOGNIZED)
    if found == (Category.CASUAL,) and is_more_than_small_talk(signs):
        return (), ["rule.more_than_small_talk"]
    if found == (Category.CASUAL, Category.RESEARCH) and is_all_small_talk(signs):
        scores[Category.RESEARCH] = 0.0
        return (Category.CASUAL,), ["rule.a_question_of_courtesy"]
    return found, []


def _carry_on(
    signs: Signs,
    found: tuple[Category, ...],
    previous: Previous | None,
    config: PreflightConfig,
    reasons: list[str],
) -> tuple[tuple[Category, ...], bool, bool]:
    """Let a message that goes on with a task have that task's categories.

    Returns:
        The categories; whether a task lent them; whether nobody can tell what the message is about.
    """
    follow_up = find_follow_up(signs)
    if follow_up is FollowUp.NONE:
        return found, False, False
    own = tuple(category for category in found if category is not Category.CASUAL)
    if previous is None:
        if follow_up is FollowUp.ORDER:
            reasons.append("rule.goes_on_with_something_unknown")
            return own, False, True
        return found, False, False
    reasons.append(f"rule.follow_up_{follow_up}")
    if weight_after(previous.age_s) < FRESH:
        reasons.append("rule.too_long_ago")
        return own, False, True
    if not previous.categories:
        return own, True, True
    lent = {*own, *previous.categories} - config.disabled
    return tuple(category for category in _ORDER if category in lent), True, False


def _confidence(
    categories: tuple[Category, ...], scores: Mapping[Category, float], lender: Previous | None
) -> float:
    """How sure a set of categories is: how strong its best is, and how near another one came."""
    if not categories:
        return 0.0
    if lender is not None:
        return lender.confidence * weight_after(lender.age_s)
    strength = 1.0 - math.pow(0.5, max(scores[category] for category in categories))
    doubt = max((scores[category] for category in _uncovered(categories)), default=0.0) - _DOUBT_FROM
    return strength * (1.0 - max(doubt, 0.0))


@lru_cache(256)
def _uncovered(categories: tuple[Category, ...]) -> tuple[Category, ...]:
    """The other categories that would keep more tools than these do."""
    if Category.COMPLEX in categories:
        return ()
    kept = {name for category in categories for name in TOOLS[category]}
    return tuple(
        category
        for category in _ORDER
        if category not in categories and (category not in TOOLS or not kept.issuperset(TOOLS[category]))
    )


def _allow(
    signs: Signs,
    categories: tuple[Category, ...],
    tools: Sequence[str] | None,
    pinned: Collection[str],
    config: PreflightConfig,
    *,
    unsure: bool,
    reasons: list[str],
) -> tuple[str, ...] | None:
    if not config.tool_filtering:
        reasons.append("policy.no_tool_filtering")
        return None
    if Category.COMPLEX in categories:
        reasons.append("tools.all_for_complex")
        return None
    if (unsure or not categories) and config.fallback_to_full:
        reasons.append("tools.all_when_unsure")
        return None
    allowlist, reason = choose_tools(
        wanted_tools(categories, config), tools, pinned=pinned, words=signs.words, config=config
    )
    reasons.append(reason)
    return allowlist


def _memory(categories: Sequence[Category], config: PreflightConfig) -> MemoryParams:
    return widest([MEMORY[category] for category in categories]) if config.memory_tuning else FULL_MEMORY


def _thinking(categories: Sequence[Category], config: PreflightConfig) -> ThinkingLevel:
    if not config.thinking_tuning:
        return DEFAULT_THINKING
    own = {name: one.thinking_level for name, one in config.categories.items() if one.thinking_level}
    return highest([own.get(category, THINKING[category]) for category in categories])
