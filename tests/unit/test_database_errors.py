"""What each SQLSTATE says, for the API and for workers: one table."""

import errno

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from models.database_errors import INNOCENT, Trouble, trouble_of

STATES = {
    Trouble.AWAY: "08000 08001 08003 08004 08006 57P01 57P02 57P03 57P04 57P05 25P03 25P04",
    Trouble.FULL: "53000 53100 53200 53300 53400",
    Trouble.BROKEN: "58000 58030 58P01 58P02 XX001 XX002",
    Trouble.READ_ONLY: "25006",
    Trouble.CONFLICT: "40001 40003 40P01 72000",
    Trouble.HELD: "55P03 55006",
    Trouble.SLOW: "57014",
    Trouble.GONE: "23503",
    Trouble.UNFIT: "28000 28P01 3D000 3F000 42501 42P01 42703 42704 42883 42P10 0A000 26000 42P05",
}
OWN_FAULTS = "22001 22P02 22P05 23502 23505 23514 25001 25P02 42601 42804 54000 54001 55000 57000 P0001 XX000"


class Said(psycopg.Error):
    """An error with a state of the test's choice, as the server gives it."""

    def __init__(self, state: str) -> None:
        super().__init__("words")
        self.sqlstate = state


@pytest.mark.parametrize(
    ("state", "trouble"), [(state, trouble) for trouble, states in STATES.items() for state in states.split()]
)
@pytest.mark.parametrize("wrapper", [OperationalError, InternalError, DBAPIError, IntegrityError, None])
def test_a_state_says_the_same_whatever_class_wraps_it(
    state: str, trouble: Trouble, wrapper: type[DBAPIError] | None
) -> None:
    error = Said(state)
    assert trouble_of(wrapper("select 1", {}, error) if wrapper else error) is trouble


@pytest.mark.parametrize("state", OWN_FAULTS.split())
def test_what_is_the_fault_of_what_was_asked_is_no_trouble(state: str) -> None:
    assert trouble_of(OperationalError("select 1", {}, Said(state))) is None


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("commit", {}, psycopg.OperationalError("the connection is lost")),
        InterfaceError("select 1", {}, psycopg.InterfaceError("the connection is closed")),
        psycopg.OperationalError("consuming input failed: server closed the connection unexpectedly"),
    ],
)
def test_an_error_that_no_server_gave_is_a_connection_that_broke(error: Exception) -> None:
    assert trouble_of(error) is Trouble.AWAY


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (PoolTimeoutError("QueuePool limit"), Trouble.FULL),
        (OSError(errno.ENOSPC, "full"), Trouble.FULL),
        (OSError(errno.EMFILE, "files"), Trouble.FULL),
        (BrokenPipeError(errno.EPIPE, "pipe"), Trouble.FULL),
        (FileNotFoundError(errno.ENOENT, "no file"), None),
        (ValueError("words"), None),
        (MemoryError(), None),
    ],
)
def test_a_machine_that_lacks_something_is_trouble_too(error: Exception, trouble: Trouble | None) -> None:
    assert trouble_of(error) is trouble


def test_only_what_was_erased_meanwhile_counts_against_work() -> None:
    assert set(Trouble) - INNOCENT == {Trouble.GONE}
