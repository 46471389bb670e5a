"""`afterturn replay`: a recorded conversation as turn events, repeatable."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from afterturn.client import ApiError, Client, UnreachableError
from afterturn.conversations.formats import MESSAGES_PER_TURN, Conversation, read_conversations
from afterturn.operating import DATA_DIRECTORY, NoTargetError, find_target
from afterturn.progress import Background, Meter, Stopped, progress, stop_signals, wait_for_background
from context.errors import InvalidInputError

MAX_SESSION_ID = 180
"""Longest session id from a file name, with room for a conversation's number in the API's 200 characters."""

EXIT_INTERRUPTED = 130
REFUSALS_SHOWN = 5

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Job:
    """A conversation with its target session."""

    session_id: str
    conversation: Conversation


@dataclass
class ReplayCounts:
    """Counts of replayed turns."""

    new: int = 0
    duplicates: int = 0
    noted: int = 0
    refused: list[str] = field(default_factory=list)


def assign_sessions(conversations: Sequence[Conversation], session_id: str) -> list[Job]:
    """Name a session for every conversation: ID for a single one, ID-1, ID-2 … for several.

    Args:
        conversations: The file's conversations.
        session_id: The wanted name.
    """
    if len(conversations) == 1:
        return [Job(session_id, conversations[0])]
    return [Job(f"{session_id}-{number}", item) for number, item in enumerate(conversations, start=1)]


def session_id_for(path: Path) -> str:
    """Name a session after a file, with valid characters only."""
    name = path.name.removesuffix(".gz")
    return re.sub(r"[^\w.-]+", "-", Path(name).stem)[:MAX_SESSION_ID].strip("-.") or "replay"


def pace(events_per_s: float | None, wait: Callable[[float], object] = time.sleep) -> Iterator[None]:
    """Yield at a limited rate; None for full speed.

    Args:
        events_per_s: The rate, > 0.
        wait: Waits for a number of seconds.
    """
    started = time.monotonic()
    sent = 0
    while True:
        if events_per_s:
            wait(max(0.0, started + sent / events_per_s - time.monotonic()))
        yield
        sent += 1


def send(client: Client, jobs: Sequence[Job], ticks: Iterator[None], meter: Meter) -> ReplayCounts:
    """Post every turn in order; a refused turn ends its conversation, the others continue.

    Args:
        client: The API.
        jobs: The conversations to replay.
        ticks: Iterator for the pace.
        meter: Progress display.

    Raises:
        UnreachableError: The API stopped answering.
    """
    tally = ReplayCounts()
    for job in jobs:
        for event in job.conversation.events:
            next(ticks)
            try:
                recorded = client.record_turn(job.session_id, event.body())
            except ApiError as error:
                tally.refused.append(f"{job.session_id} {event.turn_id}: {error}")
                break
            tally.duplicates += recorded.duplicate
            tally.new += not recorded.duplicate
            tally.noted += bool(recorded.notes)
            meter.advance(job.session_id)
    return tally


def count_summaries(client: Client, jobs: Sequence[Job]) -> tuple[int, int]:
    """Count the sessions' summaries: good ones and rejected ones."""
    states = [summary["state"] for job in jobs for summary in client.summaries(job.session_id)]
    rejected = states.count("rejected")
    return len(states) - rejected, rejected


def describe_jobs(jobs: Sequence[Job]) -> str:
    """Describe the replay, and the entries left out."""
    turns = sum(len(job.conversation.events) for job in jobs)
    messages = sum(job.conversation.messages for job in jobs)
    system = sum(job.conversation.system_messages for job in jobs)
    left_out = {"system (they belong to requests)": system}
    for job in jobs:
        for kind, count in job.conversation.skipped.items():
            left_out[kind] = left_out.get(kind, 0) + count
    said = ", ".join(f"{count} {kind}" for kind, count in left_out.items() if count)
    sessions = f"session {jobs[0].session_id}" if len(jobs) == 1 else f"{len(jobs)} sessions"
    return f"{messages} messages in {turns} turns -> {sessions}" + (f"; left out: {said}" if said else "")


