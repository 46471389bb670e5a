"""However a stack's owner ends, nothing of the stack stays."""

import json
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from afterturn.stack.processes import Launch, OrdinaryAccount
from tests.acceptance.trace import processes_about
from tests.data import ROOT
from tests.waiting import wait_until

OWNER = (sys.executable, "-m", "tests.acceptance.owner")
GONE_WITHIN_S = 120.0
MOMENTS = {
    "before anything": {"event": "owner"},
    "initdb runs": {"event": "started", "role": "initdb"},
    "PostgreSQL starts": {"event": "started", "role": "postgres"},
    "the migrations run": {"event": "started", "role": "prepare"},
    "all is ready": {"event": "ready"},
}


class Owner:
    """The process that owns a stack, its temporary files under one place of its own."""

    def __init__(self, place: Path, *arguments: str, command: Sequence[str] = OWNER) -> None:
        self.place = place
        self.process = subprocess.Popen(
            [*command, *arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(place)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, **wanted: Any) -> dict[str, Any]:
        """Read events until one has these facts."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            if wanted.items() <= event.items():
                return event
        raise AssertionError(f"the owner ended without {wanted}: {self.said()}")

    def said(self) -> str:
        """What it printed for people."""
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def ends_with(self) -> int:
        """Its exit status."""
        return self.process.wait(GONE_WITHIN_S)

    def keeper_pid(self) -> int:
        """The process between the owner and the servers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        assert len(children) == 1
        return int(children[0])

    def close(self) -> None:
        """End it for the test's sake; its keeper sees to the rest."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory that no process mentions any more when the test is over."""
    yield tmp_path
    wait_until(
        lambda: not processes_about(tmp_path), within_s=GONE_WITHIN_S, what=f"no process about {tmp_path}"
    )


@pytest.fixture
def owner(place: Path) -> Iterator[Owner]:
    """The owner of a temporary stack."""
    owner = Owner(place)
    yield owner
    owner.close()


def nothing_left(place: Path) -> bool:
    return not processes_about(place) and not list(place.iterdir())


STOPS = [
    *((moment, signal.SIGINT) for moment in MOMENTS),
    *(
        (moment, number)
        for moment in ("before anything", "all is ready")
        for number in (signal.SIGTERM, signal.SIGHUP)
    ),
]


@pytest.mark.parametrize(("moment", "number"), STOPS, ids=str)
def test_a_stop_signal_at_any_moment_leaves_nothing(
    owner: Owner, place: Path, moment: str, number: signal.Signals
) -> None:
    owner.wait_for(**MOMENTS[moment])
    owner.process.send_signal(number)
    assert owner.ends_with() == 0
    assert processes_about(place) == []
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_owner_leaves_nothing(owner: Owner, place: Path, moment: str) -> None:
    owner.wait_for(**MOMENTS[moment])
    owner.process.kill()
    wait_until(lambda: nothing_left(place), within_s=GONE_WITHIN_S, what="nothing left")


@pytest.mark.parametrize("moment", ["initdb runs", "the migrations run", "all is ready"])
def test_a_second_ctrl_c_hurries_and_still_leaves_nothing(owner: Owner, place: Path, moment: str) -> None:
    owner.wait_for(**MOMENTS[moment])
    for _ in range(3):
        owner.process.send_signal(signal.SIGINT)
    assert owner.ends_with() == 0
    assert processes_about(place) == []
    assert list(place.iterdir()) == []


def test_a_killed_keeper_is_cleared_up_by_its_owner(owner: Owner, place: Path) -> None:
    owner.wait_for(event="ready")
    os.kill(owner.keeper_pid(), signal.SIGKILL)
    assert owner.ends_with() == 1
    assert "keeper died" in owner.said()
    assert processes_about(place) == []
    assert list(place.iterdir()) == []


def test_owner_and_keeper_killed_at_once_leave_no_process(owner: Owner, place: Path) -> None:
    owner.wait_for(event="ready")
    keeper = owner.keeper_pid()
    owner.process.kill()
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: not processes_about(place), within_s=GONE_WITHIN_S, what="no process left")


@pytest.fixture
def owners(place: Path) -> Iterator[Callable[[], Owner]]:
    """Makes owners of the stack in one kept directory."""
    made: list[Owner] = []

    def make() -> Owner:
        made.append(Owner(place, str(place / "home")))
        return made[-1]

    yield make
    for owner in made:
        owner.close()


def test_a_second_stack_in_one_directory_is_told_whom_to_stop(owners: Callable[[], Owner]) -> None:
    first = owners()
    first.wait_for(event="ready")
    second = owners()
    assert second.ends_with() == 1
    assert f"in use by the stack of process {first.process.pid}" in second.said()
    assert first.process.poll() is None


def test_a_stack_that_was_killed_is_taken_over_with_its_data(owners: Callable[[], Owner]) -> None:
    first = owners()
    before = first.wait_for(event="ready")["addresses"]
    with psycopg.connect(before["database_url"]) as database:
        database.execute("insert into tenant (name) values ('kept')")
    keeper = first.keeper_pid()
    first.process.kill()
    os.kill(keeper, signal.SIGKILL)
    after = owners().wait_for(event="ready")["addresses"]
    with psycopg.connect(after["database_url"]) as database:
        assert database.execute("select count(*) from tenant where name = 'kept'").fetchone() == (1,)
    assert after["api_key"] == before["api_key"]


def test_a_killed_server_is_started_again_on_its_port(owners: Callable[[], Owner]) -> None:
    owner = owners()
    addresses = owner.wait_for(event="ready")["addresses"]
    for role in ("valkey", "postgres"):
        os.kill(addresses["pids"][role], signal.SIGKILL)
        assert owner.wait_for(event="crashed", role=role)["status"] == -signal.SIGKILL
        owner.wait_for(event="up", role=role)
    with psycopg.connect(addresses["database_url"]) as database:
        assert database.execute("select count(*) from alembic_version").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_account_can_run_it_too(place: Path) -> None:
    account = pwd.getpwnam("nobody")
    os.chown(place, account.pw_uid, account.pw_gid)
    launch = Launch(
        (sys.executable, "-m", "tests.acceptance.owner"),
        {**os.environ, "TMPDIR": str(place)},
        ROOT,
        OrdinaryAccount(account.pw_uid, account.pw_gid, search=True),
    )
    owner = Owner(place, command=launch.launcher_command())
    try:
        ready = owner.wait_for(event="ready")["addresses"]
        assert Path(f"/proc/{ready['pids']['valkey']}").stat().st_uid == account.pw_uid
        owner.process.terminate()
        assert owner.ends_with() == 0
        assert list(place.iterdir()) == []
    finally:
        owner.close()


def test_a_stopped_stack_keeps_only_its_directory(owners: Callable[[], Owner], place: Path) -> None:
    owner = owners()
    owner.wait_for(event="ready")
    owner.process.terminate()
    assert owner.ends_with() == 0
    assert [path.name for path in place.iterdir()] == ["home"]
    assert not (place / "home" / "tmp").exists()
