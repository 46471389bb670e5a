"""Data sets by folder, whatever their files are called."""

from collections.abc import Callable
from pathlib import Path

from context.types import JsonObject
from tests.data import jsonl_files, read_jsonl


class NoDataError(Exception):
    """A set is not there; the message says where it was looked for."""


def read_files(folder: Path, is_wanted: Callable[[JsonObject], bool]) -> list[tuple[str, list[JsonObject]]]:
    """Read the rows of a folder that have the shape of a set, by file; other rows and files are passed over.

    Args:
        folder: The set's folder.
        is_wanted: Knows a row by its members.

    Returns:
        The names of the files that have such rows, without their endings, and these rows.

    Raises:
        NoDataError: The folder is missing, or holds no such row.
    """
    if not folder.is_dir():
        raise NoDataError(f"no folder {folder.name!r} in the data")
    read = [(path.name.partition(".")[0], read_jsonl(path)) for path in jsonl_files(folder)]
    wanted = [(name, [row for row in rows if is_wanted(row)]) for name, rows in read]
    found = [(name, rows) for name, rows in wanted if rows]
    if not found:
        raise NoDataError(f"no file in the folder {folder.name!r} has rows of this set's shape")
    return found


def read_rows(folder: Path, is_wanted: Callable[[JsonObject], bool]) -> list[JsonObject]:
    """Read the same as one list."""
    return [row for _, rows in read_files(folder, is_wanted) for row in rows]
