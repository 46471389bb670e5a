"""Things made ahead of use: number made and used, tokens spent and saved, by day, without text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from context.precompute.worth import Account, Guess, Record, SpeculationPurpose, WorthLimits, may_spend
from models.base import Base, TenantKey
from models.catalogs.model_profile import price_per_input_token
from models.database import database_now
from models.ledger.call import spent_today
from models.scope import Scope

BUILT_IN = "extractive"
"""Name of the free built-in model."""

DAYS = 30
"""Number of days of counts read."""


class Speculation(Base):
    """Counts of a tenant's things made ahead on a day, by purpose, origin and kind."""

    __tablename__ = "speculation"
    __table_args__ = (
        CheckConstraint("purpose in ('reading', 'plan', 'summary')", name="purpose_is_known"),
        CheckConstraint("made >= 0 and used >= 0 and unused >= 0 and spent_tokens >= 0", name="counts_up"),
    )

    tenant_id: Mapped[TenantKey]
    day: Mapped[date] = mapped_column(primary_key=True)
    purpose: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    origin: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    kind: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    made: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    used: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    unused: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    spent_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    saved_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))


@dataclass(frozen=True)
class What:
    """Key of counts.

    Attributes:
        purpose: Purpose of the things.
        origin: Origin of the forecast.
        kind: Kind of an artifact's text; empty for other things.
    """

    purpose: SpeculationPurpose
    origin: str
    kind: str = ""


PREPARED = What(SpeculationPurpose.SUMMARY, "pause")
"""Key of summaries prepared for a pause."""

_ADD = text(
    """
    insert into speculation (tenant_id, day, purpose, origin, kind, made, used, unused, spent_tokens,
        saved_tokens)
    values (:tenant_id, (now() at time zone 'UTC')::date, :purpose, :origin, :kind, :made, :used, :made,
        :spent, :saved)
    on conflict (tenant_id, day, purpose, origin, kind) do update set
        made = speculation.made + excluded.made, used = speculation.used + excluded.used,
        unused = speculation.unused + excluded.unused,
        spent_tokens = speculation.spent_tokens + excluded.spent_tokens,
        saved_tokens = speculation.saved_tokens + excluded.saved_tokens
    """
)
_END_STREAK = text(
    """
    update speculation as one set unused = 0 from (
        select day, purpose, origin, kind from speculation
        where tenant_id = :tenant_id and purpose = :purpose and unused > 0
        order by day, origin, kind for no key update
    ) as held
    where one.tenant_id = :tenant_id and one.day = held.day and one.purpose = held.purpose
        and one.origin = held.origin and one.kind = held.kind
    """
)
_SPENT = text(
    """
    select coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)::bigint from llm_call
    where tenant_id = :tenant_id and call_id = any(:call_ids)
    """
)


_SPENT_SINCE = text(
    """
    select coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)::bigint
    from llm_call join due_work using (tenant_id, work_id)
    where tenant_id = :tenant_id and work_id = :work_id and llm_call.created_at >= now() - interval '1 day'
        and (finished_at is null or llm_call.created_at > finished_at)
    """
)


@dataclass(frozen=True)
class Reserved:
    """Tokens counted as spent before a call.

    Attributes:
        day: Day of the reservation.
        tokens: The most tokens of the call.
    """

    day: date
    tokens: int


def reserve_spending(scope: Scope, what: What, guess: Guess, limits: WorthLimits) -> Reserved | None:
    """Count a call's tokens as spent before the call, if the ceiling leaves room.

    Reservations of a tenant take turns, so that two calls cannot both take the rest of the ceiling. After a
    crash a reservation stays counted: spending is overrated for that day, never underrated.

    Args:
        scope: A separate short transaction of the tenant, committed before the call.
        what: Key of the thing.
        guess: The estimate of the call.
        limits: The limits of spending.

    Returns:
        The reservation, for `note_made` or `release`; None if the ceiling is reached.
    """
    scope.db.execute(_TAKE_TURNS, {"name": f"speculation {scope.tenant_id}"})
    _, account = find_record(scope, what)
    if not may_spend(guess, account, limits):
        return None
    _add(scope, what, spent=guess.tokens)
    return Reserved(database_now(scope.db).date(), guess.tokens)


_TAKE_TURNS = text("select pg_advisory_xact_lock(hashtextextended(:name, 0))")


def release(scope: Scope, what: What, reserved: Reserved) -> None:
    """Give a reservation back: the call was not made."""
    named = {"purpose": what.purpose.value, "origin": what.origin, "kind": what.kind}
    taken = {"day": reserved.day, "tokens": reserved.tokens}
    scope.execute(_GIVE_BACK, **taken, **named)


_GIVE_BACK = text(
    """
    update speculation set spent_tokens = greatest(spent_tokens - :tokens, 0)
    where tenant_id = :tenant_id and day = :day and purpose = :purpose and origin = :origin and kind = :kind
    """
)


