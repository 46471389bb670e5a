"""Learning from reported usage: calibration of token counts, and cache hits beside their expectation."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask

from api.cache import LessonCache
from api.catalogs.budgets import profiles
from context.providers.prompt_cache import LEAST_FOUND_SHARE, CacheRule, cache_rule, cache_ttl_s
from context.providers.usage import Report, cached_input_tokens, measure_growth, model_key, read_report
from context.tokens import guarantee, observe
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.session import find_session
from models.conversations.session_state import SessionState
from models.conversations.settings import compression_settings
from models.conversations.standing import load_compactions
from models.learning.cache_found import (
    SETTLED_REPORTS,
    find_found,
    note_found,
)
from models.providers.calibration import find_calibration, keep_calibration, load_reported_turns
from models.scope import Scope
from models.tenants.row_security import keep_to

log = structlog.get_logger()

shares = LessonCache(find_found, lambda one: one.reports >= SETTLED_REPORTS)
"""Shares of expected tokens that providers find."""


def learned_rule(tenant_id: UUID, model: str) -> CacheRule:
    """Return a model's cache rule at the tenant's price, with the share that the provider finds."""
    profile = profiles.find(tenant_id, model)
    rule = cache_rule(model).at_price(profile.input_usd, profile.cached_usd)
    return rule.as_found(shares.find(tenant_id, model).share)


def caches(tenant_id: UUID, model: str, *, most_tokens: int | None = None) -> bool:
    """Tell whether a provider caches prefixes, by the settings, the table and the tenant's reports.

    Args:
        tenant_id: The tenant.
        model: The answering model.
        most_tokens: The length of the longest request; None for any. A provider caches no shorter prefix
            than its rule says.
    """
    if most_tokens is not None and most_tokens < cache_rule(model).least_tokens:
        return False
    if cache_ttl_s(model, compression_settings().activation_settings.cache_ttl_s) <= 0:
        return False
    return shares.find(tenant_id, model).share >= LEAST_FOUND_SHARE


def cached_share(tenant_id: UUID, model: str) -> float:
    """Return the price of an expected token as a share of the input price; 0 without a cache."""
    return learned_rule(tenant_id, model).read_share if caches(tenant_id, model) else 0.0


@dataclass(frozen=True)
class _CacheReport:
    """A turn with a report about the cache."""

    session_id: str
    after_seq: int
    model: str
    report: Report
    cached_tokens: int


def checking(tenant_id: UUID, stored: Iterable[tuple[NewTurn, AcceptedTurn]]) -> BackgroundTask | None:
    """Build the task of comparing reports with expectations after the answer; a lost report is harmless.

    Args:
        tenant_id: The turns' tenant.
        stored: Accepted turns.

    Returns:
        The response's background task; None without anything to compare.
    """
    found = [
        _CacheReport(turn.session_id, accepted.first_seq - 1, turn.model, report, cached)
        for turn, accepted in stored
        if turn.usage and turn.model and not (accepted.duplicate or accepted.conflict)
        if not any(message.compaction for message in turn.messages)
        if (report := read_report(turn.usage)) and (cached := cached_input_tokens(turn.usage)) is not None
        if not shares.is_sampled_out(tenant_id, turn.model)
    ]
    return BackgroundTask(_check_all, tenant_id, found) if found else None


def _check_all(tenant_id: UUID, found: list[_CacheReport]) -> None:
    keep_to(tenant_id)
    for one in found:
        try:
            with Scope.best_effort(tenant_id) as scope:
                is_compared = note_found(
                    scope,
                    one.session_id,
                    after_seq=one.after_seq,
                    model=one.model,
                    report=one.report,
                    cached_tokens=one.cached_tokens,
                )
                lesson = find_found(scope, one.model) if is_compared else None
        except SQLAlchemyError as error:
            log.warning("cache_check_failed", session_id=one.session_id, error=type(error).__name__)
            return
        if lesson is not None:
            shares.learn(tenant_id, one.model, lesson)


SETTLED_OBSERVATIONS = 100
"""Observations until a model is settled; a settled model's reports are sampled."""


calibrations = LessonCache(find_calibration, lambda one: one.observations >= SETTLED_OBSERVATIONS)
"""Calibrations; uncalibrated for a model without reports."""


@dataclass(frozen=True)
class _ReportedTurn:
    """A turn with a report to learn from."""

    session_id: str
    model: str
    turn_index: int


def learning(tenant_id: UUID, stored: Iterable[tuple[NewTurn, AcceptedTurn]]) -> BackgroundTask | None:
    """Build the task of learning from reports after the answer; a lost report is harmless.

    Args:
        tenant_id: The turns' tenant.
        stored: Accepted turns; the newest report of a session is compared with earlier reports.

    Returns:
        The response's background task; None without anything to learn.
    """
    lessons = {
        accepted.session_id: _ReportedTurn(accepted.session_id, turn.model, accepted.turn_index)
        for turn, accepted in stored
        if turn.usage and turn.model and not accepted.duplicate and accepted.turn_index > 1
        if read_report(turn.usage) and not calibrations.is_sampled_out(tenant_id, turn.model)
    }
    return BackgroundTask(_learn_all, tenant_id, list(lessons.values())) if lessons else None


def _learn_all(tenant_id: UUID, lessons: list[_ReportedTurn]) -> None:
    keep_to(tenant_id)
    for lesson in lessons:
        try:
            _learn(tenant_id, lesson)
        except SQLAlchemyError as error:
            log.warning("calibration_failed", session_id=lesson.session_id, error=type(error).__name__)
            return


def _learn(tenant_id: UUID, lesson: _ReportedTurn) -> None:
    with Scope.read(tenant_id) as scope:
        session = find_session(scope, lesson.session_id)
        if session is None or _leaves_out(session, lesson.model):
            return
        if load_compactions(scope, lesson.session_id, after_seq=session.start_seq):
            return
        turns = load_reported_turns(
            scope, lesson.session_id, lesson.turn_index, served=session.max_tokens is not None
        )
        growth = measure_growth(turns)
        if growth is None:
            return
        seen = find_calibration(scope, lesson.model)
    learned = observe(
        seen,
        model=model_key(lesson.model),
        estimated=growth.estimated,
        reported=growth.reported,
        reports=growth.reports,
    )
    with Scope.write(tenant_id) as scope:
        kept = keep_calibration(scope, seen, learned)
    if kept:
        calibrations.learn(tenant_id, lesson.model, learned)


def _leaves_out(session: SessionState, model: str) -> bool:
    """Tell whether a window may lack a part of the history: reports then do not grow with the history."""
    load, budget = session.load, session.budget
    history = guarantee(load.raw_tokens + load.summary_tokens, model)
    if budget.history_room(history) < history:
        return True
    if session.context_window is None:
        return False
    return guarantee(load.input_tokens, model) > budget.input_tokens
