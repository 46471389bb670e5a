"""Comparison of the provider's cache with the expectation, and its use in prices of requests."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask

from api.catalogs.budgets import profiles
from api.context.cache import LessonCache
from context.providers.prompt_cache import LEAST_FOUND_SHARE, CacheRule, cache_rule, cache_ttl_s
from context.providers.usage import Report, cached_input_tokens, read_report
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.summary_settings import compression_settings
from models.database import best_effort_transaction
from models.learning.cache_found import (
    SETTLED_REPORTS,
    Expectation,
    find_found,
    note_found,
    remember_expected,
)
from models.tenants.call_role import keep_to

log = structlog.get_logger()

shares = LessonCache(find_found, lambda one: one.reports >= SETTLED_REPORTS)
"""Shares of expected tokens that providers find."""


def learned_rule(tenant_id: UUID, model: str) -> CacheRule:
    """Return a model's cache rule at the tenant's price, with the share that the provider finds."""
    profile = profiles.find(tenant_id, model)
    rule = cache_rule(model).at_price(profile.input_usd, profile.cached_usd)
    return rule.as_found(shares.find(tenant_id, model).share)


def caches(tenant_id: UUID, model: str) -> bool:
    """Tell whether a provider caches prefixes, by the settings, the table and the tenant's reports."""
    if cache_ttl_s(model, compression_settings().activation_settings.cache_ttl_s) <= 0:
        return False
    return shares.find(tenant_id, model).share >= LEAST_FOUND_SHARE


def cached_share(tenant_id: UUID, model: str) -> float:
    """Return the price of an expected token as a share of the input price; 0 without a cache."""
    return learned_rule(tenant_id, model).read_share if caches(tenant_id, model) else 0.0


def expect(tenant_id: UUID, expected: Expectation) -> None:
    """Store a request's expectation after the answer; a lost expectation is harmless."""
    keep_to(tenant_id)
    try:
        with best_effort_transaction() as db:
            remember_expected(db, tenant_id, expected)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=expected.session_id, error=type(error).__name__)


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
            with best_effort_transaction() as db:
                is_compared = note_found(
                    db,
                    tenant_id,
                    one.session_id,
                    after_seq=one.after_seq,
                    model=one.model,
                    report=one.report,
                    cached_tokens=one.cached_tokens,
                )
                lesson = find_found(db, tenant_id, one.model) if is_compared else None
        except SQLAlchemyError as error:
            log.warning("cache_check_failed", session_id=one.session_id, error=type(error).__name__)
            return
        if lesson is not None:
            shares.keep(tenant_id, one.model, lesson, learned_at=time.monotonic())
