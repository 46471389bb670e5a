"""Stored model profiles: shared profiles, each tenant's overrides, and a price list."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any

from sqlalchemy import CheckConstraint, Double, Numeric, Text, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.providers.profiles import (
    ModelPrice,
    ModelProfile,
    ProfileOverride,
    Tier,
    find_override,
    price_ids,
    resolve_profile,
)
from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction
from models.scope import Scope

_MONEY = Numeric(18, 10)
_BATCH = 1_000

_SIZES = "input_tokens > 0 and output_tokens > 0 and catalog_bytes >= 0 and cache_ttl_s >= 0"
_COSTS = "input_usd >= 0 and output_usd >= 0 and cached_usd >= 0"


class StoredProfile(Base):
    """Profile of the models with a prefix, for every tenant."""

    __tablename__ = "model_profile"
    __table_args__ = (
        CheckConstraint("tier in ('A', 'B', 'C')", name="tier_is_known"),
        CheckConstraint(_SIZES, name="sizes_are_sizes"),
        CheckConstraint("prefix = lower(prefix)", name="prefix_is_lower_case"),
    )

    prefix: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    tier: Mapped[str]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    catalog_bytes: Mapped[int]
    strict_json: Mapped[bool]
    hybrid_reasoning: Mapped[bool]
    filter_pass: Mapped[bool]
    prefix_cache: Mapped[bool]
    cache_ttl_s: Mapped[float | None] = mapped_column(Double)


class StoredPrice(Base):
    """Price of a model from a price list; null is unknown."""

    __tablename__ = "model_price"
    __table_args__ = (
        CheckConstraint(_COSTS, name="costs_nothing_or_more"),
        CheckConstraint("context_window > 0", name="window_is_a_size"),
        CheckConstraint("model = lower(model)", name="model_is_lower_case"),
    )

    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    input_usd: Mapped[Decimal | None] = mapped_column(_MONEY)
    output_usd: Mapped[Decimal | None] = mapped_column(_MONEY)
    cached_usd: Mapped[Decimal | None] = mapped_column(_MONEY)
    context_window: Mapped[int | None]
    updated_at: Mapped[CreatedAt]


class StoredOverride(Base):
    """Override by a tenant's operator; null keeps the shared value."""

    __tablename__ = "profile_override"
    __table_args__ = (
        CheckConstraint("tier in ('A', 'B', 'C')", name="tier_is_known"),
        CheckConstraint(_SIZES, name="sizes_are_sizes"),
        CheckConstraint(_COSTS, name="costs_nothing_or_more"),
        CheckConstraint("prefix = lower(prefix)", name="prefix_is_lower_case"),
    )

    tenant_id: Mapped[TenantKey]
    prefix: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    tier: Mapped[str | None]
    input_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    catalog_bytes: Mapped[int | None]
    strict_json: Mapped[bool | None]
    hybrid_reasoning: Mapped[bool | None]
    filter_pass: Mapped[bool | None]
    prefix_cache: Mapped[bool | None]
    cache_ttl_s: Mapped[float | None] = mapped_column(Double)
    input_usd: Mapped[Decimal | None] = mapped_column(_MONEY)
    output_usd: Mapped[Decimal | None] = mapped_column(_MONEY)
    cached_usd: Mapped[Decimal | None] = mapped_column(_MONEY)
    updated_at: Mapped[CreatedAt]


_PROFILE = list(StoredProfile.__table__.columns)
_OVERRIDE = [StoredOverride.__table__.columns[field.name] for field in fields(ProfileOverride)]
_PRICE = [StoredPrice.__table__.columns[field.name] for field in fields(ModelPrice)]


def list_profiles(db: Transaction) -> list[ModelProfile]:
    """List all shared profiles, by prefix."""
    rows = db.execute(select(*_PROFILE).order_by(StoredProfile.prefix)).mappings()
    return [ModelProfile(**{**row, "tier": Tier(row["tier"])}) for row in rows]


