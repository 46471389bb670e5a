"""Model profiles: show budgets, import prices, and set an operator's overrides."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from decimal import Decimal
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from pydantic import TypeAdapter, ValidationError
from rich.table import Table

from afterturn.operating import (
    DATA_DIRECTORY,
    FIRST_TENANT,
    AsJson,
    known_tenant,
    operator_transaction,
    print_json,
    print_tables,
)
from context.providers.profiles import FALLBACK, ModelProfile, ProfileOverride, resolve_profile
from models.catalogs.model_profile import (
    find_prices,
    import_prices,
    list_overrides,
    list_profiles,
    load_profile,
    remove_override,
    set_override,
)
from models.database import Transaction
from models.scope import Scope

app = typer.Typer(
    help="Show model profiles, import prices, override values.", no_args_is_help=True, add_completion=False
)

Tenant = Annotated[str, typer.Option(help="Whose overrides.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]
Prefix = Annotated[str, typer.Argument(help="A model's id, or the start of ids.")]

_OVERRIDE = TypeAdapter(ProfileOverride)
_COLUMNS = ("model", "tier", "input", "output", "catalog bytes", "flags", "cache", "USD in", "USD out")
_FLAGS = (
    ("strict_json", "strict"),
    ("hybrid_reasoning", "hybrid"),
    ("filter_pass", "filter"),
    ("prefix_cache", "cache"),
)


@app.command("list")
def list_all(
    model: Annotated[
        list[str] | None, typer.Argument(help="Models to look up; all profiles without.")
    ] = None,
    tenant: Tenant = FIRST_TENANT,
    json: AsJson = False,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Show the models' budgets with the tenant's overrides; tiers tell how reliable answers are."""
    table = Table(*_COLUMNS)
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
        rows = [(name, load_profile(Scope(db, owner), name)) for name in model] if model else _all(db, owner)
    if json:
        print_json([{"model": name, **asdict(profile)} for name, profile in rows])
        return
    for name, profile in rows:
        table.add_row(name, *_cells(profile))
    print_tables(table)


@app.command("import")
def import_all(data_dir: DataDir = DATA_DIRECTORY) -> None:
    """Import the prices and windows of the installed price list. Overrides stay unchanged."""
    from llm.pricing import read_price_map  # noqa: PLC0415 - the list comes with what takes seconds to import

    prices = read_price_map()
    with operator_transaction(data_dir) as db:
        done = import_prices(db, prices)
    print(f"models listed: {done.listed}, new or changed: {done.changed}")


@app.command("set")
def set_values(
    prefix: Prefix,
    values: Annotated[list[str], typer.Argument(help="NAME=VALUE: tier=B, input_tokens=9000, input_usd=0.5")],
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Set a tenant's values for models of a prefix; unnamed values stay."""
    override = read_override(prefix, values)
    with operator_transaction(data_dir) as db:
        set_override(Scope(db, known_tenant(db, tenant)), override)
    print(f"set {override.prefix}")


@app.command()
def unset(prefix: Prefix, tenant: Tenant = FIRST_TENANT, data_dir: DataDir = DATA_DIRECTORY) -> None:
    """Go by the shared values of a prefix again."""
    with operator_transaction(data_dir) as db:
        if not remove_override(Scope(db, known_tenant(db, tenant)), prefix.strip().lower()):
            raise typer.BadParameter(f"{tenant} has no override of {prefix}")
    print(f"unset {prefix}")


def _all(db: Transaction, owner: UUID) -> list[tuple[str, ModelProfile]]:
    shared, overrides = list_profiles(db), list_overrides(Scope(db, owner))
    names = sorted({each.prefix for each in shared} | {each.prefix for each in overrides})
    prices = find_prices(db, names)
    rows = [(name, resolve_profile(name, shared, overrides=overrides, prices=prices)) for name in names]
    return [*rows, ("*", FALLBACK)]


def _cells(profile: ModelProfile) -> list[str]:
    flags = " ".join(short for name, short in _FLAGS if getattr(profile, name))
    ttl = "" if profile.cache_ttl_s is None else f"{profile.cache_ttl_s:g} s"
    return [
        profile.tier,
        f"{profile.input_tokens:,}",
        f"{profile.output_tokens:,}",
        f"{profile.catalog_bytes:,}" if profile.catalog_bytes else "all",
        flags,
        ttl,
        _shown(profile.input_usd),
        _shown(profile.output_usd),
    ]


def _shown(usd: Decimal | None) -> str:
    return "?" if usd is None else f"{usd.normalize():f}"


def read_override(prefix: str, values: Sequence[str]) -> ProfileOverride:
    """Read an operator's override.

    Args:
        prefix: A model's id, or the start of ids.
        values: `NAME=VALUE`, names as in `ProfileOverride`.

    Raises:
        typer.BadParameter: A name is unknown, or a value has the wrong type; the error names both.
    """
    named = dict(value.partition("=")[::2] for value in values)
    known = [field.name for field in fields(ProfileOverride) if field.name != "prefix"]
    if unknown := sorted(named.keys() - set(known)):
        raise typer.BadParameter(f"{', '.join(unknown)}: a name is one of {', '.join(known)}")
    try:
        return _OVERRIDE.validate_python({**named, "prefix": prefix.strip().lower()})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise typer.BadParameter(f"{place}: {first['msg']}".lstrip(": ")) from None
