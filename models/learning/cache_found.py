"""Cache hits of providers: expected and reported tokens, by day and model, without text."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Text,
    bindparam,
    func,
    select,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import Range
from sqlalchemy.orm import Mapped, mapped_column

from context.providers.prompt_cache import found_share
from context.providers.usage import LEAST_RATIO, MOST_UNSURE_RATIO, Report, model_key
from context.types import JsonObject
from models.base import Base, TenantKey
from models.database import Transaction
from models.learning.speculation import DAYS
from models.scope import Scope

SETTLED_REPORTS = 100
"""Reports until a model's share is settled; a settled model's reports are sampled."""


class CacheFound(Base):
    """Sums of a tenant's reports for a model on a day, against the expectations."""

    __tablename__ = "cache_found"
    __table_args__ = (
        CheckConstraint(
            "reports >= 0 and expected_tokens >= 0 and reported_tokens >= 0 "
            "and found_tokens between 0 and expected_tokens",
            name="counts_up",
        ),
    )

    tenant_id: Mapped[TenantKey]
    day: Mapped[date] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    reports: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    expected_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    reported_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    found_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))


@dataclass(frozen=True)
class FoundSums:
    """Sums of reports.

    Attributes:
        reports: Number of compared reports.
        expected_tokens: Tokens that the provider should have found, in the provider's count.
        reported_tokens: Tokens that the provider reported as found.
        found_tokens: Found tokens of the expected ones.
    """

    reports: int = 0
    expected_tokens: int = 0
    reported_tokens: int = 0
    found_tokens: int = 0

    @property
    def share(self) -> float:
        """The share of expected tokens that is really found, drawn to all for few reports."""
        return found_share(self.expected_tokens, self.found_tokens)

    @property
    def difference_tokens(self) -> int:
        """Reported tokens less expected tokens; negative if the provider found less."""
        return self.reported_tokens - self.expected_tokens


@dataclass(frozen=True)
class ModelFound:
    """Sums of a model's reports over some days."""

    model: str
    sums: FoundSums


@dataclass(frozen=True)
class Expectation:
    """Size of a request, and the tokens of it that the provider's cache should hold.

    Attributes:
        session_id: The session.
        after_seq: The last stored message before the request's new messages.
        model: The answering model.
        input_tokens: Tokens of the whole request.
        expected_tokens: Tokens that the provider should find.
        as_of: Time of the request, by the database's clock.
        is_anew: True if the request took in what arrived within its turn.
        hidden: Raw messages hidden before the window's first; None to keep what is known.
        bare_from: First message of a turn that has outgrown its beginning; None for another turn.
    """

    session_id: str
    after_seq: int
    model: str
    input_tokens: int
    expected_tokens: int
    as_of: datetime
    is_anew: bool = False
    hidden: Range[int] | None = None
    bare_from: int | None = None


EXPECT_SQL = """
    update session as s set
        turn_as_of = case when e.is_anew or s.cache_after_seq is distinct from e.after_seq then e.as_of
            else s.turn_as_of end,
        cache_after_seq = e.after_seq, cache_model = e.model, cache_input_tokens = e.input_tokens,
        cache_expected_tokens = e.expected_tokens, hidden_seqs = coalesce(e.hidden, s.hidden_seqs),
        bare_from = coalesce(e.bare_from, s.bare_from)
    from json_to_recordset(cast(:expected as json)) as e (after_seq bigint, model text, input_tokens integer,
        expected_tokens integer, as_of timestamptz, is_anew boolean, hidden int8range, bare_from bigint)
    where s.tenant_id = :tenant_id and s.session_id = :session_id
        and (e.is_anew or s.cache_after_seq is distinct from e.after_seq or s.cache_expected_tokens > 0
            or e.expected_tokens > 0 or e.hidden is not null or e.bare_from > 0)
"""
"""Store what a session's newest request showed, for the next request and for the report of the next turn.

The time of the turn's first request stays, unless a later request began anew. A further request of a turn
writes nothing if nothing is expected or hidden and nothing was.
"""


