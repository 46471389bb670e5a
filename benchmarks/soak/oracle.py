"""The reckoning: what was acknowledged, held against what the API reads back and what the tables hold."""

from collections.abc import Iterator
from typing import Any

import psycopg

from benchmarks.soak.platform import Tenant
from benchmarks.soak.promises import Session, digest

_ROWS: dict[str, str] = {
    "more than one summary in force": """
        select tenant_id, session_id, count(*) from summary where state = 'active'
        group by 1, 2 having count(*) > 1""",
    "a summary beyond its log": """
        select s.tenant_id, s.session_id, s.to_seq from summary s join session using (tenant_id, session_id)
        where s.to_seq > session.last_seq""",
    "a call that is neither done nor failed": "select call_id from llm_call where state = 'reserved'",
    "work that was given up": """
        select kind, last_error, count(*) from due_work where state = 'dead' group by 1, 2""",
    "work whose lease ran out": "select kind, crashes from due_work where crashes > 0",
    "a turn twice": """
        select tenant_id, session_id, turn_id from turn group by 1, 2, 3 having count(*) > 1""",
    "a hole in a log": """
        select tenant_id, session_id from turn t join session using (tenant_id, session_id)
        where t.last_seq > session.last_seq""",
}
"""What must have no rows, by what it would mean."""

_LEFT = "select count(*) from {table} where session_id = any(%s)"
_TABLES = ("session", "turn", "message", "summary")
SHOWN = 5


def read_back(tenant: Tenant) -> Iterator[str]:
    """Read every session of a tenant and name each difference from what was promised."""
    for session in tenant.sessions:
        if session.is_erased:
            tenant.caller.send("read erased", "GET", session.path, expect=(404,))
        elif session.turns:
            yield from _differences(session, *_log(tenant, session))


def _log(tenant: Tenant, session: Session) -> tuple[dict[int, str], list[str]]:
    """The digest of each message that is there, and the ids of the turns in their order."""
    found: dict[int, str] = {}
    turns: list[str] = []
    read_on: int | None = 1
    while read_on is not None:
        answer = tenant.caller.send("read back", "GET", f"{session.path}/turns?from={read_on}")
        if not answer.ok:
            return found, turns
        for turn in answer.body["turns"]:
            turns.append(turn["turn_id"])
            found |= {seq: digest(body) for seq, body in zip(turn["seqs"], turn["messages"], strict=True)}
        read_on = answer.body["next"]
    return found, turns


def _differences(session: Session, found: dict[int, str], turns: list[str]) -> Iterator[str]:
    name = session.session_id
    if lost := sorted(session.said.keys() - found.keys()):
        yield f"{name}: lost messages {lost[:SHOWN]}"
    if more := sorted(found.keys() - session.said.keys()):
        yield f"{name}: messages out of nothing {more[:SHOWN]}"
    changed = [seq for seq, said in session.said.items() if said and found.get(seq, said) != said]
    if changed:
        yield f"{name}: other words in messages {changed[:SHOWN]}"
    there = {
        turn_id for turn_id, (a, b) in session.turns.items() if session.said.keys() & set(range(a, b + 1))
    }
    if missing := sorted(there - set(turns)):
        yield f"{name}: lost turns {missing[:SHOWN]}"
    if unknown := sorted(set(turns) - session.turns.keys()):
        yield f"{name}: turns that nobody sent {unknown[:SHOWN]}"


def look_into_tables(database: psycopg.Connection, tenants: list[Tenant], served: int) -> Iterator[str]:
    """Name what the tables hold that they must not, and what the ledger lacks.

    Args:
        database: Where to look.
        tenants: Whose sessions they are.
        served: How many requests the model had.
    """
    for meaning, query in _ROWS.items():
        rows = database.execute(query.encode()).fetchall()
        if rows:
            yield f"{meaning}: {len(rows)}, such as {rows[0]}"
    erased = [session.session_id for tenant in tenants for session in tenant.sessions if session.is_erased]
    for table in _TABLES:
        left = _one(database, _LEFT.format(table=table), erased)
        if left:
            yield f"{left} rows of {table} belong to erased sessions"
    calls = _one(database, "select count(*) from llm_call where model <> 'extractive'")
    if calls < served:
        yield f"the ledger has {calls} calls, and the model had {served}"


def _one(database: psycopg.Connection, query: str, *values: Any) -> int:
    row = database.execute(query.encode(), values or None).fetchone()
    return int(row[0]) if row else 0
