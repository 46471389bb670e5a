"""What is installed: exactly what is locked, nothing that shadows us, and never the project itself."""

import re
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path
from sysconfig import get_path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.data import ROOT
from tests.unit.sources import TOP_LEVEL

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
DIRECT = [
    Requirement(line)
    for lines in (PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"].values())
    for line in lines
    if isinstance(line, str)
]
LOCK = (ROOT / "requirements.lock").read_text()
ENTRY = re.compile(
    r"^(?P<name>[a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==(?P<version>[0-9][\w.!+]*)(?P<marker> ; [^\n\\]+)?"
    r"(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n",
    re.MULTILINE,
)
LOCKED = {entry["name"]: entry["version"] for entry in ENTRY.finditer(LOCK)}
INSTALLERS = {"pip", "setuptools", "wheel"}
"""What a virtual environment brings along."""

KNOWN_PTH = {"distutils-precedence.pth"}
"""Setuptools' own. Such a file runs at every start of Python, so a new one is looked at first."""


def test_the_lock_holds_exact_versions_with_hashes_and_nothing_else() -> None:
    assert ENTRY.sub("", LOCK) == ""


def test_a_package_is_locked_once() -> None:
    assert len(LOCKED) == len(ENTRY.findall(LOCK))


@pytest.mark.parametrize("wanted", DIRECT, ids=str)
def test_the_lock_meets_every_requirement(wanted: Requirement) -> None:
    assert wanted.specifier.contains(LOCKED[canonicalize_name(wanted.name)])


def test_litellm_is_pinned_by_hand() -> None:
    (pinned,) = [str(wanted.specifier) for wanted in DIRECT if wanted.name == "litellm"]
    assert pinned == f"=={LOCKED['litellm']}"


def test_what_is_installed_is_what_is_locked() -> None:
    found = {canonicalize_name(item.name): item.version for item in distributions()}
    assert {name: LOCKED.get(name) for name in found if name not in INSTALLERS} == {
        name: version for name, version in found.items() if name not in INSTALLERS
    }


def test_the_project_is_never_built_or_installed() -> None:
    assert "build-system" not in PROJECT
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]
    assert PROJECT["project"]["name"] not in {item.name for item in distributions()}


def test_nobody_else_owns_one_of_our_names() -> None:
    assert not set(TOP_LEVEL) & (packages_distributions().keys() | sys.stdlib_module_names)


def test_no_package_runs_code_at_every_start_of_python() -> None:
    assert {file.name for file in Path(get_path("purelib")).glob("*.pth")} <= KNOWN_PTH
