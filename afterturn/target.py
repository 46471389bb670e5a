"""Target of a command: by option, from the environment, or the stack of a directory."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from afterturn.stack.home import ADDRESSES

DATA_DIRECTORY = Path(".afterturn")
"""Default data directory of `afterturn up`."""


class NoTargetError(Exception):
    """The API is unknown; the message explains how to get one."""


@dataclass(frozen=True)
class ApiTarget:
    """An API with a key."""

    base_url: str
    api_key: str


def find_target(base_url: str | None, api_key: str | None, directory: Path = DATA_DIRECTORY) -> ApiTarget:
    """Find the API: from the options, then the environment, then the stack of a data directory.

    Args:
        base_url: The API's address, if given.
        api_key: A key for the API, if given.
        directory: The stack's data directory.

    Raises:
        NoTargetError: The address or the key is missing.
    """
    url = base_url or os.environ.get("AFTERTURN_BASE_URL") or _stack_url(directory)
    key = api_key or os.environ.get("AFTERTURN_API_KEY") or _stack_key(directory)
    if url and key:
        return ApiTarget(url.rstrip("/"), key)
    missing = "address" if not url else "key"
    raise NoTargetError(
        f"no API {missing}: run `make up` first (it writes {directory}/), "
        "or give --base-url and --api-key, or set AFTERTURN_BASE_URL and AFTERTURN_API_KEY"
    )


def use_running_stack(directory: Path) -> bool:
    """Use the servers of the stack running in a directory, unless the environment names a database.

    Args:
        directory: The stack's data directory.

    Returns:
        True if the stack's servers are used from now on.
    """
    file = directory / ADDRESSES
    if "AFTERTURN_DATABASE_URL" in os.environ or not file.exists():
        return False
    addresses = json.loads(file.read_text())
    os.environ["AFTERTURN_DATABASE_URL"] = addresses["database_url"]
    os.environ["AFTERTURN_BROKER_URL"] = addresses["broker_url"]
    return True


def _stack_url(directory: Path) -> str | None:
    try:
        port = json.loads((directory / "stack.json").read_text())["ports"]["api"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return f"http://127.0.0.1:{port}"


def _stack_key(directory: Path) -> str | None:
    try:
        return (directory / "api-key").read_text().strip() or None
    except OSError:
        return None
