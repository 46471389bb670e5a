"""What the demo prints: one request at a time, then all of them side by side."""

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import TextIOWrapper

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from afterturn.client import Window
from context.types import JsonObject

WIDTH = 100
LABEL_WIDTH = 15
BAR_CELLS = 40
QUESTION_CHARS = 160
LINES_PER_SECTION = 2
FIXED_PARTS = ("overhead", "system_prompt", "tools", "new")


@dataclass(frozen=True)
class Shown:
    """One request of the demo.

    Attributes:
        turns: Turns that were stored before it.
        speaker: Who asks.
        question: What is asked.
        window: The answer.
        summary: The summary in force, None where there is none.
        covered_tokens: Tokens of all messages that it stands for.
        times_ms: How long the server took, for every repetition of the request.
    """

    turns: int
    speaker: str
    question: str
    window: Window
    summary: JsonObject | None
    covered_tokens: int
    times_ms: tuple[float, ...]

    @property
    def whole_tokens(self) -> int:
        """What the request would cost with the whole history in it, its fixed parts included."""
        used = self.window.answer["utilization"]
        fixed = sum(used["breakdown"].get(part, 0) for part in FIXED_PARTS)
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
    def calls(self) -> list[str]:
        """The ids of the tool calls in the window, in order."""
        calls = (call for message in self.window.messages for call in message.get("tool_calls") or ())
        return sorted(str(call["id"]) for call in calls)

    @property
    def results(self) -> list[str]:
        """The ids that the tool results in the window answer, in order."""
        messages = self.window.messages
        return sorted(str(message["tool_call_id"]) for message in messages if message["role"] == "tool")

    @property
    def is_proven(self) -> bool:
        """Whether the certificate proves all that it can prove, and the pairs in the window agree with it."""
        certificate = self.window.certificate
        claims = ("fits", "tail_contiguous", "tool_pairs_intact")
        return all(certificate[claim] for claim in claims) and self.calls == self.results


def make_console() -> Console:
    """Make a console of at most 100 columns; plain text of that width where nobody watches."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that knows ASCII only shows question marks instead of ending the demo.
        sys.stdout.reconfigure(errors="replace")
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
    _line(console, "made of", _parts(shown))
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
    text = value if isinstance(value, Text) else Text(value)
    for number, part in enumerate(text.wrap(console, console.width - LABEL_WIDTH)):
        part.rstrip()
        start = (label if number == 0 else "").ljust(LABEL_WIDTH)
        console.print(Text.assemble((start, "bold cyan"), part), soft_wrap=True)


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


def _parts(shown: Shown) -> str:
    parts = shown.window.answer["utilization"]["breakdown"]
    return ", ".join(f"{name.replace('_', ' ')} {tokens:,}" for name, tokens in parts.items())


def _summary_facts(shown: Shown) -> str:
    covers = shown.window.certificate["summary_covers"]
    if covers is None or shown.summary is None:
        return "none: the history fits as it is"
    made = shown.summary
    sizes = f"{shown.covered_tokens:,} tokens -> {made['tokens']:,}"
    return f"messages {_range(covers)}: {sizes}, version {made['version']} by {made['model']}"


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
    pairs = certificate["tool_pairs_intact"] and shown.calls == shown.results
    claims = (
        (certificate["fits"], f"fits: {shown.sent_tokens:,} + {output:,} <= {window:,}"),
        (certificate["tail_contiguous"], "tail without a gap"),
        (pairs, f"{len(shown.calls)} calls, {len(shown.results)} results"),
    )
    marks = (("ok ", "bold green") if proven else ("NOT ", "bold red") for proven, _ in claims)
    return Text("   ").join(Text.assemble(mark, said) for mark, (_, said) in zip(marks, claims, strict=True))


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
    """Print a summary shortened: its headings, and the first lines below each."""
    shown, hidden = 0, 0
    for line in (line for line in text.splitlines() if line.strip()):
        shown = 0 if line.startswith("#") else shown + 1
        if shown > LINES_PER_SECTION:
            hidden += 1
            continue
        short = textwrap.shorten(line, console.width - 4, placeholder=" …")
        console.print(Text(f"  | {short}", style="bold dim" if line.startswith("#") else "dim"))
    if hidden:
        console.print(Text(f"  | … and {hidden} more lines", style="dim"))
