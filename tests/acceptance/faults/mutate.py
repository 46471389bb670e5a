"""Take each guard away in a copy of the tree, and see its tests and its faults go red.

python -m tests.acceptance.faults.mutate [part of the name of a guard or a test ...]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.acceptance.faults.cases import find_cases
from tests.acceptance.faults.guards import GUARDS, Guard
from tests.data import DATA, ROOT

LEFT_OUT = (".venv", ".git", ".afterturn", "__pycache__", ".*_cache", ".hypothesis", "results")
TESTS_FAILED = 1
"""What pytest ends with when tests ran and some failed; other ends say that they did not run."""

SOON_S = 30
"""What never happens without a guard is waited for no longer than this; with it, all happens much sooner."""

Run = tuple[str, ...]
"""What pytest is given: tests of which one must fail."""


def main(wanted: Sequence[str]) -> int:
    """Print what became of each guard.

    Returns:
        0 where every guard that was taken away was missed by all that should, else 1.
    """
    table = Table("guard", "tests", "ended", "seconds")
    kept = 0
    with tempfile.TemporaryDirectory() as place:
        for guard, runs in chosen(wanted):
            with copied(Path(place) / "tree") as tree:
                weaken(guard, tree)
                for tests in runs:
                    began = time.monotonic()
                    status = run_tests(tests, tree)
                    kept += status != TESTS_FAILED
                    said = "red" if status == TESTS_FAILED else f"NOT MISSED (pytest ended with {status})"
                    row = (guard.name, " ".join(tests), said, f"{time.monotonic() - began:.0f}")
                    table.add_row(*row)
                    sys.stdout.write(" | ".join(row) + "\n")
                    sys.stdout.flush()
    Console(width=150).print(table)
    return 1 if kept else 0


def chosen(wanted: Sequence[str]) -> Iterator[tuple[Guard, list[Run]]]:
    """The guards of which a name is wanted, with what must go red: their tests, and each of their cases."""
    cases = tuple(find_cases())
    for guard in GUARDS:
        runs = [guard.tests] if guard.tests else []
        runs += [(case.test,) for case in cases if guard.name in case.guards]
        if wanted:
            runs = [run for run in runs if any(part in f"{guard.name} {' '.join(run)}" for part in wanted)]
        if runs:
            yield guard, runs


def run_tests(tests: Run, tree: Path) -> int:
    """Run tests in a tree. Returns pytest's exit status."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env={**os.environ, "AFTERTURN_DATA": str(DATA), "TESTS_SOON_S": str(SOON_S)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return run.returncode


def weaken(guard: Guard, tree: Path) -> None:
    """Take a guard out of a tree.

    Raises:
        LookupError: Its code does not stand there exactly once.
    """
    path = tree / guard.file
    code = path.read_text()
    if code.count(guard.text) != 1:
        raise LookupError(f"{guard.file} has {code.count(guard.text)} places for '{guard.name}', not one")
    path.write_text(code.replace(guard.text, guard.lost))


@contextmanager
def copied(tree: Path) -> Iterator[Path]:
    """A copy of the tree as it is now, without what is no part of it."""
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    try:
        yield tree
    finally:
        shutil.rmtree(tree)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
