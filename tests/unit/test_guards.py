"""Every guard that the mutation run takes away still stands where it says, and every fault names its own."""

import pytest

from tests.acceptance.faults.cases import Case, find_cases
from tests.acceptance.faults.guards import GUARDS, Guard
from tests.data import ROOT

CASES = tuple(find_cases())


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_guard_stands_once_in_its_file_and_some_test_misses_it(guard: Guard) -> None:
    assert (ROOT / guard.file).read_text().count(guard.text) == 1
    assert guard.text != guard.lost
    assert all((ROOT / test.split("::")[0]).exists() for test in guard.tests)
    assert guard.tests or any(guard.name in case.guards for case in CASES)


def test_guards_have_names_of_their_own() -> None:
    assert len({guard.name for guard in GUARDS}) == len(GUARDS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.test)
def test_a_fault_names_the_guards_without_which_it_goes_red(case: Case) -> None:
    assert case.guards
    assert set(case.guards) <= {guard.name for guard in GUARDS}
