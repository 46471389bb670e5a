"""`afterturn demo`: the whole stack for a minute, a conversation, and its effect on requests."""

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack

import typer
from rich.console import Console

from afterturn.client import ApiError, Client, UnreachableError
from afterturn.context import DemoRequest, make_console, print_request, print_table
from afterturn.conversations.bundled import bundled_conversation
from afterturn.conversations.formats import Conversation, TurnEvent
from afterturn.progress import Stopped, progress, stop_signals, wait_for_background
from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack, StackError
from context.types import JsonObject

SESSION = "cold-store"
STOPS = (10, 20, 30)
"""Numbers of turns before a shown request; another request is shown at the end."""

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)
MODEL = "gpt-4o-mini"
CONTEXT_WINDOW = 16_000
MAX_TOKENS = 1_000
REPETITIONS = 5
"""Repetitions of a request for timing; the answer is always the same."""

BACKGROUND_WAIT_S = 40.0
EXIT_INTERRUPTED = 130
CLOSING_SPEAKER = "Mira"
CLOSING_QUESTION = (
    "Before the auditor comes on Monday: which of our rules limits when GW-3 may be restarted, "
    "what became of LOT-88231, and what is still open?"
)

app = typer.Typer(add_completion=False)


@app.command()
def demo() -> None:
    """Start everything, replay a conversation, show the window of each request, and clean up."""
    console = make_console()
    # A demo costs nothing unless somebody asks for a model that does.
    os.environ.setdefault("SUMMARIZER_MODEL", "extractive")
    try:
        with stop_signals():
            proven = run(console)
    except Stopped:
        typer.echo("stopped; nothing is left", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except (StackError, ApiError, UnreachableError) as error:
        typer.echo(f"demo: {error}", err=True)
        raise typer.Exit(1) from error
    if not proven:
        typer.echo("demo: a request was not as it should be; see above", err=True)
        raise typer.Exit(1)


def run(console: Console) -> bool:
    """Run the whole demo.

    Args:
        console: The output.

    Returns:
        True if every certificate was whole and a summary was used.
    """
    conversation = bundled_conversation()
    _introduce(console, conversation)
    started = time.monotonic()
    with ExitStack() as running:
        with console.status("starting PostgreSQL, Valkey, API, dispatcher, worker and beat"):
            stack = running.enter_context(Stack(roles=ROLES))
        console.print(f"stack ready after {time.monotonic() - started:.1f} s at {stack.at.base_url}")
        client = running.enter_context(Client(stack.at.base_url, stack.at.api_key))
        shown = replay_in_stages(client, conversation, console)
    print_table(console, shown)
    console.print(f"\ndone in {time.monotonic() - started:.1f} s; every process has ended, no file is left")
    return all(request.is_proven for request in shown) and shown[-1].summary is not None


def replay_in_stages(client: Client, conversation: Conversation, console: Console) -> list[DemoRequest]:
    """Store some turns, wait for the background work, show the next request; repeat until all are stored.

    Args:
        client: The API.
        conversation: The conversation to replay.
        console: The output.

    Returns:
        The shown requests.
    """
    shown: list[DemoRequest] = []
    stored = 0
    for stop in (*STOPS, len(conversation.events)):
        _store(client, conversation.events[stored:stop], console)
        stored = stop
        wait_for_background(client, [SESSION], console, timeout_s=BACKGROUND_WAIT_S)
        shown.append(_ask(client, conversation, stored))
        print_request(console, shown[-1])
    return shown


def _introduce(console: Console, conversation: Conversation) -> None:
    speakers = dict.fromkeys(event.speaker or "somebody" for event in conversation.events)
    console.print(
        f"[bold]Afterturn[/bold]: {len(conversation.events)} turns and {conversation.messages} messages of "
        f"{' and '.join(speakers)} with an assistant, in English and German.\n"
        f"The model's window is {CONTEXT_WINDOW:,} tokens, {MAX_TOKENS:,} of them for its answer; "
        f"summaries by {os.environ['SUMMARIZER_MODEL']}."
    )


def _store(client: Client, events: Sequence[TurnEvent], console: Console) -> None:
    console.print()
    with progress(console, "turns stored", len(events), lines=1) as meter:
        for event in events:
            client.record_turn(SESSION, event.body())
            meter.advance()


def _ask(client: Client, conversation: Conversation, stored: int) -> DemoRequest:
    """Request the window for the next message: the next turn's words, or the closing question."""
    if stored < len(conversation.events):
        event = conversation.events[stored]
        message, speaker = event.messages[0], event.speaker or "somebody"
    else:
        message = {"role": "user", "name": CLOSING_SPEAKER, "content": CLOSING_QUESTION}
        speaker = CLOSING_SPEAKER
    request: JsonObject = {
        "model": MODEL,
        "context_window": CONTEXT_WINDOW,
        "max_tokens": MAX_TOKENS,
        "system_prompt": conversation.system_prompt,
        "messages": [message],
    }
    windows = [client.context(SESSION, request) for _ in range(REPETITIONS)]
    in_force = (s for s in client.summaries(SESSION) if s["state"] == "active")
    return DemoRequest(
        turns=stored,
        speaker=speaker,
        question=str(message["content"]),
        window=windows[-1],
        summary=next(in_force, None),
        covered_tokens=int(client.session(SESSION)["tokens"]["summarized"]),
        times_ms=tuple(w.server_ms for w in windows if w.server_ms is not None),
    )
