"""Preflight of a request: by the tenant's policy, and by what its session was last about."""

import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask

from context.preflight.classify import classify, is_follow_up
from context.preflight.config import PreflightConfig, read_config
from context.preflight.decide import TOO_UNSURE
from context.preflight.policy import TOOLS
from context.preflight.replay import past_categories
from context.preflight.types import Category, Kind, Preflight, Previous, Weights
from context.priors.categories import factors_from_bytes
from context.priors.types import CorruptPriorsError
from context.recall.question import find_question
from models.counting import Counted, count
from models.habits import FULL_WEIGHT
from models.preflight import Topic, find_policy, find_topic, load_asked, remember_topic
from models.preflight_record import Made, record_decision
from models.prior import SetKind, SetPlace, SetState, load_set
from models.row_security import keep_to
from models.session import Transaction, hinting, reading
from models.settings import preflight_settings
from models.text_keys import TextUnavailableError
from models.work import WorkKind, want

log = structlog.get_logger()

MOST_ASKED = 4
"""How many of the newest user messages are looked at for the task that is under way."""

KNOWN_MEMORY = frozenset(TOOLS[Category.MEMORY]) - frozenset(TOOLS[Category.CASUAL])
"""Tools that recall: a session that called one has recalled something."""

ALL_PASSED = {"tools.all_when_unsure": "unsure", "tools.all_for_complex": "complex"}
"""Why all tools passed, as it is counted."""


@dataclass(frozen=True)
class Policy:
    """A policy in force, with what was learned of its categories.

    Attributes:
        config: The policy.
        version: Its version; 0 for the one of the settings.
        factors: By how much the score of a category is multiplied; 1 where it is missing.
    """

    config: PreflightConfig
    version: int = 0
    factors: Mapping[Category, float] = field(default_factory=dict)


class PolicyCache:
    """The tenants' policies of a moment ago: a request needs no query for its own."""

    def __init__(self, most: int = 10_000) -> None:
        """Hold at most so many tenants."""
        self._known: dict[UUID, tuple[float, Policy]] = {}
        self._most = most
        self._lock = Lock()

    def find(self, tenant_id: UUID) -> Policy:
        """The policy in force, at most `preflight_cache_s` old."""
        until, policy = self._known.get(tenant_id, (0.0, None))
        if policy is not None and time.monotonic() < until:
            return policy
        with reading() as db:
            return self.keep(tenant_id, load_policy(db, tenant_id))

    def keep(self, tenant_id: UUID, policy: Policy) -> Policy:
        """Remember a policy that was just read or put."""
        until = time.monotonic() + preflight_settings().preflight_cache_s
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[tenant_id] = (until, policy)
        return policy


policies = PolicyCache()


def load_policy(db: Transaction, tenant_id: UUID) -> Policy:
    """Read a tenant's policy; what it does not say is as the settings have it."""
    base = preflight_settings().policy
    stored = find_policy(db, tenant_id)
    factors = load_factors(db, tenant_id)
    if stored is None:
        return Policy(base, factors=factors)
    return Policy(read_config(stored.config, base=base), stored.version, factors)


def load_factors(db: Transaction, tenant_id: UUID) -> Mapping[Category, float]:
    """Read the learned factors in force; none where there are none, or where they cannot be read."""
    try:
        found = load_set(db, SetPlace(tenant_id, SetKind.CATEGORIES, ""), state=SetState.ACTIVE)
        return factors_from_bytes(found.blob) if found else {}
    except (CorruptPriorsError, TextUnavailableError) as error:
        log.warning("category_factors_unreadable", tenant_id=str(tenant_id), error=error.code)
        return {}


def shares_of(habits: Mapping[str, float]) -> dict[Category, float]:
    """The share of a user's messages in each category, in [0, 1], shrunk where there are few of them."""
    total = max(sum(habits.values()), FULL_WEIGHT)
    return {name: habits[name] / total for name in past_categories(habits)}


@dataclass(frozen=True)
class Judged:
    """What preflight says of a request, and what is to be done once the answer is sent.

    Attributes:
        found: The decision.
        recording: Writes down what the session is about, and the decision; None where there is nothing to.
    """

    found: Preflight
    recording: BackgroundTask | None


