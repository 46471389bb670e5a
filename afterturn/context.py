"""`afterturn context`: the window of a question, as a picture in the terminal."""

from pathlib import Path
from typing import Annotated

import typer

from afterturn.client import ApiError, Client, UnreachableError
from afterturn.demo_report import DemoRequest, make_console, print_request
from afterturn.target import DATA_DIRECTORY, NoTargetError, find_target
from context.types import JsonObject

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