def parse_speed(speed: str) -> float | None:
    """Read `max` or a number of turns per second.

    Raises:
        typer.BadParameter: The text is neither.
    """
    if speed == "max":
        return None
    try:
        rate = float(speed)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise typer.BadParameter(f"{speed!r} is neither `max` nor a number of turns a second above 0")
    return rate


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="JSON or JSONL, gzipped or not.", exists=True, dir_okay=False)],
    *,
    session: Annotated[str | None, typer.Option(help="The session's id; default: the file's name.")] = None,
    speed: Annotated[str, typer.Option(help="Turns a second, or max.")] = "max",
    base_url: Annotated[str | None, typer.Option(help="The API's address.")] = None,
    api_key: Annotated[str | None, typer.Option(help="A key for it.")] = None,
    data_dir: Annotated[Path, typer.Option(help="Where `up` keeps its stack.")] = DATA_DIRECTORY,
    wait: Annotated[bool, typer.Option(help="Wait for the background work.")] = True,
    wait_s: Annotated[float, typer.Option(help="The longest wait, in seconds.", min=0)] = 300.0,
    max_messages: Annotated[int, typer.Option(help="Messages in one event.", min=1)] = MESSAGES_PER_TURN,
) -> None:
    """Replay a recorded conversation as turn events.

    A repeated replay is harmless: stored turns count as duplicates.
    """
    console = Console(highlight=False)
    rate = parse_speed(speed)
    try:
        target = find_target(base_url, api_key, data_dir)
        jobs = assign_sessions(
            read_conversations(file, max_messages=max_messages), session or session_id_for(file)
        )
        _say(console, describe_jobs(jobs))
        with stop_signals(), Client(target.base_url, target.api_key) as client:
            code = _run(client, jobs, console, rate=rate, wait_s=wait_s if wait else None)
    except (NoTargetError, InvalidInputError, ApiError, UnreachableError, OSError) as error:
        typer.echo(f"replay: {error}", err=True)
        raise typer.Exit(1) from error
    except Stopped:
        typer.echo("replay: stopped; run it again to go on where it ended", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    raise typer.Exit(code)


def _run(
    client: Client, jobs: Sequence[Job], console: Console, *, rate: float | None, wait_s: float | None
) -> int:
    """Send, wait and report; the exit code is 0 only if everything was stored and prepared."""
    started = time.monotonic()
    with progress(console, "turns", sum(len(job.conversation.events) for job in jobs)) as meter:
        tally = send(client, jobs, pace(rate), meter)
    sent_s = time.monotonic() - started
    stored = [job for job in jobs if not _stored_nothing(job, tally)]
    state = None
    if wait_s is not None and stored:
        state = wait_for_background(client, [job.session_id for job in stored], console, timeout_s=wait_s)
    _report(console, tally, state, count_summaries(client, stored), sent_s)
    return 1 if tally.refused or (state and state.pending) else 0


def _stored_nothing(job: Job, tally: ReplayCounts) -> bool:
    first = f"{job.session_id} {job.conversation.events[0].turn_id}: "
    return any(line.startswith(first) and "turn-conflict" not in line for line in tally.refused)


def _report(
    console: Console, tally: ReplayCounts, state: Background | None, summaries: tuple[int, int], sent_s: float
) -> None:
    turns = tally.new + tally.duplicates
    _say(console, f"turns sent       {turns} in {sent_s:.1f} s")
    _say(console, f"  new            {tally.new}")
    _say(console, f"  duplicates     {tally.duplicates}")
    _say(console, f"  with a note    {tally.noted} (calls or results are missing, or text was cleaned)")
    _say(console, f"summaries        {summaries[0]}" + (f", {summaries[1]} rejected" if summaries[1] else ""))
    if state:
        _say(console, f"summarized       {state.summarized} of {state.messages} messages")
        if state.pending:
            _say(
                console,
                f"still pending    {state.pending} sessions; the work goes on, see GET /v1/sessions/ID",
            )
    for line in tally.refused[:REFUSALS_SHOWN]:
        _say(console, f"refused          {line}; the rest of this conversation was not sent")
    if len(tally.refused) > REFUSALS_SHOWN:
        _say(console, f"refused          {len(tally.refused) - REFUSALS_SHOWN} more")
    if any("turn-conflict" in line for line in tally.refused):
        _say(console, "The session holds another conversation; choose a new one with --session.")


def _say(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, markup=False)
