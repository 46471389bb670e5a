# ruff: noqa: E501, SIM905 - tables of words in several scripts
"""Words that name the subject of a tool call: verbs of tool names and shell commands."""

import re
import shlex
from dataclasses import dataclass

PARTS = frozenset(
    "offset limit start end start_line end_line line_start line_end from to lines range view_range page "
    "page_number pages start_index end_index max_length head tail cursor section sheet cell selector depth "
    "cells".split()
)
"""Arguments that choose a part of the subject."""

READS = frozenset(
    "get read view open cat fetch show load find search list ls lookup look query scrape crawl browse visit "
    "retrieve download check describe inspect grep glob tree count calculate summarize extract stat info status "
    "preview head tail".split()
)
WRITES = frozenset(
    "write edit update delete remove create insert replace patch append put move rename modify cancel send add "
    "apply save upload push merge overwrite truncate drop alter rm mv mkdir touch exchange return assign close "
    "transfer submit".split()
)
SOMETIMES_WRITES = frozenset("book order post set record log commit copy cp run execute change".split())
"""Verbs that are also nouns; counted if a name has no other verb."""

READ_METHODS = frozenset({"get", "head", "options"})
SAME_READING = frozenset(
    "get read view open cat fetch show load scrape crawl browse visit retrieve download".split()
)
"""Verbs that show the same thing of a path or an address."""

LISTING = frozenset({"list", "ls", "tree", "glob", "dir"})
CALLERS = frozenset("tool tools call execute invoke function mcp run use".split())
INNER_NAMES = ("tool_name", "tool", "function_name", "function", "name")
INNER_ARGUMENTS = (
    "params",
    "parameters",
    "arguments",
    "args",
    "input",
    "tool_input",
    "tool_args",
    "tool_arguments",
)
"""Arguments for the call inside a tool that calls other tools."""

PLACES = frozenset(
    "repo repository owner org organization host hostname server bucket project project_id workspace database container "
    "drive site account tenant registry namespace".split()
)
"""Arguments for the place of a path; the same path in another place is another thing, also for a change."""

SAYING_NOTHING = frozenset(
    "description explanation reason rationale justification purpose thought thoughts security_risk timeout timeout_ms timeout_s "
    "timeout_seconds".split()
)
"""Arguments without influence on the content read."""

NEUTRAL = SAME_READING | frozenset(
    "file files content contents page pages web website site url link text document the a of from "
    "by tool fs filesystem mcp raw data resource".split()
)
"""Words of tools that show a path or an address unchanged; any further word means other content."""

ABOUT = frozenset({"info", "stat", "status", "metadata", "exists", "size"})


_SHOWS = frozenset({"cat", "head", "tail", "less", "more", "nl", "bat"})
_CHANGES = frozenset({"rm", "touch", "tee", "truncate", "mv", "cp"})
_JOINED = re.compile(r"[|;&\n`]|\$\(|<<")
_ENTERED = re.compile(r"\s*cd\s+([^\s;&|'\"]+)\s*&&\s*")
_TARGET = re.compile(r"(?<![0-9&>])>{1,2}\s*([^\s;&|><'\"]+)")
_PRINTED = re.compile(r"(\d+)(?:,(\d+|\$))?p")
_MAX_CHARS = 20_000


@dataclass(frozen=True)
class FileCommand:
    """A command about one file.

    Attributes:
        path: The file, after the folder entered by the command.
        part: The shown part, such as `lines=1,40`; empty for all of the file.
        writes: True if the command changes the file.
    """

    path: str
    part: str = ""
    writes: bool = False


def read_command(command: str) -> FileCommand | None:
    """Find the file shown or changed by a command.

    Args:
        command: A shell command of any kind.

    Returns:
        The file; None if the command does anything more, or nothing known here.
    """
    if len(command) > _MAX_CHARS:
        return None
    entered = _ENTERED.match(command)
    folder = entered[1] if entered else ""
    rest = command[entered.end() :] if entered else command
    target = _TARGET.search(rest.split("\n", 1)[0])
    if target and not target[1].startswith("/dev/"):
        return FileCommand(_joined(folder, target[1]), writes=True)
    if _JOINED.search(rest):
        return None
    try:
        words = shlex.split(rest)
    except ValueError:
        return None
    return _of_words(words, folder) if words else None


def _of_words(words: list[str], folder: str) -> FileCommand | None:
    name, files = words[0], [word for word in words[1:] if not word.startswith("-")]
    if name == "sed":
        return _of_sed(words[1:], folder)
    if name in _CHANGES and files:
        return FileCommand(_joined(folder, files[-1]), writes=True)
    if name not in _SHOWS:
        return None
    options = [word for word in words[1:] if word.startswith("-")]
    if name in {"head", "tail"}:
        return _of_end(name, words[1:], folder)
    return FileCommand(_joined(folder, files[0])) if len(files) == 1 and len(options) < len(words) else None


def _of_end(name: str, words: list[str], folder: str) -> FileCommand | None:
    numbers = [word for word in words if re.fullmatch(r"-n?\+?\d+|\+?\d+", word)]
    files = [word for word in words if not word.startswith("-") and word not in numbers]
    if len(files) != 1:
        return None
    return FileCommand(_joined(folder, files[0]), f"{name}={''.join(numbers).lstrip('-n') or 10}")


def _of_sed(words: list[str], folder: str) -> FileCommand | None:
    files = [word for word in words if not word.startswith("-")]
    if any(word.startswith(("-i", "--in-place")) for word in words) and files:
        return FileCommand(_joined(folder, files[-1]), writes=True)
    printed = _PRINTED.fullmatch(files[0]) if len(files) == 2 and "-n" in words else None  # noqa: PLR2004 - a script and a file
    if printed is None:
        return None
    return FileCommand(_joined(folder, files[1]), f"lines={printed[1]},{printed[2] or printed[1]}")


def _joined(folder: str, path: str) -> str:
    return path if not folder or path.startswith(("/", "~")) else f"{folder.rstrip('/')}/{path}"
