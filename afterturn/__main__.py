"""The command line: a module per command, imported on use."""

import importlib
import importlib.util
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from models.telemetry.logging import configure_logging

COMMANDS = (
    "up",
    "demo",
    "replay",
    "doctor",
    "settings",
    "keys",
    "status",
    "work",
    "usage",
    "retention",
    "text",
    "profiles",
    "limits",
    "preflight",
    "recall",
    "shadow",
    "learn",
    "priors",
    "migrate",
)
"""Names of the commands, each a module with a typer `app`."""


class Registry(TyperGroup):
    """Lookup of a command's module on use, so that no command pays for another's imports."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List every command, in the order of use."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command's module."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = get_command(importlib.import_module(f"afterturn.{cmd_name}").app)
        command.name = cmd_name
        return command


app = typer.Typer(cls=Registry, no_args_is_help=True, add_completion=False)


@app.callback()
def afterturn() -> None:
    """Get the next LLM request ready after each turn."""


if __name__ == "__main__":
    configure_logging(is_command=True)
    app(prog_name="afterturn")
