"""Simple shell commands: the file shown or changed by a command."""

import re
import shlex
from dataclasses import dataclass

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
