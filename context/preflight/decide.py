"""Classification of a new message: the same evidence gives the same decision, also in a replay."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from context.preflight.choose_tools import choose_tools, named_tools, wanted_tools
from context.preflight.config import (
    DEFAULT_THINKING,
    FULL_MEMORY,
    MEMORY,
    TOOLS,
    WEIGHTS,
    PreflightRules,
    highest,
    widest,
)
from context.preflight.followup import (
    FRESH,
    FollowUp,
    find_follow_up,
    is_all_small_talk,
    is_more_than_small_talk,
    weight_after,
    without_wrappers,
)
from context.preflight.lexicon import Signs, find_signs
from context.preflight.types import (
    Category,
    Evidence,
    LearnedWeights,
    MemoryParams,
    Preflight,
    Previous,
    RequestKind,
    ThinkingLevel,
    write_hint,
)

RECOGNIZED = 1.0
TOO_UNSURE = "rule.too_unsure"
"""Reason given when a set of categories filters nothing."""

_NEAR_FROM = 0.4
"""Least score of a category named beside others, adding its tools and removing none."""
_COMPLEX_FROM = 0.5
"""Least score of a task of several steps at which all tools pass; one clear cue is enough."""

_LEAST_FACTOR, _MOST_FACTOR = 0.5, 2.0
_PROFILE_WEIGHT = 0.2
_DOUBT_FROM = 0.5
_ORDER = tuple(Category)
_FOLLOW_UPS = {kind: f"follow_up.{kind}" for kind in FollowUp}
_NEUTRAL = LearnedWeights()
RECALLS = "session.recalls"
"""Sign of a session with turns known only to recall, or with something recalled."""

_STORED = "both.stored_question"
_ASKING = frozenset({"ask.what", "shape.question", _STORED})

Scores = dict[Category, float]


def decide(
    evidence: Evidence,
    *,
    previous: Previous | None,
    tools: Sequence[str] | None,
    pinned: Collection[str],
    config: PreflightRules,
    weights: LearnedWeights = _NEUTRAL,
    policy_version: int = 0,
) -> Preflight:
    """Decide the subject of a message and the consequences.

    Args:
        evidence: The evidence of the message.
        previous: The session's last subject; None if unknown.
        tools: The names of the caller's tools; None if not given.
        pinned: Tools that stay in any case.
        config: The tenant's policy.
        weights: The learned weights of the tenant and the user.
        policy_version: The version of `config`.
    """
    reasons = ["shape.long"] if evidence.chars > config.complex_threshold else []
    scores = _score(evidence, config, weights)
    found = _recognize(scores, evidence.features, reasons)
    categories, lender, unsure = _carry_on(evidence.features, found, previous, config, reasons)
    if _asks_beside_memory(categories, evidence.features, config):
        categories = tuple(one for one in _ORDER if one in {*categories, Category.MEMORY})
        reasons.append("rule.session_recalls")
    confidence = _confidence(categories, scores, lender)
    sure = confidence if lender is None else lender.confidence
    if categories and (sure < config.min_confidence or (lender is None and _only_near(categories, scores))):
        unsure = True
        reasons.append(TOO_UNSURE)
    if not config.tool_filtering:
        allowlist, why = None, "policy.no_tool_filtering"
    elif Category.COMPLEX in categories:
        allowlist, why = None, "tools.all_for_complex"
    elif (unsure or not categories) and config.fallback_to_full:
        allowlist, why = None, "tools.all_when_unsure"
    else:
        wanted = wanted_tools(categories, config)
        if Category.RESEARCH in categories and _STORED in evidence.features and not _is_off(config):
            wanted = tuple(dict.fromkeys([*wanted, *TOOLS[Category.MEMORY]]))
            reasons.append("rule.may_be_stored")
        allowlist, why = choose_tools(wanted, tools, pinned=pinned, config=config)
    thinking = _thinking(categories, config)
    return Preflight(
        categories=categories,
        scores=scores,
        confidence=confidence,
        inherited=lender is not None,
        tool_allowlist=allowlist,
        hidden=len(tools) - len(allowlist) if tools is not None and allowlist is not None else 0,
        memory=_memory(categories, config),
        thinking_level=thinking,
        hint=write_hint(categories, allowlist, thinking) if config.prompt_annotation else None,
        policy_version=policy_version,
        reasons=(*reasons, why, *evidence.features),
        evidence=evidence,
    )


def _is_off(config: PreflightRules) -> bool:
    return Category.MEMORY in config.disabled


def _asks_beside_memory(
    categories: tuple[Category, ...], features: Mapping[str, int], config: PreflightRules
) -> bool:
    """Say whether a question in a recalling session may also be about earlier words."""
    asks = RECALLS in features and not _ASKING.isdisjoint(features)
    is_task = bool(categories) and categories != (Category.CASUAL,)
    return asks and is_task and Category.MEMORY not in categories and not _is_off(config)


def _score(evidence: Evidence, config: PreflightRules, weights: LearnedWeights) -> Scores:
    """Score every category by signs, the policy's own words, and learned weights."""
    sums = _add_up(evidence.features, is_long=evidence.chars > config.complex_threshold)
    scores = dict(zip(_ORDER, sums, strict=True))
    for category in config.categories:
        if f"own.{category}" in evidence.features:
            scores[category] += RECOGNIZED
    for category in config.disabled:
        scores[category] = 0.0
    if weights.factors or weights.profile:
        for category, score in scores.items():
            if score > 0.0:
                scores[category] = _learned(category, score, weights)
    return scores


