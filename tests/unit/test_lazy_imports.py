"""Commands import the modules that they use: a help pays for no database, broker, model or migration."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROBE = """
import sys
from afterturn.__main__ import app, log_as_command
try:
    app({given}, prog_name="afterturn", obj=log_as_command)
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""
NEVER = {
    "alembic",
    "celery",
    "fastapi",
    "kombu",
    "litellm",
    "llm.gateway",
    "matplotlib",
    "redis",
    "workers.app",
}
CORE = {
    "api",
    "context.ranking",
    "context.summary",
    "context.window",
    "models.conversations",
    "models.rekeying",
}
FOR_A_COMMAND = {"models", "psycopg", "pydantic", "sqlalchemy", "structlog", "tiktoken"}


def imported(*given: str) -> set[str]:
    """Every module of a fresh process after a command, with the packages above it."""
    ran = subprocess.run(
        [sys.executable, "-c", PROBE.format(given=list(given))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Usage" in ran.stdout
    return set(ran.stderr.split())


def test_the_help_imports_no_command() -> None:
    assert imported("--help") & (NEVER | CORE | FOR_A_COMMAND) == set()


@pytest.mark.parametrize("command", ["doctor", "settings"])
def test_the_help_of_a_command_imports_neither_migrations_nor_broker_nor_core(command: str) -> None:
    assert imported(command, "--help") & (NEVER | CORE) == set()
