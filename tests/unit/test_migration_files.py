"""The migration files: one line of history, each telling what a reviewer asks, tied to no other code."""

import ast
import re
import sys
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from afterturn.migrate import SCRIPTS, config
from tests.unit.sources import imported_roots

FILES = sorted((SCRIPTS / "versions").glob("*.py"))
ANSWERS = re.compile(r"^[A-Z].*[.;]\n\nLocks: \w.*\.\nOld code: \w.*\.\nBack: \w.*\.\n\Z", re.DOTALL)
MAY_IMPORT = {"alembic", "sqlalchemy"} | sys.stdlib_module_names


def test_history_is_one_line_of_four_digit_ids() -> None:
    history = ScriptDirectory.from_config(config(""))
    steps = [(step.down_revision, step.revision) for step in history.walk_revisions()][::-1]
    first = int(FILES[0].name[:4])
    ids = [f"{number:04}" for number in range(first, first + len(FILES))]
    assert steps == list(zip([None, *ids], ids, strict=False))
    assert [file.name[:5] for file in FILES] == [f"{number}_" for number in ids]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_docstring_says_what_is_locked_what_old_code_sees_and_what_going_back_loses(file: Path) -> None:
    assert ANSWERS.match(ast.get_docstring(ast.parse(file.read_text()), clean=False) or "")


@pytest.mark.parametrize("file", [SCRIPTS / "env.py", *FILES], ids=lambda file: file.stem)
def test_a_migration_needs_no_code_that_will_have_changed_when_it_runs(file: Path) -> None:
    assert imported_roots(file) <= MAY_IMPORT