def _add_up(features: Mapping[str, int], *, is_long: bool) -> list[float]:
    """Add up the signs; of several words of one sign, each further word counts half of the word before."""
    sums = [0.0] * len(_ORDER)
    for name, times in features.items():
        if name in WEIGHTS:
            strength = 1.0 if times == 1 else 2.0 - math.pow(0.5, times - 1)
            for place, weight in WEIGHTS[name]:
                sums[place] += weight * strength
    if is_long:
        for place, weight in WEIGHTS["shape.long"]:
            sums[place] += weight
    return [max(one, 0.0) for one in sums]


def _learned(category: Category, score: float, weights: LearnedWeights) -> float:
    factor = min(max(weights.factors.get(category, 1.0), _LEAST_FACTOR), _MOST_FACTOR)
    return score * factor + _PROFILE_WEIGHT * min(max(weights.profile.get(category, 0.0), 0.0), 1.0)


def _recognize(scores: Scores, features: Mapping[str, int], reasons: list[str]) -> tuple[Category, ...]:
    """Name the categories with a sufficient score, and near categories with no harm."""
    strong = _strong(scores, features, reasons)
    near = _near(scores, strong).difference(strong)
    if not near:
        return strong
    reasons.append("rule.comes_near")
    return tuple(category for category in _ORDER if category in {*strong, *near})


def _near(scores: Scores, strong: tuple[Category, ...]) -> set[Category]:
    """Find the categories of a single cue: beside others they only widen, alone they filter nothing."""
    return {
        name
        for name, score in scores.items()
        if name is not Category.CASUAL
        and name not in strong
        and score >= (_COMPLEX_FROM if name is Category.COMPLEX else _NEAR_FROM)
    }


def _only_near(categories: tuple[Category, ...], scores: Scores) -> bool:
    """Say whether no category is recognized; such a guess removes no tool at any confidence."""
    return all(scores[category] < RECOGNIZED for category in categories)


def _strong(scores: Scores, features: Mapping[str, int], reasons: list[str]) -> tuple[Category, ...]:
    found = tuple(category for category, score in scores.items() if score >= RECOGNIZED)
    if found == (Category.CASUAL,) and "talk.strays" in features:
        reasons.append("rule.more_than_small_talk")
        return ()
    if found == (Category.CASUAL, Category.RESEARCH) and "talk.courtesy" in features:
        reasons.append("rule.a_question_of_courtesy")
        scores[Category.RESEARCH] = 0.0
        return (Category.CASUAL,)
    return found


def _carry_on(
    features: Mapping[str, int],
    found: tuple[Category, ...],
    previous: Previous | None,
    config: PreflightRules,
    reasons: list[str],
) -> tuple[tuple[Category, ...], Previous | None, bool]:
    """Give a message that continues a task the categories of the task.

    Returns:
        The categories; the lending task; and whether nobody can tell the message's subject.
    """
    follow_up = next((kind for kind, name in _FOLLOW_UPS.items() if name in features), None)
    if follow_up is None:
        return found, None, False
    own = tuple(category for category in found if category is not Category.CASUAL)
    if previous is None:
        if follow_up is FollowUp.ORDER:
            reasons.append("rule.goes_on_with_something_unknown")
            return own, None, True
        return found, None, False
    if weight_after(previous.age_s) < FRESH:
        reasons.append("rule.too_long_ago")
        return own, None, True
    if not previous.categories:
        reasons.append("rule.goes_on_with_something_unknown")
        return own, previous, True
    reasons.append("rule.goes_on")
    lent = {*own, *previous.categories} - config.disabled
    return tuple(category for category in _ORDER if category in lent), previous, False


