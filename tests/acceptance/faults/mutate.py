"""Take each guard away in a copy of the tree, and see a test go red.

python -m tests.acceptance.faults.mutate [part of a guard's name ...]
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

from tests.acceptance.faults.guards import GUARDS, Guard
from tests.data import DATA, ROOT

LEFT_OUT = (".venv", ".git", ".afterturn", "__pycache__", ".*_cache", ".hypothesis", "results")
TESTS_FAILED = 1
"""What pytest ends with when tests ran and some failed; other ends say that they did not run."""


def main(wanted: Sequence[str]) -> int:
    """Print what became of each guard.

    Returns:
        0 where every guard that was taken away was missed, else 1.
    """
    chosen = [guard for guard in GUARDS if not wanted or any(part in guard.name for part in wanted)]
    table = Table("guard", "tests", "ended", "seconds")
    kept = 0
    with tempfile.TemporaryDirectory() as place:
        for guard in chosen:
            began = time.monotonic()
            status = run_without(guard, Path(place) / "tree")
            kept += status != TESTS_FAILED
            said = "red" if status == TESTS_FAILED else f"NOT MISSED (pytest ended with {status})"
            table.add_row(guard.name, " ".join(guard.tests), said, f"{time.monotonic() - began:.0f}")
            sys.stdout.write(f"{guard.name}: {said}\n")
            sys.stdout.flush()
    Console(width=150).print(table)
    return 1 if kept else 0


def run_without(guard: Guard, tree: Path) -> int:
    """Run a guard's tests in a copy of the tree that lacks it. Returns pytest's exit status."""
    with copied(tree):
        weaken(guard, tree)
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *guard.tests],
            cwd=tree,
            env={**os.environ, "AFTERTURN_DATA": str(DATA)},
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
def copied(tree: Path) -> Iterator[None]:
    """A copy of the tree as it is now, without what is no part of it."""
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    try:
        yield
    finally:
        shutil.rmtree(tree)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
