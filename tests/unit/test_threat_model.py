"""The page about threats names tests that exist."""

import re

from tests.data import ROOT
from tests.unit.sources import python_files

PAGE = ROOT / "docs" / "security" / "threat-model.md"


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    defined = {
        name for file in python_files("tests") for name in re.findall(r"def (test_\w+)\(", file.read_text())
    }
    assert len(named) >= 40
    assert named - defined == set()
