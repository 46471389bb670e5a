"""`afterturn up`: the whole stack on the local machine, until stopped."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from afterturn.operating import DATA_DIRECTORY
from afterturn.progress import Stopped, stop_signals
from afterturn.stack.processes import Event
from afterturn.stack.roles import Addresses
from afterturn.stack.stack import Stack, StackError
from api.settings import api_settings

FOREVER_S = 3600.0

TURN = {
    "turn_id": "turn-1",
    "messages": [
        {"role": "user", "content": "Our release is on 14 March. What is left to do?"},
        {"role": "assistant", "content": "The changelog and the load test."},
    ],
}
QUESTION = {
    "model": "gpt-4o-mini",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Who writes the changelog?"}],
}

app = typer.Typer(add_completion=False)


@app.command()
def up(
    data_dir: Annotated[Path, typer.Option(help="Where the data lives and stays.")] = DATA_DIRECTORY,
    port: Annotated[int, typer.Option(help="The API's port; 0 for any.", min=0, max=65535)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line when ready.")] = False,
) -> None:
    """Run PostgreSQL, Valkey, the API, the background processes and Flower until stopped."""
    try:
        with stop_signals(), Stack(data_dir, port=port, tell=tell) as stack:
            print(json_line(stack.at) if as_json else describe(stack.at), flush=True)
            while True:
                stack.poll(FOREVER_S)
    except Stopped:
        print("stopped", file=sys.stderr)
    except StackError as error:
        print(f"afterturn: {error}", file=sys.stderr)
        raise typer.Exit(1) from error


def tell(event: Event) -> None:
    """Print an event of the running stack on the error stream."""
    match event["event"]:
        case "started":
            line = f"starting {event['role']} (process {event['pid']})"
        case "up" | "done":
            line = f"{event['role']} is ready after {event['after_s']:.1f} s"
        case "crashed":
            line = (
                f"{event['role']} ended with status {event['status']}, starting it again in "
                f"{event['again_in_s']:g} s; its log: {event['log']}"
            )
        case _:
            return
    print(line, file=sys.stderr, flush=True)


def json_line(at: Addresses) -> str:
    """Write all addresses as a line, for scripts."""
    return json.dumps(at.to_json_object())


def describe(at: Addresses) -> str:
    """Describe the addresses, the key and two example calls, for people."""
    session = f"{at.base_url}/v1/sessions/first"
    return "\n".join(
        [
            "",
            f"  API       {at.base_url}   (its description: {at.base_url}/docs)",
            *([f"  Inspector {at.base_url}/inspector"] if api_settings().inspector else []),
            f"  Flower    {at.flower_url}   ({name_and_password(at.flower_auth)})",
            f"  Key       {at.api_key}",
            f"  Data      {at.directory}",
            "",
            "A finished turn:",
            curl(f"{session}/turns", at.api_key, TURN),
            "",
            "The context of the next request:",
            curl(f"{session}/context", at.api_key, QUESTION),
            "",
            "Ctrl-C stops everything.",
        ]
    )


def name_and_password(auth: str) -> str:
    """Format the credentials for a browser, to copy."""
    name, _, password = auth.partition(":")
    return f"name {name}, password {password}"


def curl(url: str, key: str, body: object) -> str:
    """Write a call ready to paste into a shell."""
    return (
        f"curl -sS {shlex.quote(url)} -H {shlex.quote(f'Authorization: Bearer {key}')} "
        f"-H 'Content-Type: application/json' -d {shlex.quote(json.dumps(body))}"
    )
