"""PostgreSQL's account: PostgreSQL refuses root, so root uses another account."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

ORDINARY_ACCOUNTS = ("postgres", "nobody")
"""Accounts present on most machines, best first. Accounts are never created."""


@dataclass(frozen=True)
class OrdinaryAccount:
    """An ordinary account for PostgreSQL; `search` for directories closed to the account."""

    uid: int
    gid: int
    search: bool


def open_to_all(path: Path) -> bool:
    """Tell whether every account can pass through the directories above `path`."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.absolute().parents)


def account_for_postgres(data: Path, program: Path) -> OrdinaryAccount | None:
    """Choose the account for PostgreSQL.

    Args:
        data: The data directory; an existing directory keeps its owner.
        program: The server's program.

    Returns:
        The account, or None without root, for the process's own account.

    Raises:
        LookupError: Root finds no ordinary account on the machine.
    """
    if os.geteuid() != 0:
        return None
    uid, gid = _owner(data) or _ordinary()
    return OrdinaryAccount(uid, gid, search=not (open_to_all(data) and open_to_all(program)))


def _owner(data: Path) -> tuple[int, int] | None:
    if not data.exists() or data.stat().st_uid == 0:
        return None
    return data.stat().st_uid, data.stat().st_gid


def _ordinary() -> tuple[int, int]:
    for name in ORDINARY_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    known = ", ".join(ORDINARY_ACCOUNTS)
    raise LookupError(f"PostgreSQL can't run as root and this machine has none of the accounts {known}")
