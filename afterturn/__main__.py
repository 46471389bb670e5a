"""The command line: a module per command, imported on use."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "up": "Run PostgreSQL, Valkey, the API, the background processes and Flower until stopped.",
        "demo": "Start everything, replay a conversation, show the window of each request, and clean up.",
        "replay": "Replay a recorded conversation as turn events.",
        "context": "Show the window that a question would get now, as a picture.",
        "doctor": "Print the changed settings and check database, broker, background, tokenizer and models.",
        "settings": "Print every setting with its default and meaning.",
        "keys": "Make, list, rotate and revoke API keys.",
        "status": "Watch due work, processes, models and costs until Ctrl-C; "
        "a single frame without a terminal.",
        "work": "Show work that was given up or waits; try it again, or drop it.",
        "usage": "Show costs by day, purpose and model, the found part of caches, and the rest of "
        "today's caps.",
        "retention": "Say for how long things are kept; see what went with age.",
        "text": "Seal stored text, rotate its keys, open or forget it.",
        "profiles": "Show model profiles, import prices, override values.",
        "limits": "Show, set and forget the windows that models turned out to have, and limits of history.",
        "preflight": "Try a preflight policy on what was decided before.",
        "recall": "Let requests recall what a user said in other sessions.",
        "shadow": "Compute parts without using them; see what they would save and lose.",
        "plans": "Import and export plans with their outcomes and times.",
        "learn": "Learn from plans now; show what learning brought.",
        "priors": "List sets of priors, put one in force, go back.",
        "migrate": "Bring the database of AFTERTURN_DATABASE_URL to the newest migration, or to a named one.",
    }
)
"""Short help of each command by name. A command is a module with a typer `app`."""


class Registry(TyperGroup):
    """Lookup of a command's module on use, so that no command, and no help, pays for another's imports."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List every command, in the order of use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Describe a command for the help, without an import."""
        del ctx
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the module of the command to run, after a call of the function in `ctx.obj`, if any."""
        name, described, rest = super().resolve_command(ctx, args)
        if described is None or described.name is None:
            return name, described, rest
        if ctx.obj is not None:
            ctx.obj()
        return name, load(described.name), rest


def load(name: str) -> Any:
    """Import the module of a command in `COMMANDS`."""
    command = get_command(importlib.import_module(f"afterturn.{name}").app)
    command.name = name
    return command


app = typer.Typer(cls=Registry, no_args_is_help=True, add_completion=False)


@app.callback()
def afterturn() -> None:
    """Get the next LLM request ready after each turn."""


def log_as_command() -> None:
    """Configure logging for a command; the help alone does not import it."""
    from models.telemetry.logging import configure_logging  # noqa: PLC0415

    configure_logging(is_command=True)


if __name__ == "__main__":
    app(prog_name="afterturn", obj=log_as_command)
