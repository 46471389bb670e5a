"""The cases of the fault suite, and the guards without which each goes red, as their docstrings say."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.data import ROOT

PLACE = Path(__file__).parent
RED_WITHOUT = re.compile(r'Red without "([^"]+)"')


@dataclass(frozen=True)
class Case:
    """A test of the fault suite.

    Attributes:
        test: As pytest names it, from the root of the tree.
        guards: The names of the guards of which each alone, taken away, makes it fail.
    """

    test: str
    guards: tuple[str, ...]


def find_cases() -> Iterator[Case]:
    """Every case, in the order of the files and of their lines."""
    for path in sorted(PLACE.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                told = " ".join((ast.get_docstring(node) or "").split())
                yield Case(f"{path.relative_to(ROOT)}::{node.name}", tuple(RED_WITHOUT.findall(told)))