def note_made(scope: Scope, what: What, *, spent_tokens: int, reserved: Reserved | None = None) -> None:
    """Count a made thing, at the end of the transaction, so that two transactions cannot deadlock.

    A reservation gives way to the tokens really spent.
    """
    if reserved is not None:
        release(scope, what, reserved)
    _add(scope, what, made=1, spent=spent_tokens)


def note_used(scope: Scope, what: What, *, saved_tokens: int) -> None:
    """Count a use of a thing, at the end of the transaction, like `note_made`."""
    scope.execute(_END_STREAK, purpose=what.purpose.value)
    _add(scope, what, used=1, saved=saved_tokens)


def _add(scope: Scope, what: What, **counts: int) -> None:
    named = {"purpose": what.purpose.value, "origin": what.origin, "kind": what.kind}
    scope.execute(_ADD, **named, **{"made": 0, "used": 0, "spent": 0, "saved": 0, **counts})


def spent_on(scope: Scope, call_ids: Sequence[UUID]) -> int:
    """Sum the tokens of calls, in and out."""
    asked = {"call_ids": list(call_ids)}
    return int(scope.execute(_SPENT, **asked).scalar_one()) if call_ids else 0


def spent_since_last(scope: Scope, work_id: int) -> int:
    """Sum the tokens of a piece of work since its last end, in and out."""
    return int(scope.execute(_SPENT_SINCE, work_id=work_id).scalar_one())


_STANDING = text(
    """
    select coalesce(sum(made) filter (where purpose = :purpose and origin = :origin and kind = :kind), 0),
        coalesce(sum(used) filter (where purpose = :purpose and origin = :origin and kind = :kind), 0),
        coalesce(sum(saved_tokens) filter (
            where purpose = :purpose and origin = :origin and kind = :kind), 0),
        coalesce(sum(unused) filter (where purpose = :purpose), 0),
        coalesce(sum(spent_tokens) filter (where day = today), 0),
        coalesce(sum(spent_tokens) filter (where day >= today - 1), 0),
        coalesce(sum(saved_tokens) filter (where day >= today - 1), 0),
        coalesce(sum(spent_tokens), 0)
    from speculation, (select (now() at time zone 'UTC')::date as today) as clock
    where tenant_id = :tenant_id and day > today - :days
    """
)


def find_record(scope: Scope, what: What) -> tuple[Record, Account]:
    """Find the record of a tenant's things of a key, and the account of all things."""
    named = {"purpose": what.purpose.value, "origin": what.origin, "kind": what.kind}
    row = scope.execute(_STANDING, days=DAYS, **named).one()
    record, account = map(int, row[:4]), map(int, row[4:])
    background = spent_today(scope, now=database_now(scope.db)).tokens
    return Record(*record), Account(background, *account)


_PAID = text(
    """
    select sum(price_usd) / nullif(sum(input_tokens + coalesce(output_tokens, 0)), 0) from (
        select price_usd, input_tokens, output_tokens from llm_call
        where tenant_id = :tenant_id and model = :model and state = 'ok' and price_usd is not null
            and input_tokens > 0 and created_at > now() - interval '1 day'
        order by created_at desc limit 50
    ) as newest
    """
)


def price_share(scope: Scope, *, maker: str, answering: str, default: float) -> float:
    """Compute the price of a model's token as a share of another model's input token.

    Args:
        scope: The transaction and the paying tenant.
        maker: The model that makes things ahead: priced by the tenant's newest calls, else by the list price.
        answering: The answering model.
        default: Share for an unknown price; 0 for a free maker, at any list price.
    """
    if not default or maker == BUILT_IN:
        return 0.0
    whole = price_per_input_token(scope, answering) if answering else None
    own = scope.execute(_PAID, model=maker).scalar()
    if own is None and maker:
        own = price_per_input_token(scope, maker)
    return default if own is None or not whole else float(own / whole)


@dataclass(frozen=True)
class MadeAhead:
    """Sums of a purpose.

    Attributes:
        purpose: Purpose of the things.
        made: Number of made things.
        used: Number of uses of all things.
        spent_tokens: Tokens of the making models.
        saved_tokens: Tokens of answering models saved by the uses; may be negative.
    """

    purpose: str
    made: int
    used: int
    spent_tokens: int
    saved_tokens: int


_SUMS = text(
    """
    select purpose, sum(made)::bigint, sum(used)::bigint, sum(spent_tokens)::bigint, sum(saved_tokens)::bigint
    from speculation where tenant_id = :tenant_id and day between :first and :last
    group by purpose order by purpose
    """
)


def made_ahead(scope: Scope, *, first_day: date, last_day: date) -> list[MadeAhead]:
    """Sum the things made ahead on a range of days (UTC), both ends included, by purpose."""
    rows = scope.execute(_SUMS, first=first_day, last=last_day)
    return [MadeAhead(*row) for row in rows]