def _confidence(categories: tuple[Category, ...], scores: Scores, lender: Previous | None) -> float:
    """Return the confidence of a set of categories: strength of its best, less the nearness of another."""
    if not categories:
        return 0.0
    if lender is not None:
        return lender.confidence * weight_after(lender.age_s)
    strength = 1.0 - math.pow(0.5, max(scores[category] for category in categories))
    doubt = max((scores[category] for category in _uncovered(categories)), default=0.0) - _DOUBT_FROM
    return strength * (1.0 - max(doubt, 0.0))


@lru_cache(256)
def _uncovered(categories: tuple[Category, ...]) -> tuple[Category, ...]:
    """Return the other categories that would keep more tools."""
    if Category.COMPLEX in categories:
        return ()
    kept = {name for category in categories for name in TOOLS[category]}
    return tuple(
        category
        for category in _ORDER
        if category not in categories and (category not in TOOLS or not kept.issuperset(TOOLS[category]))
    )


def _memory(categories: tuple[Category, ...], config: PreflightRules) -> MemoryParams:
    return _memory_of(categories) if config.memory_tuning else FULL_MEMORY


@lru_cache(256)
def _memory_of(categories: tuple[Category, ...]) -> MemoryParams:
    return widest([MEMORY[category] for category in categories])


def _thinking(categories: tuple[Category, ...], config: PreflightRules) -> ThinkingLevel:
    if not config.thinking_tuning:
        return DEFAULT_THINKING
    levels = config.thinking_levels
    return highest([levels[category] for category in categories])


_DEFAULT_CONFIG = PreflightRules()
_CASUAL = frozenset(name for name in WEIGHTS if name.startswith("casual."))


def classify(
    message: str,
    *,
    attachments: Sequence[str] = (),
    previous: Previous | None = None,
    kind: RequestKind = RequestKind.USER,
    tools: Sequence[str] | None = None,
    pinned: Collection[str] = (),
    config: PreflightRules = _DEFAULT_CONFIG,
    weights: LearnedWeights = _NEUTRAL,
    policy_version: int = 0,
) -> Preflight:
    """Classify a message; the time is linear in its length.

    Wrappers of a client around the user's words are not read; see `without_wrappers`.

    Args:
        message: The new message's text, in any script.
        attachments: The media type or the name of each attachment.
        previous: The session's last subject; None if unknown.
        kind: The origin of the request; all but a user's message pass unchanged.
        tools: The names of the caller's tools, after its own denials; None if not given.
        pinned: Tools that stay for any message: the tools of the history sent along.
        config: The tenant's policy.
        weights: The learned weights of the tenant, the user and the session.
        policy_version: The version of `config`, kept with the decision.
    """
    if kind is not RequestKind.USER or not config.enabled:
        return _pass_through(f"kind.{kind}" if config.enabled else "policy.disabled", policy_version)
    signs = find_signs(without_wrappers(message), attachments=attachments, own=config.own_words)
    evidence = read_evidence(signs)
    if weights.recalls:
        evidence = replace(evidence, features={**evidence.features, RECALLS: 1})
    return decide(
        evidence,
        previous=previous,
        tools=tools,
        pinned={*pinned, *named_tools(tools or (), signs.words)},
        config=config,
        weights=weights,
        policy_version=policy_version,
    )


def read_evidence(signs: Signs) -> Evidence:
    """Reduce a message to the evidence for a decision, without its words."""
    features = {name: len(what) for name, what in signs.found.items()}
    follow_up = find_follow_up(signs)
    if follow_up is not FollowUp.NONE:
        features[f"follow_up.{follow_up}"] = 1
    if not _CASUAL.isdisjoint(features):
        if is_more_than_small_talk(signs):
            features["talk.strays"] = 1
        elif is_all_small_talk(signs):
            features["talk.courtesy"] = 1
    return Evidence(features, signs.chars)


def is_follow_up(message: str) -> bool:
    """Say whether a message can be understood only by the messages before."""
    return find_follow_up(find_signs(without_wrappers(message))) is not FollowUp.NONE


def _pass_through(reason: str, policy_version: int) -> Preflight:
    """Return the result without classification: the request as received."""
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
