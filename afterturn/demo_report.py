"""What the demo prints: one request at a time, then all of them side by side."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from afterturn.client import Window
from context.types import JsonObject

WIDTH = 100
LABEL_WIDTH = 13
BAR_CELLS = 40
QUESTION_CHARS = 160
SUMMARY_LINES = 12


@dataclass(frozen=True)
class Shown:
    """One request of the demo.

    Attributes:
        turns: Turns that were stored before it.
        speaker: Who asks.
        question: What is asked.
        window: The answer.
        summary: The summary in force, None where there is none.
        times_ms: How long the server took, for every repetition of the request.
    """

    turns: int
    speaker: str
    question: str
    window: Window
    summary: JsonObject | None
    times_ms: tuple[float, ...]

    @property
    def whole_tokens(self) -> int:
        """What the request would cost with the whole history in it, its fixed parts included."""
        used = self.window.answer["utilization"]
        fixed = sum(used["breakdown"].get(part, 0) for part in ("system_prompt", "tools", "new"))
        return int(used["tokens"]["raw_history"]) + int(fixed)

    @property
    def sent_tokens(self) -> int:
        """What is sent."""
        return int(self.window.certificate["input_tokens"])

    @property
    def share(self) -> float:
        """What is sent as a share of the whole; may exceed 1, for counts are bounds."""
        return self.sent_tokens / max(self.whole_tokens, 1)

    @property
    def server_ms(self) -> float | None:
        """The middle one of the times."""
        times = sorted(self.times_ms)
        return times[len(times) // 2] if times else None

    @property
    def is_proven(self) -> bool:
        """Whether the certificate proves all that it can prove."""
        certificate = self.window.certificate
        return bool(
            certificate["fits"] and certificate["tail_contiguous"] and certificate["tool_pairs_intact"]
        )


def make_console() -> Console:
    """Make a console of at most 100 columns; plain text of that width where nobody watches."""
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def print_request(console: Console, shown: Shown) -> None:
    """Print one request: what it asks, what is sent instead of everything, why, and how fast."""
    console.print()
    console.print(Rule(Text(f" after {shown.turns} turns ", style="bold"), characters="─", style="cyan"))
    question = textwrap.shorten(shown.question, QUESTION_CHARS, placeholder=" …")
    _line(console, f"{shown.speaker} asks", Text(question, style="italic"))
    _line(console, "tokens", _tokens(shown))
    _line(console, "", _bar(shown))
    _line(console, "summary", _summary_facts(shown))
    _line(console, "cut", _cut(shown))
    _line(console, "certificate", _certificate(shown))
    for excluded in shown.window.certificate["excluded"]:
        _line(console, "left out", f"{excluded['what']}: {excluded['why']}")
    _line(console, "server time", _time(shown))
    if shown.summary:
        _print_summary(console, str(shown.summary["text"]))


def print_table(console: Console, rows: Sequence[Shown]) -> None:
    """Print all requests side by side."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in ("turns", "whole history", "sent", "saved", "summary covers", "raw tail", "server"):
        table.add_column(column, justify="right", no_wrap=True)
    for shown in rows:
        certificate = shown.window.certificate
        table.add_row(
            str(shown.turns),
            f"{shown.whole_tokens:,}",
            f"{shown.sent_tokens:,}",
            f"{max(0.0, 1 - shown.share):.0%}",
            _range(certificate["summary_covers"]),
            _range(certificate["tail"]),
            _milliseconds(shown.server_ms),
        )
    console.print()
    console.print(Rule(Text(" every request ", style="bold"), characters="─", style="cyan"))
    console.print(table)


def _line(console: Console, label: str, value: Text | str) -> None:
    """Print a label and its value; what is too long goes on below the value."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=LABEL_WIDTH, style="bold cyan")
    grid.add_column(width=console.width - LABEL_WIDTH - 2, overflow="fold")
    grid.add_row(label, value if isinstance(value, Text) else Text(value))
    console.print(grid)


def _tokens(shown: Shown) -> Text:
    return Text.assemble(
        f"{shown.whole_tokens:,} with the whole history",
        ("  ->  ", "dim"),
        (f"{shown.sent_tokens:,} in the window", "bold green"),
        f" of {shown.window.certificate['budget']:,}  ({min(shown.share, 1):.0%} of the whole)",
    )


def _bar(shown: Shown) -> Text:
    """Draw the whole history, and how much of it is sent."""
    filled = min(BAR_CELLS, max(1, round(BAR_CELLS * shown.share)))
    return Text.assemble(("█" * filled, "green"), ("░" * (BAR_CELLS - filled), "dim"))


def _summary_facts(shown: Shown) -> str:
    covers = shown.window.certificate["summary_covers"]
    if covers is None or shown.summary is None:
        return "none: the history fits as it is"
    made = shown.summary
    saved = f"{made['covered_tokens']:,} tokens -> {made['tokens']:,}" if "covered_tokens" in made else ""
    return f"messages {_range(covers)}: {saved}, version {made['version']} by {made['model']}"


def _cut(shown: Shown) -> str:
    certificate = shown.window.certificate
    tail, covers = certificate["tail"], certificate["summary_covers"]
    if tail is None:
        return "no raw history in the window"
    kept = f"messages {_range(tail)} as they were said"
    return f"between {covers[1]} and {covers[1] + 1}, no turn split; {kept}" if covers else kept


def _certificate(shown: Shown) -> Text:
    certificate = shown.window.certificate
    window, output = certificate["context_window"], certificate["max_tokens"]
    text = Text.assemble(_mark(certificate["fits"]), f" {shown.sent_tokens:,} + {output:,} <= {window:,}   ")
    for key, words in (
        ("tail_contiguous", "no message missing in the tail"),
        ("tool_pairs_intact", "every call has its result"),
    ):
        text.append_text(_mark(certificate[key])).append(f" {words}   ")
    return text


def _mark(proven: Any) -> Text:
    return Text("yes", style="bold green") if proven else Text("NO", style="bold red")


def _time(shown: Shown) -> str:
    times = len(shown.times_ms)
    return (
        f"{_milliseconds(shown.server_ms)} (middle of {times}), no model on the way" if times else "not told"
    )


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms"


def _range(ends: Sequence[int] | None) -> str:
    return f"{ends[0]}-{ends[1]}" if ends else "-"


def _print_summary(console: Console, text: str) -> None:
    """Print the beginning of a summary, and how much more there is."""
    lines = [line for line in text.splitlines() if line.strip()]
    width = console.width - 4
    for line in lines[:SUMMARY_LINES]:
        console.print(Text(f"  | {textwrap.shorten(line, width, placeholder=' …')}", style="dim"))
    if len(lines) > SUMMARY_LINES:
        console.print(Text(f"  | … and {len(lines) - SUMMARY_LINES} more lines", style="dim"))