def list_overrides(scope: Scope) -> list[ProfileOverride]:
    """List the overrides of a tenant, by prefix."""
    rows = scope.db.execute(
        select(*_OVERRIDE).where(StoredOverride.tenant_id == scope.tenant_id).order_by(StoredOverride.prefix)
    ).mappings()
    return [ProfileOverride(**{**row, "tier": Tier(row["tier"]) if row["tier"] else None}) for row in rows]


def find_prices(db: Transaction, models: Iterable[str]) -> list[ModelPrice]:
    """Find the listed prices of models, under any of the models' ids."""
    ids = {name for model in models for name in price_ids(model)}
    rows = db.execute(select(*_PRICE).where(StoredPrice.model.in_(ids))).mappings()
    return [ModelPrice(**row) for row in rows]


def load_profile(scope: Scope, model: str) -> ModelProfile:
    """Load the profile of a model for a tenant.

    Args:
        scope: The transaction and its tenant.
        model: The model's name at any host.

    Returns:
        The profile; the fallback profile for an unknown model.
    """
    return resolve_profile(
        model,
        list_profiles(scope.db),
        overrides=list_overrides(scope),
        prices=find_prices(scope.db, [model]),
    )


def load_prices(scope: Scope, model: str) -> tuple[ProfileOverride | None, ModelPrice | None]:
    """Load a tenant's override for a model, and the listed price of exactly the model's id."""
    own = find_override(model, list_overrides(scope))
    listed = scope.db.execute(select(*_PRICE).where(StoredPrice.model == model.strip().lower())).mappings()
    row = listed.one_or_none()
    return own, ModelPrice(**row) if row else None


def price_per_input_token(scope: Scope, model: str) -> Decimal | None:
    """Find the price of an input token of a model, in USD; None when unknown."""
    return load_profile(scope, model).usd_per_input_token


def set_override(scope: Scope, override: ProfileOverride) -> None:
    """Set override values for a tenant's models of a prefix; a value of None keeps an earlier value."""
    values = {name: value for name, value in asdict(override).items() if value is not None}
    row = insert(StoredOverride).values(tenant_id=scope.tenant_id, **values)
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[StoredOverride.tenant_id, StoredOverride.prefix],
            set_={**{name: row.excluded[name] for name in values}, "updated_at": func.now()},
        )
    )


def remove_override(scope: Scope, prefix: str) -> bool:
    """Return to the shared values. False without an override."""
    removed = scope.db.execute(
        delete(StoredOverride).where(
            StoredOverride.tenant_id == scope.tenant_id, StoredOverride.prefix == prefix
        )
    )
    return removed.rowcount == 1


@dataclass(frozen=True)
class Imported:
    """Result of an import.

    Attributes:
        listed: Number of models in the list.
        changed: Number of new or changed models.
    """

    listed: int
    changed: int


def import_prices(db: Transaction, prices: Sequence[ModelPrice]) -> Imported:
    """Import a price list. Overrides are separate and stay; a second import changes nothing.

    Args:
        db: A transaction.
        prices: The list, each model once, ids in lower case.

    Returns:
        Number of listed and changed models.
    """
    changed = sum(
        _import_batch(db, prices[start : start + _BATCH]) for start in range(0, len(prices), _BATCH)
    )
    return Imported(len(prices), changed)


def _import_batch(db: Transaction, prices: Sequence[ModelPrice]) -> int:
    row = insert(StoredPrice)
    values: dict[str, Any] = {column.name: row.excluded[column.name] for column in _PRICE[1:]}
    differs = or_(*(column.is_distinct_from(row.excluded[column.name]) for column in _PRICE[1:]))
    written = db.execute(
        row.on_conflict_do_update(
            index_elements=[StoredPrice.model], set_={**values, "updated_at": func.now()}, where=differs
        ).returning(StoredPrice.model),
        [asdict(price) for price in prices],
    )
    return len(written.all())
