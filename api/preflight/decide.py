"""Preflight of a request: by the tenant's policy and the session's last topic."""

import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from api.cache import FreshCache
from context.preflight.choose_tools import NOTHING_MATCHED, MatchedTools, by_words
from context.preflight.config import TOOLS, PreflightRules, read_config
from context.preflight.decide import TOO_UNSURE, classify, is_follow_up
from context.preflight.replay import past_categories
from context.preflight.types import Category, LearnedWeights, Preflight, Previous, RequestKind
from context.priors.evaluate import factors_from_bytes
from context.priors.types import CorruptPriorsError
from context.recall.ranking import find_question
from models.encryption.keys import TextUnavailableError
from models.hints import NO_HINTS, Hints
from models.learning.habits import FULL_WEIGHT
from models.learning.prior_set import SetKind, SetPlace, SetState
from models.learning.served_set import load_set
from models.preflight.decision import Made
from models.preflight.policy import Topic, find_policy, find_topic, load_asked
from models.preflight.settings import preflight_settings
from models.scope import Scope
from models.telemetry.counters import Counted, count

log = structlog.get_logger()

MOST_ASKED = 4
"""Number of newest user messages searched for the current task."""

KNOWN_MEMORY = frozenset(TOOLS[Category.MEMORY]) - frozenset(TOOLS[Category.CASUAL])
"""Recall tools; a session with a call of such a tool has recalled something."""

ALL_PASSED = {"tools.all_when_unsure": "unsure", "tools.all_for_complex": "complex"}
"""Reasons for passing all tools, as named in counts."""


@dataclass(frozen=True)
class Policy:
    """A policy in force, with learned category factors.

    Attributes:
        config: The policy.
        version: The policy's version; 0 for the settings' policy.
        factors: Factor on the score of a category; 1 if missing.
    """

    config: PreflightRules
    version: int = 0
    factors: Mapping[Category, float] = field(default_factory=dict)


policies = FreshCache[UUID, Policy](lambda: preflight_settings().preflight_cache_s)
"""Policies of the tenants."""


def policy_of(tenant_id: UUID) -> Policy:
    """Return the policy in force, at most `preflight_cache_s` old."""

    def read() -> Policy:
        with Scope.read(tenant_id) as scope:
            return load_policy(scope)

    return policies.find(tenant_id, read)


def load_policy(scope: Scope) -> Policy:
    """Read a tenant's policy; missing fields come from the settings."""
    base = preflight_settings().policy
    stored = find_policy(scope)
    factors = load_factors(scope)
    if stored is None:
        return Policy(base, factors=factors)
    return Policy(read_config(stored.config, base=base), stored.version, factors)


def load_factors(scope: Scope) -> Mapping[Category, float]:
    """Read the learned factors in force; empty if missing or unreadable."""
    try:
        found = load_set(scope.db, SetPlace(scope.tenant_id, SetKind.CATEGORIES, ""), state=SetState.ACTIVE)
        return factors_from_bytes(found.blob) if found else {}
    except (CorruptPriorsError, TextUnavailableError) as error:
        log.warning("category_factors_unreadable", tenant_id=str(scope.tenant_id), error=error.code)
        return {}


def shares_of(habits: Mapping[str, float]) -> dict[Category, float]:
    """Compute the share of a user's messages per category, in [0, 1], shrunk for few messages."""
    total = max(sum(habits.values()), FULL_WEIGHT)
    return {name: habits[name] / total for name in past_categories(habits)}


@dataclass(frozen=True)
class PreflightResult:
    """Preflight decision of a request, with its work after the answer.

    Attributes:
        found: The decision.
        hints: The session's topic and the decision, to store after the answer.
    """

    found: Preflight
    hints: Hints = NO_HINTS


@dataclass(frozen=True)
class Conversation:
    """The session of a message, possibly without a turn yet.

    Attributes:
        session_id: The session.
        topic: The session's topic, read just before; None to read it.
    """

    session_id: str
    topic: Topic | None = None


