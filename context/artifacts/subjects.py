"""What a tool call reads or writes: a path, an address, a query, a record; spelled one way."""

import hashlib
import json
import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from context.artifacts.shell import read_command
from context.artifacts.verbs import (
    ABOUT,
    CALLERS,
    INNER_ARGUMENTS,
    INNER_NAMES,
    LISTING,
    PARTS,
    READ_METHODS,
    READS,
    SAME_READING,
    SOMETIMES_WRITES,
    WRITES,
)
from context.sanitize import decode_inner

_FIELD = "\n"
_MAX_KEY_CHARS = 400
_PATHS = (
    *("file_path", "filepath", "path", "file", "filename", "file_name", "target_file", "absolute_path"),
    *("relative_path", "notebook_path", "directory", "dir", "dir_path", "folder"),
)
_URLS = ("url", "uri", "link", "href", "page_url", "target_url", "endpoint")
_QUERIES = (
    *("query", "q", "search_query", "search_term", "search", "keywords", "keyword", "pattern", "regex"),
    *("question", "sql", "expression", "prompt"),
)
_COMMANDS = ("command", "cmd", "script", "shell_command")
_VERB_KEYS = ("command", "action", "operation", "mode", "method")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_ID_KEY = re.compile(
    r"(?:.*[_-])?(?:id|uuid|number|symbol|ticker|sha|slug)\Z|.*[a-z](?:Id|ID|Number)\Z", re.IGNORECASE
)
_TRACKING = re.compile(r"utm_\w+|fbclid|gclid|ref_src")


@dataclass(frozen=True)
class Subject:
    """What a call is about.

    Attributes:
        key: The thing, such as `path:src/app.py` or `url:https://example.org/a`; empty for nothing.
        reading: How it is looked at: `read`, `list`, or the tool's own name; another shows other things.
        part: Which part of it, such as `limit=50 offset=100`; empty for all of it.
        writes: Whether the call changes it.
    """

    key: str
    reading: str = ""
    part: str = ""
    writes: bool = False

    @property
    def text(self) -> str:
        """All but `writes` as one text, to be stored; `parse_subject` reads it."""
        return _FIELD.join((self.key, self.reading, self.part)).rstrip(_FIELD)


UNKNOWN_SUBJECT = Subject("")


def parse_subject(text: str, *, writes: bool = False) -> Subject:
    """Read what `Subject.text` wrote.

    Args:
        text: The stored text.
        writes: Stored beside it.
    """
    key, _, rest = text.partition(_FIELD)
    reading, _, part = rest.partition(_FIELD)
    return Subject(key, reading, part, writes)


def subject_of(tool_name: str, arguments: str | Mapping[str, Any]) -> Subject:
    """Tell what a call reads or writes, by the usual names of tools and arguments.

    Args:
        tool_name: The tool, in any spelling.
        arguments: Its arguments, as JSON text or decoded; text that is no JSON is taken as the only argument.

    Returns:
        The subject. A call of an unknown kind is about itself: the same call again reads the same thing.
    """
    values = _decoded(arguments)
    if values is None:
        return Subject(_key("call", f"{tool_name} {arguments}"), tool_name)
    inner = _inner_call(values) if CALLERS & set(_words(tool_name)) else None
    if inner is not None:
        tool_name, values = inner
    words = _words(tool_name)
    command = _first(values, _COMMANDS)
    if command is not None and not (_is_verb(command) and _first(values, _PATHS)):
        return _of_command(command)
    writes = _writes(words, values)
    if (query := _first(values, _QUERIES)) is not None and not writes:
        return Subject(_key("query", query), tool_name, _rest(values, query))
    if (path := _first(values, _PATHS)) is not None and not _is_url(path):
        return Subject(_key("path", normal_path(path)), _reading(words, tool_name), _part(values), writes)
    if (url := path or _first(values, _URLS)) is not None:
        return Subject(_key("url", normal_url(url)), _reading(words, tool_name), _part(values), writes)
    return _of_record(tool_name, values, writes=writes)


def normal_path(path: str) -> str:
    """Spell a path one way: slashes, no `.` and no resolvable `..`, no end slash; case stays.

    Args:
        path: A path as a call names it.
    """
    plain = unicodedata.normalize("NFC", path.strip().removeprefix("file://")).replace("\\", "/")
    return posixpath.normpath(re.sub(r"/{2,}", "/", plain)) if plain else ""