def expectation_json(expected: Expectation) -> JsonObject:
    """Write an expectation for `EXPECT_SQL`."""
    return {
        "after_seq": expected.after_seq,
        "model": model_key(expected.model),
        "input_tokens": expected.input_tokens,
        "expected_tokens": expected.expected_tokens,
        "as_of": expected.as_of,
        "is_anew": expected.is_anew,
        "hidden": None if expected.hidden is None else _written(expected.hidden),
        "bare_from": expected.bare_from,
    }


def _written(seqs: Range[int]) -> str:
    """Write a range as PostgreSQL reads it."""
    return "empty" if seqs.empty else f"{seqs.bounds[0]}{seqs.lower},{seqs.upper}{seqs.bounds[1]}"


_NOTE = text(
    """
    insert into cache_found as kept
        (tenant_id, day, model, reports, expected_tokens, reported_tokens, found_tokens)
    select :tenant_id, (now() at time zone 'UTC')::date, cache_model, 1, expected, :cached,
        least(:cached, expected)
    from (
        select cache_model,
            round(cache_expected_tokens * least(:input / cache_input_tokens::float8, 1))::bigint as expected
        from session
        where tenant_id = :tenant_id and session_id = :session_id and cache_after_seq = :after_seq
            and cache_model = :model and cache_expected_tokens > 0
            and :input between cache_input_tokens * :least and cache_input_tokens * :most
    ) as newest
    on conflict (tenant_id, day, model) do update set
        reports = kept.reports + 1, expected_tokens = kept.expected_tokens + excluded.expected_tokens,
        reported_tokens = kept.reported_tokens + excluded.reported_tokens,
        found_tokens = kept.found_tokens + excluded.found_tokens
    returning 1
    """
)


def note_found(
    scope: Scope,
    session_id: str,
    *,
    after_seq: int,
    model: str,
    report: Report,
    cached_tokens: int,
) -> bool:
    """Compare a turn's report with the expectation of the turn's last request, and count both.

    A report of another model, of another request or of several calls together is not compared. The
    expectation counts in the provider's tokens, by the ratio of both counts of the whole request.

    Args:
        scope: A separate transaction of the tenant; the row of the day is held until its end.
        session_id: The session.
        after_seq: The last message before the turn.
        model: The answering model.
        report: The report.
        cached_tokens: The tokens that the provider found, >= 0.

    Returns:
        True if compared.
    """
    scope.db.execute(text("set local synchronous_commit = off"))
    asked = {
        "session_id": session_id,
        "after_seq": after_seq,
        "model": model_key(model),
        "input": report.input_tokens,
        "cached": cached_tokens,
        "least": LEAST_RATIO,
        "most": MOST_UNSURE_RATIO,
    }
    return scope.execute(_NOTE, **asked).one_or_none() is not None


_SUMS = [func.coalesce(func.sum(getattr(CacheFound, name)), 0) for name in FoundSums.__dataclass_fields__]
_NEWEST = select(*_SUMS).where(
    CacheFound.tenant_id == bindparam("tenant_id"),
    CacheFound.model == bindparam("model"),
    CacheFound.day > text("(now() at time zone 'UTC')::date - :days"),
)


def find_found(scope: Scope, model: str) -> FoundSums:
    """Sum a model's reports of the newest days, under any name of the model."""
    asked = {"model": model_key(model), "days": DAYS}
    return FoundSums(*map(int, scope.execute(_NEWEST, **asked).one()))


def found_by_model(
    db: Transaction, tenant_id: UUID | None, *, first_day: date, last_day: date
) -> list[ModelFound]:
    """Sum the reports of a tenant, or of all, on a range of days (UTC), both ends included, by model."""
    whose = true() if tenant_id is None else CacheFound.tenant_id == tenant_id
    rows = db.execute(
        select(CacheFound.model, *_SUMS)
        .where(whose, CacheFound.day.between(first_day, last_day))
        .group_by(CacheFound.model)
        .order_by(CacheFound.model)
    )
    return [ModelFound(row[0], FoundSums(*map(int, row[1:]))) for row in rows]
