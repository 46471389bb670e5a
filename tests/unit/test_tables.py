"""A table of a command can be read whole, in a pipe and on a narrow screen."""

import re
from collections import Counter

import pytest
from rich.table import Table

from afterturn.doctor import Finding, _print_verdict, make_console
from afterturn.operating import print_tables

DAY, MODEL = "2026-03-14", "anthropic/claude-haiku-4-5-20251001"


def usage() -> Table:
    table = Table("day", "purpose", "model", "calls", "failed", "in", "cached", "out", "USD")
    table.add_row(DAY, "context_plan", MODEL, "12345", "0", "123456789", "0", "1234567", "0.1234 + 3 unknown")
    return table


def test_in_a_pipe_a_row_stays_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_tables(usage())
    [line] = [line for line in capsys.readouterr().out.splitlines() if DAY in line]
    assert MODEL in line
    assert "0.1234 + 3 unknown" in line


def test_a_name_from_a_client_is_shown_letter_by_letter(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("model", title="[b]x[/b]")
    for name in ("m[/b]", "[red]s", ":smile:", "a\x1b[2J\x07\u202eb", "one\ntwo", "שלום 👩\u200d🚀"):
        table.add_row(name)
    print_tables(table)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "[b]x[/b]"
    assert lines[3:] == ["m[/b]", "[red]s", ":smile:", "a [2J  b", "one", "two", "שלום 👩\u200d🚀"]


def test_a_finding_is_shown_letter_by_letter(capsys: pytest.CaptureFixture[str]) -> None:
    finding = Finding(what="models", is_well=True, seen="[/x] \x1b[2J")
    _print_verdict(make_console(), ["A=[/b]"], ["AFTERTURN_[/b]"], [finding])
    shown = capsys.readouterr().out
    assert all(words in shown for words in ("A=[/b]", "AFTERTURN_[/b] is no", "models: [/x]  [2J"))


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_on_a_screen_nothing_is_cut_off_and_nothing_is_wider(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    print_tables(usage())
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    assert "…" not in "".join(lines)
    assert max(map(len, lines)) <= columns
    shown = Counter("".join(lines))
    assert all(shown[letter] >= number for letter, number in Counter(DAY + MODEL).items())
