"""What was made ahead of use, what was used of it, what it took and saved: counts by day, and no text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from context.worth import Account, Purpose, Record
from models.base import Base, TenantKey
from models.clock import present
from models.ledger import spent_today
from models.profile import price_per_input_token
from models.session import Transaction

BUILT_IN = "extractive"
"""The model that costs nothing."""

DAYS = 30
"""How many days of counts are looked at."""


class Speculation(Base):
    """What a tenant had made ahead on one day, by what it is, who foresaw its use, and of what."""

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
    """What is counted together.

    Attributes:
        purpose: What it is.
        origin: Who foresaw its use.
        kind: Of what it is made: the kind of an artifact's text; empty for the rest.
    """

    purpose: Purpose
    origin: str
    kind: str = ""


PREPARED = What(Purpose.SUMMARY, "pause")
"""Summaries that wait for a pause."""

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


def note_made(db: Transaction, tenant_id: UUID, what: What, *, spent_tokens: int) -> None:
    """Count a thing that was made, at the end of its transaction, or two might wait for each other."""
    _add(db, tenant_id, what, made=1, spent=spent_tokens)


def note_used(db: Transaction, tenant_id: UUID, what: What, *, saved_tokens: int) -> None:
    """Count a use of a thing, at the end of its transaction, as `note_made`."""
    db.execute(_END_STREAK, {"tenant_id": tenant_id, "purpose": what.purpose.value})
    _add(db, tenant_id, what, used=1, saved=saved_tokens)


def _add(db: Transaction, tenant_id: UUID, what: What, **counts: int) -> None:
    named = {"purpose": what.purpose.value, "origin": what.origin, "kind": what.kind}
    nothing = {"made": 0, "used": 0, "spent": 0, "saved": 0}
    db.execute(_ADD, {"tenant_id": tenant_id, **named, **nothing, **counts})


def spent_on(db: Transaction, tenant_id: UUID, call_ids: Sequence[UUID]) -> int:
    """Say what calls took, in tokens, in and out."""
    asked = {"tenant_id": tenant_id, "call_ids": list(call_ids)}
    return int(db.execute(_SPENT, asked).scalar_one()) if call_ids else 0


def spent_since_last(db: Transaction, tenant_id: UUID, work_id: int) -> int:
    """Say what a piece of work took since it last ended, in tokens, in and out."""
    return int(db.execute(_SPENT_SINCE, {"tenant_id": tenant_id, "work_id": work_id}).scalar_one())


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


def find_record(db: Transaction, tenant_id: UUID, what: What) -> tuple[Record, Account]:
    """Say what became of what a tenant had made of a kind, and what all of it took and saved."""
    named = {"purpose": what.purpose.value, "origin": what.origin, "kind": what.kind}
    row = db.execute(_STANDING, {"tenant_id": tenant_id, "days": DAYS, **named}).one()
    record, account = map(int, row[:4]), map(int, row[4:])
    background = spent_today(db, tenant_id, now=present(db)).tokens
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


def price_share(db: Transaction, tenant_id: UUID, *, maker: str, answering: str, default: float) -> float:
    """Say what a token of one model costs, as a share of an input token of another.

    Args:
        db: A transaction.
        tenant_id: Who pays.
        maker: The model that makes things ahead: by the tenant's newest calls of it, else by its list price.
        answering: The model that answers.
        default: The share where a price is not known; 0 where the maker costs nothing, whatever is listed.
    """
    if not default or maker == BUILT_IN:
        return 0.0
    whole = price_per_input_token(db, tenant_id, answering) if answering else None
    own = db.execute(_PAID, {"tenant_id": tenant_id, "model": maker}).scalar()
    if own is None and maker:
        own = price_per_input_token(db, tenant_id, maker)
    return default if own is None or not whole else float(own / whole)


@dataclass(frozen=True)
class MadeAhead:
    """What came of one purpose.

    Attributes:
        purpose: What was made.
        made: How many.
        used: How often they were used, all together.
        spent_tokens: Tokens of the models that made them.
        saved_tokens: Tokens of answering models that their uses saved; may be negative.
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


def made_ahead(db: Transaction, tenant_id: UUID, *, first_day: date, last_day: date) -> list[MadeAhead]:
    """Add up what was made ahead on these days (UTC), both included, by purpose."""
    rows = db.execute(_SUMS, {"tenant_id": tenant_id, "first": first_day, "last": last_day})
    return [MadeAhead(*row) for row in rows]
