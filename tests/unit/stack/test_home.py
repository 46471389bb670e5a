"""What a stack's directory remembers, and who holds it: what opens Flower is made once, and kept private."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from afterturn.stack.home import Home, _alive

KEPT = "flower-auth"


def test_what_opens_flower_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    first = Home(tmp_path, keep=True).flower_auth
    name, _, password = first.partition(":")
    assert (name, len(password) >= 32) == ("afterturn", True)
    assert Home(tmp_path, keep=True).flower_auth == first
    assert stat.S_IMODE((tmp_path / KEPT).stat().st_mode) == 0o600


def test_no_two_stacks_are_opened_by_the_same(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert Home(tmp_path, keep=True).flower_auth != Home(tmp_path / "other", keep=True).flower_auth


@pytest.mark.parametrize("damaged", ["", "\n", "afterturn:", "afterturn"])
def test_a_file_without_a_password_leaves_flower_closed(tmp_path: Path, damaged: str) -> None:
    """An empty setting would open it to everybody."""
    (tmp_path / KEPT).write_text(damaged)
    assert len(Home(tmp_path, keep=True).flower_auth) > len("afterturn:")


def test_who_has_ended_holds_no_directory_though_its_parent_has_not_heard_of_it() -> None:
    """A stack that was killed is taken over as soon as its lock is free."""
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert not _alive(ended.pid)
    assert _alive(os.getpid())
