"""The project's own files, for the tests that read them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.data import ROOT

PACKAGES = ("context", "models", "llm", "workers", "api", "afterturn")
"""The layers; what the import contracts speak of."""

TOP_LEVEL = (*PACKAGES, "migrations", "benchmarks", "tests")
"""Every name that `import` finds at the root of the project."""


def python_files(*folders: str) -> list[Path]:
    """The modules of some folders, their packages' too; not those of environments made there."""
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return sorted(file for file in files if ".venv" not in file.parts)


@cache
def parsed(file: Path) -> ast.Module:
    """A module's syntax."""
    return ast.parse(file.read_text())


def place(file: Path) -> str:
    """Where a file is, from the root."""
    return file.relative_to(ROOT).as_posix()


def imported_modules(file: Path) -> set[str]:
    """Everything that a file imports, wherever in it; a relative import is '.'."""
    nodes = list(ast.walk(parsed(file)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}


def imported_roots(file: Path) -> set[str]:
    """The top-level names of everything that a file imports."""
    return {name.partition(".")[0] for name in imported_modules(file)}


def written_files() -> Iterator[Path]:
    """Every file that people wrote or that is kept beside: all but what .gitignore names."""
    ignored = (ROOT / ".gitignore").read_text().split()
    folders = {line.rstrip("/") for line in ignored if line.endswith("/")} | {".git"}
    pending = [ROOT]
    while pending:
        for entry in sorted(pending.pop().iterdir()):
            if entry.is_dir():
                pending += [] if {entry.name, place(entry)} & folders else [entry]
            elif (
                entry.name != ".git"
                and entry.is_file()
                and not any(entry.match(pattern) for pattern in ignored)
            ):
                yield entry
