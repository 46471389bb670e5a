"""Recall across a user's sessions: permission, and a tenant's switch by user."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

from sqlalchemy import select, text, update

from models.conversations.log import TurnRow
from models.conversations.session import lock_existing
from models.due_work.queue import WorkKind, WorkState, enqueue
from models.scope import Scope
from models.tenants.tenant import Tenant

_TERM = 0xFFFFFFFF
"""Mask of a term's half of a key: the same half in every session of a tenant."""

SAMPLES = (16, 256)
"""Passages for one in a sample: a sample's key leads to so many times fewer passages of a term."""

_MIX = 2_654_435_761
_STARTS = 0xFFFFF

_DRAWS = 256

USER_KEYS = f"""array(
    select half << 32 | (key & {_TERM})
    from unnest(passage.keys) key
    cross join unnest(cast(:halves as bigint[]), cast(:ones_in as int[])) sample (half, one_in)
    where ((((key >> 32) # key) + (passage.start & {_STARTS}) * {_MIX}) & {_TERM}) >> 24 < {_DRAWS} / one_in
)"""  # noqa: S608 (numbers of our own)
"""`UserKey.keys_of` in SQL, for a row `passage`."""


@dataclass(frozen=True)
class UserKey:
    """Key of a user's passages, from turns of the user.

    Attributes:
        tenant_id: The tenant.
        user_id: The user, as named in turns.
    """

    tenant_id: UUID
    user_id: str

    def half(self, one_in: int = 1) -> int:
        """Compute the user's half of a key of all passages, or of a sample: a signed number of 32 bits."""
        sample = "" if one_in == 1 else f"-{one_in}"
        name = f"{self.tenant_id}/user{sample}/{self.user_id}"
        return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), signed=True)

    @property
    def halves(self) -> dict[int, int]:
        """The halves of keys of all passages, and of each sample."""
        return {one_in: self.half(one_in) for one_in in (1, *SAMPLES)}

    def key_of(self, key: int, one_in: int = 1) -> int:
        """Convert the key of a term in any session to the user's key of the same term."""
        return self.half(one_in) << 32 | key & _TERM

    def keys_of(self, keys: Iterable[int], *, start: int) -> list[int]:
        """Convert the keys of a passage to the user's keys, with those of the samples that have the passage.

        A sample is taken anew for each term, so that all terms of a user are sampled alike.

        Args:
            keys: The keys of the passage in its session.
            start: Place of the passage in its session.
        """
        halves = self.halves
        return sorted(
            {
                half << 32 | key & _TERM
                for key in keys
                for one_in, half in halves.items()
                if _draw(key, start) < _DRAWS // one_in
            }
        )


def _draw(key: int, start: int) -> int:
    """Draw a number from 0 to 255, the same one each time for a term of a passage."""
    return ((((key >> 32) ^ key) + (start & _STARTS) * _MIX) & _TERM) >> 24


def recalls_users(scope: Scope) -> bool:
    """Check whether the tenant wants recall across the sessions of a user."""
    found = scope.db.execute(select(Tenant.recalls_users).where(Tenant.tenant_id == scope.tenant_id)).scalar()
    return bool(found)


def users_of_turns(scope: Scope, session_id: str, turns: Collection[int]) -> dict[int, str]:
    """Find the users of turns, by index; none when the tenant has recall by user switched off."""
    rows = scope.db.execute(
        select(TurnRow.turn_index, TurnRow.user_id)
        .join(Tenant, Tenant.tenant_id == TurnRow.tenant_id)
        .where(
            TurnRow.tenant_id == scope.tenant_id,
            TurnRow.session_id == session_id,
            TurnRow.turn_index.in_(sorted(turns)),
            TurnRow.user_id.is_not(None),
            Tenant.recalls_users,
        )
    )
    return {row.turn_index: str(row.user_id) for row in rows}


def has_users(scope: Scope, session_id: str) -> bool:
    """Check whether a session is searched from other sessions: a turn has a user, and the switch is on."""
    return recalls_users(scope) and bool(_users_of(scope, session_id))


def find_only_user(scope: Scope, session_id: str) -> str | None:
    """Find the only user of a session's turns; returns None without a user, or with several users."""
    users = _users_of(scope, session_id)
    return users[0] if len(users) == 1 else None


_USERS = text(
    "select distinct user_id from turn where tenant_id = :tenant_id and session_id = :session_id "
    "and user_id is not null limit 2"
)


def _users_of(scope: Scope, session_id: str) -> Sequence[str]:
    """Find up to two users of a session."""
    return scope.execute(_USERS, session_id=session_id).scalars().all()


