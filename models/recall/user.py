"""Recall across the sessions of a user: the tenant's switch, and the user keys of passages."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

from sqlalchemy import select, text, update

from models.conversations.log import Turn
from models.database import Transaction
from models.tenants.tenant import Tenant

_TERM = 0xFFFFFFFF
"""Mask of a term's half of a key: the same half in every session of a tenant."""


@dataclass(frozen=True)
class UserKey:
    """Key of a user's passages, from turns of the user.

    Attributes:
        tenant_id: The tenant.
        user_id: The user, as named in turns.
    """

    tenant_id: UUID
    user_id: str

    @property
    def half(self) -> int:
        """The user's half of a key, a signed number of 32 bits."""
        digest = blake2b(f"{self.tenant_id}/user/{self.user_id}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, signed=True)

    def key_of(self, key: int) -> int:
        """Convert the key of a term in any session to the user's key of the same term."""
        return self.half << 32 | key & _TERM

    def keys_of(self, keys: Iterable[int]) -> list[int]:
        """Convert the keys of a passage to the user's keys."""
        return sorted({self.key_of(key) for key in keys})


def recalls_users(db: Transaction, tenant_id: UUID) -> bool:
    """Check whether the tenant wants recall across the sessions of a user."""
    found = db.execute(select(Tenant.recalls_users).where(Tenant.tenant_id == tenant_id)).scalar()
    return bool(found)


def switch_users(db: Transaction, tenant_id: UUID, *, on: bool) -> None:
    """Switch recall across the sessions of a user on or off; passages from before need `add_user_keys`."""
    db.execute(update(Tenant).where(Tenant.tenant_id == tenant_id).values(recalls_users=on))


def users_of_turns(
    db: Transaction, tenant_id: UUID, session_id: str, turns: Collection[int]
) -> dict[int, str]:
    """Find the users of turns, by index; none when the tenant has recall by user switched off."""
    rows = db.execute(
        select(Turn.turn_index, Turn.user_id)
        .join(Tenant, Tenant.tenant_id == Turn.tenant_id)
        .where(
            Turn.tenant_id == tenant_id,
            Turn.session_id == session_id,
            Turn.turn_index.in_(sorted(turns)),
            Turn.user_id.is_not(None),
            Tenant.recalls_users,
        )
    )
    return {row.turn_index: str(row.user_id) for row in rows}


def has_users(db: Transaction, tenant_id: UUID, session_id: str) -> bool:
    """Check whether a session is searched from other sessions: a turn has a user, and the switch is on."""
    return recalls_users(db, tenant_id) and bool(_users_of(db, tenant_id, session_id))


def find_only_user(db: Transaction, tenant_id: UUID, session_id: str) -> str | None:
    """Find the only user of a session's turns; returns None without a user, or with several users."""
    users = _users_of(db, tenant_id, session_id)
    return users[0] if len(users) == 1 else None


_USERS = text(
    "select distinct user_id from turn where tenant_id = :tenant_id and session_id = :session_id "
    "and user_id is not null limit 2"
)


def _users_of(db: Transaction, tenant_id: UUID, session_id: str) -> Sequence[str]:
    """Find up to two users of a session."""
    return db.execute(_USERS, {"tenant_id": tenant_id, "session_id": session_id}).scalars().all()
