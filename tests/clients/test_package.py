"""The package of the client: its needs, its prose, its shape, and a wheel in an empty environment."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from sysconfig import get_path

import afterturn_client
import pytest

from benchmarks.house import find_docstrings, find_twice, read_prose
from tests.data import ROOT
from tests.unit.sources import imported_roots, parsed

PROJECT = ROOT / "clients/python"
PACKAGE = PROJECT / "src/afterturn_client"
FILES = sorted(PACKAGE.rglob("*.py"))
CORE = [file for file in FILES if "integrations" not in file.parts]
BUILD_S = 240


def test_the_core_needs_httpx_and_pydantic_alone() -> None:
    needs = {root for file in CORE for root in imported_roots(file)} - sys.stdlib_module_names
    # typing_extensions is read by type checkers alone.
    assert needs == {"afterturn_client", "httpx", "pydantic", "typing_extensions"}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert {re.split(r"[<>=]", need)[0] for need in project["dependencies"]} == {"httpx", "pydantic"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_module_reads_in_the_oldest_python(file: Path) -> None:
    ast.parse(file.read_text(), feature_version=(3, 10))
    assert "\nfrom __future__ import annotations\n" in file.read_text() or not _has_annotations(file)


def _has_annotations(file: Path) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) for node in ast.walk(parsed(file)))


def test_no_logic_stands_in_a_colour() -> None:
    """Both colours have the same methods, and a coroutine stands in three modules alone."""
    asynchronous = {
        file.relative_to(PACKAGE).as_posix()
        for file in CORE
        if any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(parsed(file)))
    }
    assert asynchronous == {"_flow.py", "client.py", "turn.py"}
    for blocking, coroutine in (
        (afterturn_client.Afterturn, afterturn_client.AsyncAfterturn),
        (afterturn_client.Chat, afterturn_client.AsyncChat),
        (afterturn_client.Turn, afterturn_client.AsyncTurn),
    ):
        names = [{name for name in dir(kind) if not name.startswith("_")} for kind in (blocking, coroutine)]
        assert names[0] == names[1]


def test_docstrings_name_their_nouns() -> None:
    figures = read_prose(text for file in FILES for text in find_docstrings(parsed(file))).figures
    assert figures["pointing"] <= 5
    assert figures["what"] <= 0.3


def test_no_class_name_stands_twice() -> None:
    assert find_twice(parsed(file) for file in FILES) == set()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a publisher builds it; skipped where the build backend cannot be had."""
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--quiet",
            "--wheel-dir",
            str(folder),
            str(PROJECT),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
    )
    if built.returncode and re.search(r"hatchling|ConnectionError|No matching distribution", built.stderr):
        pytest.skip(f"no build backend here: {built.stderr.strip().splitlines()[-1][:200]}")
    assert built.returncode == 0, built.stderr
    [file] = folder.glob("*.whl")
    return file


def test_the_wheel_holds_the_package_and_its_types(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"afterturn_client/{file.relative_to(PACKAGE).as_posix()}" for file in FILES} <= names
    assert "afterturn_client/py.typed" in names
    assert wheel.name == f"afterturn_client-{afterturn_client.__version__}-py3-none-any.whl"
    assert not any(name.startswith(("tests", "src")) for name in names)


def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env/bin/python"
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    code = (
        "import afterturn_client, sys; print(afterturn_client.__file__);"
        "afterturn_client.Afterturn('http://127.0.0.1:1', 'k').close();"
        "print(sorted(m for m in ('openai','litellm','anthropic','fastapi','context') if m in sys.modules))"
    )
    # The two needs come from the tests' environment, so that no registry is asked.
    ran = subprocess.run(
        [python, "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": get_path("purelib")},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    place, loaded = ran.stdout.splitlines()
    assert Path(place).is_relative_to(site)
    assert loaded == "[]"