USER_RECALL = "user-recall"
"""Key of the work that wakes a tenant's sessions after the switch."""

_STATES = text(f"""
    select kind, state, count(*) from due_work
    where tenant_id = :tenant_id and state <> '{WorkState.IDLE}'
        and (kind = '{WorkKind.USER_KEYS}' or (kind = '{WorkKind.WAKE}' and key = '{USER_RECALL}'))
    group by kind, state
""")  # noqa: S608 (names of our own)


@dataclass(frozen=True)
class UserRecall:
    """State of the switch.

    Attributes:
        enabled: True while requests may recall a user's other sessions.
        is_settled: True when the stored passages of every session follow the switch.
        sessions_waiting: Sessions known to wait; more may follow while the state is not settled.
        given_up: Pieces of work given up after repeated failures.
    """

    enabled: bool
    is_settled: bool
    sessions_waiting: int
    given_up: int


def switch_user_recall(scope: Scope, *, on: bool) -> None:
    """Switch recall across the sessions of a user; workers add or remove the user keys of stored passages."""
    scope.db.execute(update(Tenant).where(Tenant.tenant_id == scope.tenant_id).values(recalls_users=on))
    enqueue(scope, WorkKind.WAKE, USER_RECALL)


def find_user_recall(scope: Scope) -> UserRecall:
    """Find the state of the switch and of the work behind it."""
    waiting: Counter[str] = Counter()
    for kind, state, pieces in scope.execute(_STATES):
        waiting["dead" if state == WorkState.DEAD else kind] += pieces
    sessions = waiting[WorkKind.USER_KEYS]
    is_settled = not sessions and not waiting[WorkKind.WAKE]
    return UserRecall(recalls_users(scope), is_settled, sessions, waiting["dead"])


_SESSIONS = text(
    "select distinct session_id from turn where tenant_id = :tenant_id and user_id is not null "
    "and session_id > :after order by session_id limit :most"
)


def list_named_sessions(scope: Scope, *, after: str, most: int) -> list[str]:
    """List the sessions with turns that name a user, in the order of the ids."""
    asked = {"after": after, "most": most}
    return list(scope.execute(_SESSIONS, **asked).scalars())


_WANTED = text("""
    select t.user_id from recall_passage p
    join turn t on t.tenant_id = p.tenant_id and t.session_id = p.session_id and t.turn_index = p.turn_index
    where p.tenant_id = :tenant_id and p.session_id = :session_id and p.user_keys is null
        and t.user_id is not null
    limit 1
""")
_ADD = text(f"""
    with chosen as (
        select p.start_seq, p.start from recall_passage p
        join turn t on t.tenant_id = p.tenant_id and t.session_id = p.session_id
            and t.turn_index = p.turn_index
        where p.tenant_id = :tenant_id and p.session_id = :session_id and p.user_keys is null
            and t.user_id = :user_id
        limit :most
    )
    update recall_passage passage set user_keys = {USER_KEYS} from chosen
    where passage.tenant_id = :tenant_id and passage.session_id = :session_id
        and passage.start_seq = chosen.start_seq and passage.start = chosen.start
""")  # noqa: S608 (parts of our own)
_REMOVE = text("""
    with chosen as (
        select start_seq, start from recall_passage
        where tenant_id = :tenant_id and session_id = :session_id and user_keys is not null limit :most
    )
    update recall_passage passage set user_keys = null from chosen
    where passage.tenant_id = :tenant_id and passage.session_id = :session_id
        and passage.start_seq = chosen.start_seq and passage.start = chosen.start
""")


def follow_switch(scope: Scope, session_id: str, *, most: int) -> int:
    """Add or remove the user keys of some stored passages of a session, as the switch says now.

    The session is locked meanwhile: the lock waits for an indexing worker with the former state of the
    switch. Safe to call again.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        most: Maximum number of passages, >= 1.

    Returns:
        Number of changed passages; fewer than `most` when the session follows the switch now, or is gone.
    """
    if not lock_existing(scope, [session_id]):
        return 0
    if not recalls_users(scope):
        return scope.execute(_REMOVE, session_id=session_id, most=most).rowcount
    changed = 0
    while changed < most and (user_id := scope.execute(_WANTED, session_id=session_id).scalar()) is not None:
        halves = UserKey(scope.tenant_id, user_id).halves
        named = {"user_id": user_id, "ones_in": list(halves), "halves": list(halves.values())}
        changed += scope.execute(_ADD, session_id=session_id, **named, most=most - changed).rowcount
    return changed