def preflight_for(
    tenant_id: UUID,
    conversation: Conversation | None,
    text: str,
    *,
    attachments: Sequence[str] = (),
    tools: Sequence[str] | None = None,
    called: Collection[str] = (),
    matched: MatchedTools = NOTHING_MATCHED,
    kind: RequestKind = RequestKind.USER,
    records: bool = True,
) -> PreflightResult:
    """Classify a new message by the tenant's policy, and log the result without any text.

    Args:
        tenant_id: The message's tenant.
        conversation: The session; None for none.
        text: The user's text.
        attachments: The media type or the name of each attachment.
        tools: The names of the caller's tools, after its own denials; None if unknown.
        called: Tools called in the kept history; kept in any case.
        matched: Tools matched by the message's own words; the best outside of all categories are kept too.
        kind: Origin of the request.
        records: False to neither count, log nor record the result.
    """
    began = time.perf_counter()
    policy = policy_of(tenant_id)
    topic, previous, pinned = None, None, {*called, *(set(matched.best) - policy.config.known_tools)}
    session_id = conversation.session_id if conversation else None
    if conversation and kind is RequestKind.USER and policy.config.enabled:
        topic, previous = _find_previous(tenant_id, conversation, text, policy.config)
    found = classify(
        text,
        attachments=attachments,
        previous=previous,
        kind=kind,
        tools=tools,
        pinned=pinned,
        config=policy.config,
        weights=LearnedWeights(
            policy.factors,
            shares_of(topic.habits) if topic else {},
            recalls=bool(topic and topic.recalls) or not KNOWN_MEMORY.isdisjoint(called),
        ),
        policy_version=policy.version,
    )
    config = policy.config
    stay = {*pinned, *config.always_include}
    found = by_words(found, tools, matched, pinned=stay, known=config.known_tools)
    if not records:
        return PreflightResult(found)
    count(Counted.PREFLIGHT, _outcome(found))
    _log(session_id, found, tools, spent_ms=(time.perf_counter() - began) * 1000)
    turn_index = None if session_id is None else (topic.last_turn_index if topic else 0) + 1
    made = Made(found, session_id, turn_index, previous, tools, sorted(pinned))
    return PreflightResult(found, _hints(made))


def _outcome(found: Preflight) -> str:
    """Name the outcome for the tools in a word."""
    if found.tool_allowlist is not None:
        return "filtered"
    return next((word for reason, word in ALL_PASSED.items() if reason in found.reasons), "off")


def _find_previous(
    tenant_id: UUID, conversation: Conversation, text: str, config: PreflightRules
) -> tuple[Topic | None, Previous | None]:
    """Find a session's topic; without a stored topic, classify the users' last questions."""
    with Scope.read(tenant_id) as scope:
        topic = conversation.topic or find_topic(scope, conversation.session_id)
        if topic is None:
            return None, None
        if topic.categories is not None:
            return topic, Previous(past_categories(topic.categories), topic.age_s, topic.confidence)
        if not is_follow_up(text):
            return topic, None
        asked = load_asked(scope, conversation.session_id, most=MOST_ASKED)
    for message, age_s in asked:
        said = find_question([message])
        if said and not is_follow_up(said):
            found = classify(said, config=config)
            if found.categories != (Category.CASUAL,):
                return topic, Previous(found.categories, age_s, found.confidence or 1.0)
    return topic, None


def _log(session_id: str | None, found: Preflight, tools: Sequence[str] | None, *, spent_ms: float) -> None:
    offered = len(tools) if tools is not None else None
    log.info(
        "preflight_classified",
        session_id=session_id,
        categories=[str(category) for category in found.categories],
        confidence=round(found.confidence, 3),
        inherited=found.inherited,
        fallback=found.tool_allowlist is None,
        tools_kept=offered - found.hidden if offered is not None else None,
        tools_all=offered,
        max_facts=found.memory.max_facts,
        max_tokens=found.memory.max_tokens,
        thinking=str(found.thinking_level),
        policy_version=found.policy_version,
        ms=round(spent_ms, 2),
    )


def _hints(made: Made) -> Hints:
    """Choose what to store after the answer; a lost record is harmless."""
    found = made.found
    if not found.scores:
        return NO_HINTS
    is_task = found.categories != (Category.CASUAL,)
    remembers = made.session_id is not None and made.turn_index != 1 and is_task
    records = random.random() < preflight_settings().preflight_record_share  # noqa: S311 - a sample
    categories = [str(category) for category in found.categories]
    return Hints(
        made.session_id,
        topic=(categories, found.confidence if categories else 1.0) if remembers else None,
        decision=made if records else None,
    )


def wants_labels(made: Made) -> bool:
    """Tell whether a model shall label an unsure message, for later messages; only if configured."""
    unsure = not made.found.categories or TOO_UNSURE in made.found.reasons
    is_wanted = preflight_settings().preflight_relabel and made.session_id is not None
    return is_wanted and unsure and not made.found.inherited
