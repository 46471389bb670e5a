"""`afterturn profiles` on a running stack: prices come in, overrides stay, both are shown."""

import subprocess
import sys

from afterturn.stack.roles import Addresses
from tests.acceptance.environment import untouched
from tests.data import ROOT


def profiles(addresses: Addresses, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "afterturn", "profiles", *arguments, "--data-dir", str(addresses.directory)],
        cwd=ROOT,
        env=untouched(COLUMNS="200"),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_prices_are_imported_once_and_leave_what_an_operator_set(addresses: Addresses) -> None:
    assert "0.15" in profiles(addresses, "list", "gpt-4o-mini")
    assert "│ ?" in profiles(addresses, "list", "openai/gpt-oss-20b")
    profiles(addresses, "set", "openai/gpt-4o-mini", "input_usd=9.25", "tier=B")
    first = profiles(addresses, "import")
    assert "new or changed: 0" not in first
    assert "new or changed: 0" in profiles(addresses, "import")
    shown = profiles(addresses, "list", "gpt-4o-mini", "azure/gpt-4o")
    assert ("9.25" in shown, "2.5" in shown, "│ B" in shown) == (True, True, True)
    profiles(addresses, "unset", "openai/gpt-4o-mini")
    assert "0.15" in profiles(addresses, "list", "gpt-4o-mini")


def test_every_profile_is_listed_with_the_fallback_last(addresses: Addresses) -> None:
    shown = profiles(addresses, "list")
    assert "anthropic/claude-opus-" in shown
    assert "16,000" in shown.rpartition("\n* ")[2]
