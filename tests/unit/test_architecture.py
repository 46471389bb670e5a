"""The shape of the code, where the import contracts cannot see it."""

import ast
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.data import ROOT
from tests.unit.sources import (
    PACKAGES,
    imported_modules,
    imported_roots,
    parsed,
    place,
    python_files,
    written_files,
)

CODE = python_files(*PACKAGES, "migrations", "benchmarks", "clients")
CORE = python_files("context")

MOST_LINES_OF_A_MODULE = 400
MOST_LINES_OF_A_FUNCTION = 60

CELERY = {f"workers/{name}.py" for name in ("app", "bells", "dispatch", "tasks")}
READS_TOKEN_RANKS = "context/tokens/text.py"

CLOCK_AND_CHANCE = {"now", "utcnow", "today", "uuid1", "uuid4", "uuid7", "uuid8", "urandom"}
FILES_AND_SCREEN = {"open", "print", "input", "read_text", "read_bytes", "write_text", "write_bytes"}
OUTSIDE = {
    *(
        "asyncio",
        "http.client",
        "http.server",
        "httpx",
        "logging",
        "multiprocessing",
        "requests",
        "secrets",
        "shutil",
        "signal",
    ),
    *("subprocess", "tempfile", "threading", "urllib.request", "warnings"),
}
"""What the core may not import beside what the contract of pyproject.toml forbids."""

MACHINE_PATH = re.compile(r"(?<![\w.~*}\])/-])/(?:work|root)/\w")
REGISTRY = re.compile(r"pypi[.]org|python[h]osted|--(?:extra-)?index-url|--(?:find-links|trusted-host)[ =]")
SECRET = re.compile(
    r"""
    \bsk-(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{24} | \bAKIA[0-9A-Z]{16} | \bAIza[\w-]{35}
    | \bgh[pousr]_[A-Za-z0-9]{36}
    | \bglpat-[\w-]{20} | \bxox[abprs]-\d{6} | \bhf_[A-Za-z]{30} | \baft_[0-9a-f]{12}_[\w-]{43}
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY | \beyJ[\w-]{15,}\.eyJ[\w-]{15}
    """,
    re.VERBOSE,
)


def offences(files: Iterable[Path], found_in: Callable[[Path], set[str]]) -> dict[str, set[str]]:
    """What was found, by file, where anything was."""
    found = {place(file): found_in(file) for file in files}
    return {file: names for file, names in found.items() if names}


def long_functions(file: Path) -> set[str]:
    """The names of the functions that take more lines than a screen."""
    nodes = ast.walk(parsed(file))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        function.name
        for function in functions
        if (function.end_lineno or 0) - function.lineno >= MOST_LINES_OF_A_FUNCTION
    }


def settings_classes(file: Path) -> set[str]:
    """The classes of settings in a file whose name does not say that it holds settings."""
    classes = [node for node in ast.walk(parsed(file)) if isinstance(node, ast.ClassDef)]
    named = {node.name for node in classes if any(ast.unparse(base) == "Settings" for base in node.bases)}
    return set() if file.stem in {"settings", "database_settings"} else named


def called(file: Path) -> set[str]:
    """The last names of everything that a file calls."""
    calls = [node.func for node in ast.walk(parsed(file)) if isinstance(node, ast.Call)]
    plain = {function.id for function in calls if isinstance(function, ast.Name)}
    return plain | {function.attr for function in calls if isinstance(function, ast.Attribute)}


def test_the_core_asks_no_clock_and_no_chance() -> None:
    assert offences(CORE, lambda file: called(file) & CLOCK_AND_CHANCE) == {}


def test_the_core_touches_nothing_outside() -> None:
    found = offences(
        CORE, lambda file: (imported_modules(file) & OUTSIDE) | (called(file) & FILES_AND_SCREEN)
    )
    assert found == {READS_TOKEN_RANKS: {"read_bytes"}}


def test_celery_stays_in_four_files() -> None:
    found = offences(python_files(*PACKAGES), lambda file: imported_roots(file) & {"celery", "kombu"})
    assert found.keys() <= CELERY


def test_no_module_has_two_subjects() -> None:
    lengths = {place(file): len(file.read_text().splitlines()) for file in CODE}
    assert {file: lines for file, lines in lengths.items() if lines > MOST_LINES_OF_A_MODULE} == {}


def test_no_function_hides_another() -> None:
    assert offences(CODE, long_functions) == {}


def test_settings_stand_in_the_settings_of_their_folder() -> None:
    assert offences(CODE, settings_classes) == {}


def test_every_package_says_what_it_is_for() -> None:
    folders = {file.parent for file in python_files(*PACKAGES, "benchmarks")}
    assert all(ast.get_docstring(parsed(folder / "__init__.py")) for folder in folders)


def test_nothing_names_a_developers_machine_or_a_registry_or_holds_a_secret() -> None:
    own = re.compile(MACHINE_PATH.pattern + "".join(rf"|{re.escape(str(path))}\b" for path in own_paths()))
    found = [
        f"{place(file)}:{number}"
        for file in written_files()
        for number, line in enumerate(file.read_bytes().decode(errors="replace").split("\n"), 1)
        if own.search(line) or REGISTRY.search(line) or SECRET.search(line)
    ]
    assert found == []


def own_paths() -> list[Path]:
    """This checkout and this home, unless they are too plain to be told from other words."""
    return [path for path in (ROOT, Path.home()) if len(path.parts) > 2]