def preflight_for(
    tenant_id: UUID,
    session_id: str | None,
    text: str,
    *,
    attachments: Sequence[str] = (),
    tools: Sequence[str] | None = None,
    called: Collection[str] = (),
    best: Collection[str] = (),
    kind: Kind = Kind.USER,
    is_trial: bool = False,
) -> Judged:
    """Classify a new message with the tenant's policy, and log the result without a word of it.

    Args:
        tenant_id: Whose message.
        session_id: Its conversation, which may have no turn yet; None for none.
        text: What the user says.
        attachments: The media type or the name of each thing attached.
        tools: The names of the caller's tools, after its own denials; None where it does not say.
        called: Tools that were called in the kept history; they stay in any case.
        best: Tools that the message's own words point at; those that no category speaks of stay too.
        kind: What the request comes from.
        is_trial: Whether nothing comes of it: it is neither counted nor logged nor recorded.
    """
    began = time.perf_counter()
    policy = policies.find(tenant_id)
    topic, previous, pinned = None, None, {*called, *(set(best) - policy.config.known_tools)}
    if session_id is not None and kind is Kind.USER and policy.config.enabled:
        topic, previous = _find_previous(tenant_id, session_id, text, policy.config)
    found = classify(
        text,
        attachments=attachments,
        previous=previous,
        kind=kind,
        tools=tools,
        pinned=pinned,
        config=policy.config,
        weights=Weights(
            policy.factors,
            shares_of(topic.habits) if topic else {},
            recalls=bool(topic and topic.recalls) or not KNOWN_MEMORY.isdisjoint(called),
        ),
        policy_version=policy.version,
    )
    if is_trial:
        return Judged(found, None)
    count(Counted.PREFLIGHT, _outcome(found))
    _log(session_id, found, tools, spent_ms=(time.perf_counter() - began) * 1000)
    turn_index = None if session_id is None else (topic.last_turn_index if topic else 0) + 1
    made = Made(found, session_id, turn_index, previous, tools, sorted(pinned))
    return Judged(found, _recording(tenant_id, made))


def _outcome(found: Preflight) -> str:
    """In a word: what became of the tools."""
    if found.tool_allowlist is not None:
        return "filtered"
    return next((word for reason, word in ALL_PASSED.items() if reason in found.reasons), "off")


def _find_previous(
    tenant_id: UUID, session_id: str, text: str, config: PreflightConfig
) -> tuple[Topic | None, Previous | None]:
    """Find what a session is about; where nobody remembered it, what its users last asked tells."""
    with reading() as db:
        topic = find_topic(db, tenant_id, session_id)
        if topic is None:
            return None, None
        if topic.categories is not None:
            return topic, Previous(past_categories(topic.categories), topic.age_s, topic.confidence)
        if not is_follow_up(text):
            return topic, None
        asked = load_asked(db, tenant_id, session_id, most=MOST_ASKED)
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


def _recording(tenant_id: UUID, made: Made) -> BackgroundTask | None:
    """What is to be written once the answer is sent: nobody waits for it, and its loss is harmless."""
    if not made.found.scores:
        return None
    is_task = made.found.categories != (Category.CASUAL,)
    remembers = made.session_id is not None and made.turn_index != 1 and is_task
    records = random.random() < preflight_settings().preflight_record_share  # noqa: S311 - a sample
    if not remembers and not records:
        return None
    return BackgroundTask(_record, tenant_id, made, remembers=remembers, records=records)


def _record(tenant_id: UUID, made: Made, *, remembers: bool, records: bool) -> None:
    keep_to(tenant_id)
    try:
        with hinting() as db:
            if remembers and made.session_id is not None:
                remember_topic(
                    db,
                    tenant_id,
                    made.session_id,
                    categories=[str(category) for category in made.found.categories],
                    confidence=made.found.confidence if made.found.categories else 1.0,
                )
            if records:
                record_decision(db, tenant_id, made)
                _want_labels(db, tenant_id, made)
    except SQLAlchemyError as error:
        log.warning("preflight_record_lost", session_id=made.session_id, error=type(error).__name__)


def _want_labels(db: Transaction, tenant_id: UUID, made: Made) -> None:
    """Have a model look at what nobody is sure of, for the messages that follow; only where that is set."""
    settings = preflight_settings()
    unsure = not made.found.categories or TOO_UNSURE in made.found.reasons
    if settings.preflight_relabel and unsure and made.session_id is not None and not made.found.inherited:
        want(
            db,
            tenant_id,
            WorkKind.RELABEL,
            made.session_id,
            delay_s=settings.preflight_relabel_delay_s,
        )
