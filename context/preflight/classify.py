"""Classification of a new message, and the consequences: tools to keep, memory and thought needed."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from context.preflight.by_category import DEFAULT_THINKING, FULL_MEMORY, WEIGHTS
from context.preflight.choose_tools import named_tools
from context.preflight.config import PreflightRules
from context.preflight.decide import RECALLS, decide
from context.preflight.followup import FollowUp, find_follow_up, is_all_small_talk, is_more_than_small_talk
from context.preflight.lexicon.languages import Signs, find_signs
from context.preflight.types import Evidence, LearnedWeights, Preflight, Previous, RequestKind
from context.preflight.wrappers import without_wrappers

_DEFAULT_CONFIG = PreflightRules()
_NEUTRAL = LearnedWeights()
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
