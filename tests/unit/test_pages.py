"""What the pages for people have somebody type can be typed, as it stands, in a fresh clone."""

import re
from pathlib import Path
from typing import Any

import pytest

from afterturn.__main__ import COMMANDS as SHORT_HELP
from afterturn.__main__ import load
from tests.data import ROOT

PARTS = ("how-to", "operations", "reference", "security")
PAGES = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/*.md"), ROOT / "docs/operations/alerts.yml"]
    + [page for part in PARTS for page in ROOT.glob(f"docs/{part}/**/*.md")]
)
CODE = re.compile(r"```\w*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
OURS = re.compile(r"(?:^|python -m )afterturn ([a-z]+)(?: ([a-z]+)\b(?![=/]))?([^#\n]*)", re.MULTILINE)
SET_BY_READER = {"AFTERTURN_DATABASE_URL"}


def code_of(page: Path) -> list[str]:
    """What a page shows as code, blocks and words alike."""
    return [block or words for block, words in CODE.findall(page.read_text())]


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_python_is_that_of_the_clone(page: Path) -> None:
    """Any other has none of the packages."""
    for code in code_of(page):
        for found in re.finditer(r"(\S*)\bpython3? -m ", code):
            in_container = "docker compose" in code[: found.start()].rpartition("\n")[2]
            assert found[1] == ".venv/bin/" or in_container, code


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_a_variable_of_a_command_was_set_above_it(page: Path) -> None:
    known = set(SET_BY_READER)
    for block, _ in CODE.findall(page.read_text()):
        known |= set(re.findall(r"^([A-Z]+)=", block, re.MULTILINE))
        if "$" in block and "curl" in block:
            assert set(re.findall(r"\$([A-Z_]+)", block)) <= known


def command(*path: str) -> Any:
    """The command of ours with this name; None where there is none."""
    found: Any = load(path[0]) if path and path[0] in SHORT_HELP else None
    for name in path[1:]:
        found = found.get_command(None, name) if hasattr(found, "get_command") else None
    return found


@pytest.mark.parametrize("name", SHORT_HELP)
def test_the_short_help_of_a_command_is_the_first_sentence_of_its_own(name: str) -> None:
    own = " ".join(str(load(name).help).partition("\n\n")[0].split())
    assert own == SHORT_HELP[name]


COMMANDS = sorted(
    {
        (first, second, rest.strip())
        for page in PAGES
        for code in code_of(page)
        for first, second, rest in OURS.findall(code)
    }
)


@pytest.mark.parametrize("typed", COMMANDS, ids=[" ".join(one).strip() for one in COMMANDS])
def test_a_command_of_a_page_is_there_with_its_options(typed: tuple[str, str, str]) -> None:
    first, second, rest = typed
    assert command(first), first
    found = command(first, second) if second and hasattr(command(first), "get_command") else command(first)
    assert found, second
    options = {name for one in found.params for name in (*one.opts, *one.secondary_opts)}
    assert set(re.findall(r"--[a-z-]+", rest)) <= options


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("docs/how-to/integrations/[a-z]*.md")), ids=lambda one: one.stem
)
def test_a_page_of_an_integration_installs_shows_ten_lines_and_names_its_limits(page: Path) -> None:
    said = page.read_text()
    assert "pip install" in said or "npm install" in said or "Nothing is installed" in said
    blocks = re.findall(r"```(?:python|ts|json|toml)\n(.*?)```", said, re.DOTALL)
    assert blocks
    assert all(len([line for line in block.splitlines() if line]) <= 10 for block in blocks)
    _, _, limits = said.partition("## What it cannot do\n")
    assert limits.count("\n- ") >= 2
