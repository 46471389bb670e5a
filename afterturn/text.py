"""Encryption of stored text from the command line: rotate keys, seal, unseal, forget a tenant's key."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import typer
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
from models.database import Transaction
from models.encryption.cipher import find_uncleared, note_cleared, seals
from models.encryption.keys import TextUnavailableError
from models.encryption.settings import text_settings
from models.rekeying.columns import COLUMNS, count_cells
from models.rekeying.purge import shed_unreadable
from models.rekeying.rotation import (
    CountedCells,
    Transactions,
    Unreadable,
    change_rows,
    count_text,
    forget_text_key,
    list_text_tenants,
    rotate_keys,
)
from models.scope import Scope

app = typer.Typer(
    help="Seal stored text, rotate its keys, open or forget it.", add_completion=False, no_args_is_help=True
)

TenantName = Annotated[str, typer.Option("--tenant", help="Whose text.")]
DataDirectory = Annotated[Path, typer.Option("--data-dir", help="Where a stack may run.")]


@contextmanager
def _said() -> Iterator[None]:
    """Print a fault of the keys as a line."""
    try:
        yield
    except TextUnavailableError as error:
        typer.echo(f"afterturn: {error.message}", err=True)
        raise typer.Exit(1) from None


def _transactions(data_dir: Path) -> Transactions:
    def short() -> Iterator[Transaction]:
        with operator_transaction(data_dir) as db:
            yield db

    return contextmanager(short)


@app.command()
def status(
    *,
    tenant: TenantName = FIRST_TENANT,
    by_opening: Annotated[bool, typer.Option("--open", help="Try each sealed text.")] = False,
    json: AsJson = False,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Show the keys by id, the key of each tenant, and the share of a tenant's sealed text.

    Sealed text without a readable key is counted apart: the key is not in the shell's environment, or was
    forgotten.
    """
    masters = list(text_settings().masters)
    with operator_transaction(data_dir) as db:
        tenants = {name: master_id for _, name, master_id in list_text_tenants(db)}
        counted = count_text(Scope(db, known_tenant(db, tenant)), COLUMNS, by_opening=by_opening)
    if json:
        print_json({"seals": seals(), "master_keys": masters, "tenants": tenants, "text": counted})
        return
    state = f"new text is {'sealed' if seals() else 'stored as it is'}"
    print(f"Master keys: {', '.join(masters) or 'none'}; {state}.")
    keys = Table("tenant", "master key", "at hand")
    for name, master_id in tenants.items():
        at_hand = "-" if master_id is None else ("yes" if master_id in masters else "no")
        keys.add_row(name, master_id or "-", at_hand)
    print_tables(keys, _table_of(counted, tenant))
    if any(cells.unreadable.get(Unreadable.FORGOTTEN) for cells in counted.values()):
        print(f"`afterturn text clear --tenant {tenant} --for-ever` removes what a forgotten key sealed.")


def _table_of(counted: Mapping[str, CountedCells], tenant: str) -> Table:
    lost = [why for why in Unreadable if any(cells.unreadable.get(why) for cells in counted.values())]
    table = Table("text", "sealed", *lost, "as it is", title=f"Text of {tenant}")
    for name, cells in counted.items():
        numbers = (cells.sealed, *(cells.unreadable.get(why, 0) for why in lost), cells.plain)
        table.add_row(name, *(f"{number:,}" for number in numbers))
    return table


@app.command()
def rotate(data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Wrap every tenant's key with the first master key; then the others can be taken away."""
    if not text_settings().masters:
        raise typer.BadParameter("AFTERTURN_TEXT_KEYS names no key")
    with _said():
        changed = sum(rotate_keys(_transactions(data_dir)))
        with operator_transaction(data_dir) as db:
            every = sum(master_id is not None for _, _, master_id in list_text_tenants(db))
    print(f"{changed} keys were wrapped anew, {every - changed} were already.")


@app.command()
def seal(tenant: TenantName = FIRST_TENANT, data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Seal a tenant's text stored before the first key; can be stopped and restarted."""
    if not seals():
        raise typer.BadParameter("new text is not sealed: set AFTERTURN_TEXT_KEYS first, everywhere")
    _change(tenant, data_dir, "sealed")


@app.command()
def unseal(tenant: TenantName = FIRST_TENANT, data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Open all sealed text of a tenant, so that the key can be removed."""
    if seals() or not text_settings().masters:
        raise typer.BadParameter("keep AFTERTURN_TEXT_KEYS and set AFTERTURN_TEXT_SEALING=false, everywhere")
    _change(tenant, data_dir, "plain")


def _change(tenant: str, data_dir: Path, to: Literal["sealed", "plain"]) -> None:
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
    changed: Counter[str] = Counter()
    with _said():
        for name, count in change_rows(_transactions(data_dir), tenant_id, to=to):
            changed[name] += count
    for name, count in changed.items():
        print(f"{name}: {count:,}")
    print(f"The text of {tenant} is {'sealed' if to == 'sealed' else 'stored as it is'}.")


@app.command()
def forget(
    *,
    tenant: Annotated[str, typer.Option("--tenant", help="Whose text.")],
    for_ever: Annotated[bool, typer.Option("--for-ever", help="Say that you mean it.")] = False,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Delete a tenant's key: its sealed text is unreadable forever, also in backups made from now on.

    The text sealed with the key is then removed, as if erased. After an interruption, continue with `clear`.
    """
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
        sealed = 0 if for_ever else sum(count_cells(Scope(db, tenant_id), column)[0] for column in COLUMNS)
        if sealed and not for_ever:
            raise typer.BadParameter(
                f"{sealed:,} texts of {tenant} would be lost, which cannot be undone: say --for-ever"
            )
        gone = forget_text_key(Scope(db, tenant_id))
    print(f"The key of {tenant} is gone." if gone else f"{tenant} has no key.")
    if gone and not for_ever:
        _look_again(tenant, tenant_id, data_dir)
    if gone and for_ever:
        wait_s = text_settings().text_key_cache_s
        print(f"Waiting {wait_s:g} s, until no process holds it any more.", flush=True)
        time.sleep(wait_s)
        _clear(tenant, tenant_id, data_dir)


def _look_again(tenant: str, tenant_id: UUID, data_dir: Path) -> None:
    """Count again after deleting the key: text sealed in between is lost; without any, all is done."""
    with operator_transaction(data_dir) as db:
        sealed = sum(count_cells(Scope(db, tenant_id), column)[0] for column in COLUMNS)
        if not sealed:
            note_cleared(db, tenant_id, find_uncleared(db, tenant_id))
    if sealed:
        print(f"{sealed:,} texts were sealed meanwhile: `afterturn text clear --tenant {tenant} --for-ever`.")


@app.command()
def clear(
    *,
    tenant: Annotated[str, typer.Option("--tenant", help="Whose text.")],
    for_ever: Annotated[bool, typer.Option("--for-ever", help="Say that you mean it.")] = False,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Remove text sealed with a deleted key, as if erased; readable text stays."""
    if not for_ever:
        raise typer.BadParameter(
            "what no key of today opens is removed, also where a backup still has its key: say --for-ever"
        )
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
    _clear(tenant, tenant_id, data_dir)


def _clear(tenant: str, tenant_id: UUID, data_dir: Path) -> None:
    removed: Counter[str] = Counter()
    with _said():
        for name, count in shed_unreadable(_transactions(data_dir), tenant_id):
            removed[name] += count
    for name, count in removed.items():
        print(f"{name}: {count:,} could not be read and went, with all that was made of it")
    print(f"Nothing is left of {tenant} that cannot be read.")
