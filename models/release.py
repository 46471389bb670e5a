"""Release of this code, written once in `pyproject.toml`; a checkout is the whole installation."""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"

RELEASE: str = tomllib.loads(PROJECT.read_text())["project"]["version"]
"""Number of the release, such as `0.2.0`; the version of the calls is `API_VERSION`."""
