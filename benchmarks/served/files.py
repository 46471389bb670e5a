"""Data sets by folder, whatever their files are called."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from context.types import JsonObject


class NoDataError(Exception):
    """A set is not there; the message says where it was looked for."""


def data_files(folder: Path) -> list[Path]:
    """List the JSON-lines files of a folder, gzipped or not, by name."""
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])


def read_rows(folder: Path, is_wanted: Callable[[JsonObject], bool]) -> list[JsonObject]:
    """Read the rows of a folder that have the shape of a set; other files of it are passed over.

    Args:
        folder: The set's folder.
        is_wanted: Knows a row by its members.

    Raises:
        NoDataError: The folder is missing, or holds no such row.
    """
    if not folder.is_dir():
        raise NoDataError(f"no folder {folder.name!r} in the data")
    rows = [row for path in data_files(folder) for row in _rows(path) if is_wanted(row)]
    if not rows:
        raise NoDataError(f"no file in the folder {folder.name!r} has rows of this set's shape")
    return rows


def _rows(path: Path) -> Iterator[JsonObject]:
    """Lines end at newline characters only."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    for line in text.split("\n"):
        row = json.loads(line) if line.strip() else None
        if isinstance(row, dict):
            yield row
