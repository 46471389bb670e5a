"""Every guard that the mutation run takes away still stands where it says."""

import pytest

from tests.acceptance.faults.guards import GUARDS, Guard
from tests.data import ROOT


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_guard_stands_once_in_its_file_and_its_tests_exist(guard: Guard) -> None:
    assert (ROOT / guard.file).read_text().count(guard.text) == 1
    assert guard.text != guard.lost
    assert all((ROOT / test.split("::")[0]).exists() for test in guard.tests)


def test_guards_have_names_of_their_own() -> None:
    assert len({guard.name for guard in GUARDS}) == len(GUARDS)
