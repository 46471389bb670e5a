"""The command line of an operator, on a running stack."""

import subprocess
import sys
from pathlib import Path

from tests.acceptance.environment import untouched
from tests.data import ROOT


def afterturn(directory: Path, *words: str) -> str:
    """Run a command on the stack of a directory. Returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "afterturn", *words, "--data-dir", str(directory)],
        cwd=ROOT,
        env=untouched(),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
