"""The table of messages gets its parts while a platform talks, with the statements of the operator's page."""

import re
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from afterturn.migrate import hold_to_tenants
from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.platform import SOON_S, Platform, dialogue, environment
from tests.data import ROOT
from tests.waiting import wait_until

PAGE = ROOT / "docs/operations/partitioning.md"
STEP = re.compile(r"```sql\n(.*?)```", re.DOTALL)


@pytest.fixture
def platform() -> Iterator[Platform]:
    """A stack of its own: its tables are changed."""
    with ScriptedServer() as model, pytest.MonkeyPatch.context() as patch:
        for name, value in {**environment(model), "AFTERTURN_ROW_SECURITY": "true"}.items():
            patch.setenv(name, value)
        with Stack(roles=(*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER)) as stack:
            platform = Platform(stack, model)
            yield platform
            platform.close()


def do(platform: Platform, statements: str) -> Sequence[tuple[object, ...]]:
    """Run a block of the page as psql would; the rows of the last statement."""
    with psycopg.connect(platform.database_url, autocommit=True) as database:
        done = database.execute(statements.encode())
        while done.nextset():
            pass
        return done.fetchall() if done.description else []


def is_let_in(platform: Platform, statements: str) -> bool:
    """Whether a block was done; where others held its tables for too long, the page says to call it again."""
    try:
        do(platform, statements)
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def say(platform: Platform, session_id: str) -> None:
    """A turn that the oracle is not told of: its messages will be erased."""
    turn = {"turn_id": "t1", "messages": dialogue(1)}
    assert platform.client.post(f"/v1/sessions/{session_id}/turns", json=turn).is_success


def erase(platform: Platform, path: str) -> None:
    assert platform.client.delete(f"/v1/sessions/{path}").is_success


def left_of(platform: Platform, session_id: str, table: str = "message") -> int:
    [(rows,)] = platform.rows(f"select count(*) from {table} where session_id = %s", session_id)  # noqa: S608
    return int(rows)


def test_messages_get_their_parts_under_traffic_and_nothing_is_lost(platform: Platform) -> None:
    """Without the trigger, turns that come during the copy would be missing; without the copy, all before."""
    table, twice, copy, call, compare, switch, drop = STEP.findall(PAGE.read_text())
    platform.talk("quiet")
    platform.is_summarized("quiet")
    platform.keeps_its_promises()
    for session_id in ("early", "late", "whole"):
        say(platform, session_id)
    before = platform.window("quiet")["messages"]
    with platform.traffic([f"busy-{number}" for number in range(4)]):
        for step in (table, twice, copy):
            do(platform, step)
            platform.flows(5)
        erase(platform, "early/messages/1")
        do(platform, call)
        erase(platform, "late/messages/1")
        assert "message_p63" in hold_to_tenants(platform.database_url)
        platform.flows(5)
    assert do(platform, compare) == [(0, 0)]
    with platform.traffic([f"later-{number}" for number in range(3)]):
        platform.flows(5)
        wait_until(lambda: is_let_in(platform, switch), within_s=SOON_S, what="the tables are switched")
        platform.flows(20)
    assert [left_of(platform, session_id) for session_id in ("early", "late", "whole")] == [1, 1, 2]
    for session_id in ("early", "late", "whole"):
        erase(platform, session_id)
        assert [left_of(platform, session_id, table) for table in ("message", "message_old")] == [0, 0]
    platform.keeps_its_promises()
    assert platform.window("quiet")["messages"] == before
    assert parts_read(platform, "quiet") == 1
    do(platform, drop)
    platform.talk("quiet", range(5, 9))
    platform.keeps_its_promises()


def parts_read(platform: Platform, session_id: str) -> int:
    """How many parts a read of a session looks into."""
    [(tenant_id,)] = platform.rows("select tenant_id from session where session_id = %s", session_id)
    read = f"select * from message where tenant_id = '{tenant_id}' and session_id = '{session_id}'"  # noqa: S608
    plan = platform.rows(f"explain {read}")
    return len(set(re.findall(r" on (message_p\d+)", str(plan))))
