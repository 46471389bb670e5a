"""`afterturn context`: the window of a question as a picture, and a comparison of requests."""

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from afterturn.client import ApiError, Client, UnreachableError, WindowAnswer
from afterturn.operating import DATA_DIRECTORY, NoTargetError, find_target
from context.text.cut import printable
from context.types import JsonObject

WIDTH = 100
LABEL_WIDTH = 15
BAR_CELLS = 40
QUESTION_CHARS = 160
LINES_PER_SECTION = 2
FIXED_PARTS = ("overhead", "system_prompt", "tools", "new")


@dataclass(frozen=True)
class DemoRequest:
    """A request of the demo.

    Attributes:
        turns: Number of turns stored before.
        speaker: The speaker.
        question: The question.
        window: The answer.
        summary: The summary in force, None without any.
        covered_tokens: Tokens of all messages covered by the summary.
        times_ms: Server time of every repetition of the request, in milliseconds.
    """

    turns: int
    speaker: str
    question: str
    window: WindowAnswer
    summary: JsonObject | None
    covered_tokens: int
    times_ms: tuple[float, ...]

    @property
    def whole_tokens(self) -> int:
        """Tokens of the request with the whole history and all fixed parts."""
        used = self.window.answer["utilization"]
        fixed = sum(used["breakdown"].get(part, 0) for part in FIXED_PARTS)
        return int(used["tokens"]["raw_history"]) + int(fixed)

    @property
    def sent_tokens(self) -> int:
        """Tokens sent."""
        return int(self.window.certificate["input_tokens"])

    @property
    def share(self) -> float:
        """Share of tokens sent; may exceed 1, since counts are bounds."""
        return self.sent_tokens / max(self.whole_tokens, 1)

    @property
    def server_ms(self) -> float | None:
        """Median server time, in milliseconds."""
        times = sorted(self.times_ms)
        return times[len(times) // 2] if times else None

    @property
    def calls(self) -> list[str]:
        """Ids of the tool calls in the window, in order."""
        calls = (call for message in self.window.messages for call in message.get("tool_calls") or ())
        return sorted(str(call["id"]) for call in calls)

    @property
    def results(self) -> list[str]:
        """Call ids answered by the window's tool results, in order."""
        messages = self.window.messages
        return sorted(str(message["tool_call_id"]) for message in messages if message["role"] == "tool")

    @property
    def is_proven(self) -> bool:
        """True if the certificate proves all claims, and the window's call pairs agree."""
        certificate = self.window.certificate
        claims = ("fits", "tail_contiguous", "tool_pairs_intact")
        return all(certificate[claim] for claim in claims) and self.calls == self.results


def make_console() -> Console:
    """Make a console of at most 100 columns; without a terminal, plain text of the full width."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that knows ASCII only shows question marks instead of ending the demo.
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def print_request(console: Console, shown: DemoRequest) -> None:
    """Print a request: question, sent tokens against the whole, reasons, and server time."""
    console.print()
    console.print(Rule(Text(f" after {shown.turns} turns ", style="bold"), characters="─", style="cyan"))
    question = textwrap.shorten(printable(shown.question), QUESTION_CHARS, placeholder=" …")
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


def print_table(console: Console, rows: Sequence[DemoRequest]) -> None:
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
    """Print a label and its value; a long value is wrapped below."""
    text = value if isinstance(value, Text) else Text(printable(value))
    for number, part in enumerate(text.wrap(console, console.width - LABEL_WIDTH)):
        part.rstrip()
        start = (label if number == 0 else "").ljust(LABEL_WIDTH)
        console.print(Text.assemble((start, "bold cyan"), part), soft_wrap=True)


def _tokens(shown: DemoRequest) -> Text:
    return Text.assemble(
        f"{shown.whole_tokens:,} with the whole history",
        ("  ->  ", "dim"),
        (f"{shown.sent_tokens:,} in the window", "bold green"),
        f" of {shown.window.certificate['budget']:,}  ({min(shown.share, 1):.0%} of the whole)",
    )


def _bar(shown: DemoRequest) -> Text:
    """Draw the whole history with the share sent."""
    filled = min(BAR_CELLS, max(1, round(BAR_CELLS * shown.share)))
    return Text.assemble(("█" * filled, "green"), ("░" * (BAR_CELLS - filled), "dim"))


def _parts(shown: DemoRequest) -> str:
    parts = shown.window.answer["utilization"]["breakdown"]
    return ", ".join(f"{name.replace('_', ' ')} {tokens:,}" for name, tokens in parts.items())


def _summary_facts(shown: DemoRequest) -> str:
    covers = shown.window.certificate["summary_covers"]
    if covers is None or shown.summary is None:
        return "none: the history fits as it is"
    made = shown.summary
    sizes = f"{shown.covered_tokens:,} tokens -> {made['tokens']:,}"
    return f"messages {_range(covers)}: {sizes}, version {made['version']} by {made['model']}"


def _cut(shown: DemoRequest) -> str:
    certificate = shown.window.certificate
    tail, covers = certificate["tail"], certificate["summary_covers"]
    if tail is None:
        return "no raw history in the window"
    kept = f"messages {_range(tail)} as they were said"
    return f"between {covers[1]} and {covers[1] + 1}, no turn split; {kept}" if covers else kept


def _certificate(shown: DemoRequest) -> Text:
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


def _time(shown: DemoRequest) -> str:
    times = len(shown.times_ms)
    return (
        f"{_milliseconds(shown.server_ms)} (middle of {times}), no model on the way" if times else "not told"
    )


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms"


def _range(ends: Sequence[int] | None) -> str:
    return f"{ends[0]}-{ends[1]}" if ends else "-"


def _print_summary(console: Console, text: str) -> None:
    """Print a shortened summary: headings, with the first lines of each section."""
    shown, hidden = 0, 0
    for line in (line for line in text.splitlines() if line.strip()):
        shown = 0 if line.startswith("#") else shown + 1
        if shown > LINES_PER_SECTION:
            hidden += 1
            continue
        short = textwrap.shorten(printable(line), console.width - 4, placeholder=" …")
        console.print(Text(f"  | {short}", style="bold dim" if line.startswith("#") else "dim"))
    if hidden:
        console.print(Text(f"  | … and {hidden} more lines", style="dim"))


FALLBACK_MODEL = "gpt-4o"
"""Model of a session whose turns name none."""

app = typer.Typer(add_completion=False)


@app.command()
def context(
    session: Annotated[str, typer.Argument(help="The session's id.")],
    question: Annotated[str, typer.Argument(help="The next message of the user.")],
    *,
    model: Annotated[str | None, typer.Option(help="The model; the session's own without it.")] = None,
    window: Annotated[int | None, typer.Option(help="Its window, in tokens.", min=2)] = None,
    max_tokens: Annotated[int | None, typer.Option(help="The output limit, in tokens.", min=1)] = None,
    base_url: Annotated[str | None, typer.Option(help="The API's address.")] = None,
    api_key: Annotated[str | None, typer.Option(help="A key for it.")] = None,
    data_dir: Annotated[Path, typer.Option(help="Where `up` keeps its stack.")] = DATA_DIRECTORY,
) -> None:
    """Show the window that a question would get now, as a picture.

    Nothing is remembered of the request.
    """
    asked: JsonObject = {"messages": [{"role": "user", "content": question}], "dry_run": True}
    limits = {"context_window": window, "max_tokens": max_tokens}
    asked |= {name: value for name, value in limits.items() if value is not None}
    try:
        target = find_target(base_url, api_key, data_dir)
        with Client(target.base_url, target.api_key) as client:
            shown = _ask(client, session, question, model, asked)
    except (NoTargetError, ApiError, UnreachableError, OSError) as error:
        typer.echo(f"context: {error}", err=True)
        raise typer.Exit(1) from error
    print_request(make_console(), shown)


def _ask(client: Client, session: str, question: str, model: str | None, asked: JsonObject) -> DemoRequest:
    standing = client.session(session)
    window = client.context(session, {**asked, "model": model or standing["model"] or FALLBACK_MODEL})
    in_force = (one for one in client.summaries(session) if one["state"] == "active")
    return DemoRequest(
        turns=int(standing["turns"]),
        speaker="user",
        question=question,
        window=window,
        summary=next(in_force, None),
        covered_tokens=int(standing["tokens"]["summarized"]),
        times_ms=() if window.server_ms is None else (window.server_ms,),
    )
