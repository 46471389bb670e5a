"""When prepared summaries and plans take effect at a context read: where that pays with the prompt cache."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.context.reported_usage import caches, learned_rule
from context.precompute.worth import pays_at_once
from context.providers.prompt_cache import (
    CacheRule,
    CacheUse,
    cache_rule,
    cache_ttl_s,
    estimate_cache,
    is_other_model,
    split_request,
)
from context.tokens import guarantee
from context.tokens.budget import Budget
from context.types import Message
from context.window.activation import Activation, Moment, calls_for_work, choose_activation, is_cold
from context.window.types import Window
from models.conversations.session_state import SessionState
from models.conversations.settings import compression_settings
from models.conversations.standing import SessionSnapshot, find_standing
from models.conversations.summary import activate_prepared
from models.database import best_effort_transaction
from models.learning.speculation import PREPARED, note_used
from models.recall.index import is_indexed
from models.scope import Scope


@dataclass(frozen=True)
class Arrivals:
    """Decision about everything that arrived after a turn's first request.

    Attributes:
        as_of: Time of the turn's first request, or of a later one that took in what had arrived.
        behind_tokens: Tokens of the turn so far, in stored tokens.
        rule: The cache rule of the answering model, at the tenant's price.
    """

    as_of: datetime
    behind_tokens: int
    rule: CacheRule

    def is_late(self, ready_at: datetime | None) -> bool:
        """Tell whether something arrived within the turn."""
        return ready_at is not None and ready_at > self.as_of

    def pays(self, saved_tokens: int, block_tokens: int) -> bool:
        """Tell whether a shorter part before the turn pays at once.

        Args:
            saved_tokens: Tokens saved in each request; may be negative.
            block_tokens: Tokens of all artifacts shown after the change, which is written anew too.
        """
        return pays_at_once(saved_tokens, self.behind_tokens + block_tokens, self.rule)


def arrivals_in(
    tenant_id: UUID, model: str, session: SessionState | None, turn: Sequence[Message]
) -> Arrivals | None:
    """Find the decision for a request that goes on with a turn.

    Args:
        tenant_id: The session's tenant.
        model: The answering model.
        session: The session; None for an unstored session.
        turn: The messages of the turn so far, from its opening words on.

    Returns:
        The decision; None at a turn's beginning, and for a provider without a cache.
    """
    as_of = session.asked_since if session else None
    goes_on = any(message.answer_ids for message in turn)
    if as_of is None or not goes_on or not caches(tenant_id, model):
        return None
    return Arrivals(as_of, sum(message.tokens for message in turn), learned_rule(tenant_id, model))


log = structlog.get_logger()

FULL = 0.95
"""Fill level above which a window has no reliable room left."""


@dataclass(frozen=True)
class RequestSize:
    """Size of a request beside history, in stored tokens.

    Attributes:
        model: The answering model.
        budget: The window.
        lasting: The usual window of the session's requests, including the present request.
        system_tokens: The system prompt.
        tools_tokens: The tool definitions.
        new_tokens: The new messages.
        goes_on: True if the request answers calls: the turn's earlier part is in the provider's cache.
        fresh_tokens: New messages since the turn's earlier request; all new messages at the turn's beginning.
    """

    model: str
    budget: Budget
    lasting: Budget
    system_tokens: int
    tools_tokens: int
    new_tokens: int
    goes_on: bool = False
    fresh_tokens: int = 0

    def starts_otherwise(self, session: SessionState) -> bool:
        """Tell whether the last request's cached prefix is useless for the request."""
        seen = (session.system_tokens, session.tools_tokens)
        changed = session.max_tokens is not None and seen != (self.system_tokens, self.tools_tokens)
        return changed or is_other_model(self.model, session.model)

    def overflows(self, session: SessionState) -> bool:
        """Tell whether the usual window overflows with all history, with a margin for inexact counts."""
        return self._overflows(session, self.lasting)

    def holds(self, session: SessionState) -> bool:
        """Tell whether the request's own window holds all history, and calls for no summary, even early."""
        load = replace(
            session.load, system_tokens=self.system_tokens, tools_tokens=self.tools_tokens, model=self.model
        )
        settings = compression_settings()
        is_due = calls_for_work(load, load, self.budget, settings.thresholds, settings.activation_settings)
        return not is_due and not self._overflows(session, self.budget)

    def _overflows(self, session: SessionState, budget: Budget) -> bool:
        history = session.raw_tokens + session.summary_tokens
        total = history + self.system_tokens + self.tools_tokens + self.new_tokens
        too_long = guarantee(history, self.model) > budget.history_window * FULL
        return too_long or guarantee(total, self.model) > budget.input_tokens * FULL

    def moment(self, standing: SessionSnapshot) -> Moment:
        """Build the facts for choosing the moment."""
        session = standing.session
        return Moment(
            self.model,
            0.0 if self.goes_on else standing.idle_s,
            pressed=self.overflows(session),
            prefix_changes=not self.goes_on and self.starts_otherwise(session),
        )