def normal_url(url: str) -> str:
    """Spell an address one way: scheme and host small, no fragment, no tracking, parameters in order.

    Args:
        url: An address; what cannot be read as one is only stripped.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url.strip()
    host = (parts.hostname or "").removeprefix("www.")
    default = {"http": 80, "https": 443}.get(parts.scheme)
    place = f"{host}:{port}" if port and port != default else host
    pairs = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=None)
    asked = urlencode(sorted(pair for pair in pairs if not _TRACKING.fullmatch(pair[0])))
    return urlunsplit((parts.scheme.lower(), place, parts.path.rstrip("/"), asked, ""))


def _of_command(command: str) -> Subject:
    """A shell command is about the one file that it shows or changes, else about itself."""
    found = read_command(command)
    if found is None:
        return Subject(_key("command", " ".join(command.split())), "run")
    reading = "" if found.writes else "read"
    return Subject(_key("path", normal_path(found.path)), reading, found.part, found.writes)


def _of_record(tool_name: str, values: Mapping[str, Any], *, writes: bool) -> Subject:
    """A record that is named by an id: whatever changes the same id makes a reading of it old."""
    for name, value in values.items():
        if (
            _ID_KEY.match(name)
            and isinstance(value, str | int)
            and not isinstance(value, bool)
            and str(value)
        ):
            named = f"{'_'.join(_words(name))}={value}"
            return Subject(_key("id", named), tool_name, "" if writes else _rest(values, value), writes)
    return Subject(_key("call", f"{tool_name} {_canonical(values)}"), tool_name, writes=writes)


def _inner_call(values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """A tool that calls other tools is about what the one it calls is about."""
    name = next((values[key] for key in INNER_NAMES if isinstance(values.get(key), str)), "")
    given = next((values[key] for key in INNER_ARGUMENTS if values.get(key)), None)
    decoded = _decoded(given) if isinstance(given, str | Mapping) else None
    return (name, decoded) if name and decoded else None


def _decoded(arguments: str | Mapping[str, Any]) -> Mapping[str, Any] | None:
    if isinstance(arguments, Mapping):
        return arguments
    try:
        values = decode_inner(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _HUMP.findall(name)]


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Find the first of these arguments that is a text, or a list that begins with one."""
    folded = {name.casefold().replace("-", "_"): value for name, value in values.items()}
    folded |= {"_".join(_words(name)): value for name, value in values.items()}
    for name in names:
        value = folded.get(name)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            value = " ".join(value) if names in {_COMMANDS, _QUERIES} else value[0]
        if isinstance(value, str) and value.strip():
            return value
    return None


def _is_verb(text: str) -> bool:
    return all(word in READS | WRITES | {"str", "undo"} for word in _words(text))


def _is_url(text: str) -> bool:
    return re.match(r"\s*https?://", text, re.IGNORECASE) is not None


def _writes(words: list[str], values: Mapping[str, Any]) -> bool:
    """The first verb decides; an argument that names the action decides before it."""
    for key in _VERB_KEYS:
        verb = values.get(key)
        if isinstance(verb, str) and key == "method" and verb.isalpha():
            return verb.casefold() not in READ_METHODS
        if isinstance(verb, str) and _is_verb(verb):
            words = _words(verb)
            break
    verbs = [word for word in words if word in READS or word in WRITES]
    if verbs:
        return verbs[0] in WRITES
    return any(word in SOMETIMES_WRITES for word in words)


def _reading(words: list[str], tool_name: str) -> str:
    """Tools that show the same thing of a path or an address have one name."""
    if any(word in ABOUT for word in words):
        return "stat"
    if any(word in LISTING for word in words):
        return "list"
    return "read" if any(word in SAME_READING for word in words) else tool_name


def _part(values: Mapping[str, Any]) -> str:
    chosen = {
        "_".join(_words(name)): value
        for name, value in values.items()
        if "_".join(_words(name)) in PARTS and value not in (None, "", [])
    }
    return _assigned(chosen)


def _rest(values: Mapping[str, Any], subject: object) -> str:
    """All other arguments: a query on another page, or in another place, is another reading."""
    return _assigned({name: value for name, value in values.items() if value not in (subject, None, "")})


def _assigned(values: Mapping[str, Any]) -> str:
    text = " ".join(f"{name}={_canonical(values[name])}" for name in sorted(values))
    return text if len(text) <= _MAX_KEY_CHARS else _digest(text)


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _key(kind: str, value: str) -> str:
    text = _normal(value) if kind == "query" else value.replace(_FIELD, " ")
    return f"{kind}:{text if len(text) <= _MAX_KEY_CHARS else _digest(text)}"


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _digest(text: str) -> str:
    """Stands for what is too long to be a key."""
    return "sha256-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