def settle(
    tenant_id: UUID, standing: SessionSnapshot, asked: RequestSize, *, keep: bool = True
) -> tuple[SessionSnapshot, Activation | None]:
    """Activate the prepared summary if the request is a good moment; no model is called.

    The choice is stored, so that the next request has the same beginning. Two reads at once store the choice
    once. If a write holds the session, the next read makes the choice: no read waits.

    Args:
        tenant_id: The session's tenant.
        standing: The session's state.
        asked: Size of the request beside history.
        keep: True to store the choice; else the choice is rolled back after computing the resulting state.

    Returns:
        The session's new state, and the reason for the activation; None without an activation.
    """
    session = standing.session
    if not session.has_prepared:
        return standing, None
    moment = asked.moment(standing)
    if not caches(tenant_id, asked.model):
        moment = replace(moment, idle_s=None)
    why = choose_activation(moment, compression_settings().activation_settings)
    if why is None:
        return standing, None
    try:
        with best_effort_transaction() as db:
            scope = Scope(db, tenant_id)
            if not is_indexed(scope, session, through_seq=session.prepared_seq):
                return standing, None
            version = activate_prepared(scope, session.session_id, generation=session.generation)
            if version is not None and keep:
                saved = session.load.input_tokens - session.prepared_load.input_tokens
                note_used(scope, PREPARED, saved_tokens=saved)
            if not keep:
                would = find_standing(scope, session.session_id, asked.model)
                db.rollback()
                return would or standing, why if version is not None else None
    except SQLAlchemyError as error:
        log.warning("activation_put_off", session_id=session.session_id, error=type(error).__name__)
        return standing, None
    with Scope.read(tenant_id) as scope:
        settled = find_standing(scope, session.session_id, asked.model)
    return settled or standing, why if version is not None else None


def wants_work(standing: SessionSnapshot, asked: RequestSize) -> bool:
    """Tell whether a worker should look at the session: once per turn, and not while work is already due.

    The usual window decides, not the budget or window of a single request: other requests may be larger.
    """
    if standing.due_at is not None or (standing.is_tried and not asked.starts_otherwise(standing.session)):
        return False
    session, settings = standing.session, compression_settings()
    return calls_for_work(
        session.load,
        session.prepared_load,
        asked.lasting,
        settings.thresholds,
        settings.activation_settings,
    )


@dataclass(frozen=True)
class CacheForecast:
    """Forecast of the cached part of a request.

    Attributes:
        use: The part that stays from turn to turn, and the rest.
        expected_tokens: Tokens that the provider should find, by its least length and steps.
    """

    use: CacheUse
    expected_tokens: int


def forecast_cache(standing: SessionSnapshot | None, asked: RequestSize, window: Window) -> CacheForecast:
    """Estimate the provider's cached part of the window from the unchanged parts."""
    session = standing.session if standing else SessionState("")
    cold = is_cold(Moment(asked.model, _idle_s(standing)), compression_settings().activation_settings)
    is_warm = asked.goes_on or not (cold or asked.starts_otherwise(session))
    use = estimate_cache(
        split_request(window.certificate.blocks),
        warm=is_warm,
        notes_changed=standing is not None and _is_new(standing),
        start_moved=(window.first_seq or 0) > session.tail_from + 1,
    )
    whole = window.certificate.input_tokens
    found = max(whole - guarantee(asked.fresh_tokens, asked.model), 0) if asked.goes_on else 0
    expected = max(found if is_warm else 0, use.stable_prefix_tokens)
    return CacheForecast(use, cache_rule(asked.model).found(expected))


def cache_report(
    standing: SessionSnapshot | None,
    asked: RequestSize,
    forecast: CacheForecast,
    activation: Activation | None,
) -> dict[str, Any]:
    """Report the forecast, and the standing of the session's summaries and cache."""
    session = standing.session if standing else SessionState("")
    return {
        "expected_tokens": forecast.expected_tokens,
        "stable_prefix_tokens": forecast.use.stable_prefix_tokens,
        "changed_tokens": forecast.use.changed_tokens,
        "idle_s": _idle_s(standing),
        "ttl_s": cache_ttl_s(asked.model, compression_settings().activation_settings.cache_ttl_s),
        "activation": activation,
        "prepared_through": session.prepared_seq if session.has_prepared else None,
    }


def _idle_s(standing: SessionSnapshot | None) -> float | None:
    return standing.idle_s if standing else None


def _is_new(standing: SessionSnapshot) -> bool:
    """Tell whether the summary was activated after the last turn, unknown to any earlier request."""
    since = standing.summary.activated_at if standing.summary else None
    last = standing.session.last_turn_at
    return since is not None and last is not None and since > last
