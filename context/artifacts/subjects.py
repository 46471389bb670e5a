"""Subject of a tool call, spelled one way: a path, an address, a query, a record."""

import hashlib
import json
import posixpath
import re
import unicodedata
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from context.artifacts.subject_words import (
    ABOUT,
    CALLERS,
    INNER_ARGUMENTS,
    INNER_NAMES,
    LISTING,
    NEUTRAL,
    PARTS,
    PLACES,
    READ_METHODS,
    READS,
    SAYING_NOTHING,
    SOMETIMES_WRITES,
    WRITES,
    read_command,
)
from context.text.sanitize import decode_inner

_FIELD = "\n"
_MAX_KEY_CHARS = 400
_PATHS = (
    *("file_path", "filepath", "path", "file", "filename", "file_name", "target_file", "absolute_path"),
    *("relative_path", "notebook_path", "directory", "dir", "dir_path", "folder"),
)
_URLS = ("url", "uri", "link", "href", "page_url", "target_url", "endpoint")
_EXACT_QUERIES = ("pattern", "regex", "sql", "expression")
_QUERIES = (
    *("query", "q", "search_query", "search_term", "search", "keywords", "keyword", "pattern", "regex"),
    *("question", "sql", "expression", "prompt"),
)
_PLAIN_QUERY = re.compile(r"[\w\s,?!]*")
"""Words: case and blanks say nothing there, and much in a condition or an expression."""
_ROUTE = ("/", "!")
_FAILED = "failed"
_COMMANDS = ("command", "cmd", "script", "shell_command")
_VERB_KEYS = ("command", "action", "operation", "mode", "method")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_ID_KEY = re.compile(
    r"(?:.*[_-])?(?:id|uuid|number|symbol|ticker|sha|slug)\Z|.*[a-z](?:Id|ID|Number)\Z", re.IGNORECASE
)
_TRACKING = re.compile(r"utm_\w+|fbclid|gclid|ref_src")


@dataclass(frozen=True)
class Subject:
    """Subject of a call.

    Attributes:
        key: The thing, such as `path:src/app.py` or `url:https://example.org/a`; empty for nothing.
        reading: The kind of access: `read`, `list`, or the tool's own name, with further arguments, such as
            `read ref="v2"`; another kind shows other content.
        part: The accessed part, such as `limit=50 offset=100`; empty for the whole.
        writes: True if the call changes the thing.
    """

    key: str
    reading: str = ""
    part: str = ""
    writes: bool = False

    @property
    def text(self) -> str:
        """All fields but `writes` as one text, to be stored; `parse_subject` reads the text."""
        return _FIELD.join((self.key, self.reading, self.part)).rstrip(_FIELD)


UNKNOWN_SUBJECT = Subject("")


def parse_subject(text: str, *, writes: bool = False) -> Subject:
    """Read a text written by `Subject.text`.

    Args:
        text: The stored text.
        writes: The flag stored beside the text.
    """
    key, _, rest = text.partition(_FIELD)
    reading, _, part = rest.partition(_FIELD)
    return Subject(key, reading, part, writes)


def subject_of(tool_name: str, arguments: str | Mapping[str, Any], *, failed: bool = False) -> Subject:
    """Find the subject of a call, by the usual names of tools and arguments.

    Args:
        tool_name: The tool, in any spelling.
        arguments: The arguments, as JSON text or decoded; text that is no JSON counts as the only argument.
        failed: True if the call failed; a failed call showed nothing and makes no other reading old.

    Returns:
        The subject. A call of an unknown kind is its own subject: the same call again reads the same thing.
    """
    found = _subject_of(tool_name, arguments)
    if not failed or found.writes:
        return found
    return replace(found, part=f"{_FAILED} {found.part}".rstrip())


def _subject_of(tool_name: str, arguments: str | Mapping[str, Any]) -> Subject:
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
    if (query := _find(values, _QUERIES)) is not None and not writes:
        return Subject(_query_key(*query), _reading_of(tool_name, values, query[0]))
    path = _find(values, _PATHS)
    if path is not None and not _is_url(path[1]):
        return _of_place(_path_key(path[1], values), (words, tool_name), values, path[0], writes=writes)
    if (url := path or _find(values, _URLS)) is not None:
        key, fragment = _url_key(url[1])
        found = _of_place(key, (words, tool_name), values, url[0], writes=writes)
        return replace(found, part=f"{found.part} {fragment}".strip())
    return _of_record(tool_name, values, writes=writes)


def normal_path(path: str) -> str:
    """Spell a path one way: slashes, no `.` and no resolvable `..`, no end slash; case stays.

    Args:
        path: A path as named by a call.
    """
    plain = unicodedata.normalize("NFC", path.strip().removeprefix("file://")).replace("\\", "/")
    return posixpath.normpath(re.sub(r"/{2,}", "/", plain)) if plain else ""


def normal_url(url: str) -> str:
    """Spell an address one way: scheme and host small, no fragment, no tracking, parameters in order.

    A fragment with a route, such as `#/issues/5`, stays, because a route names another page.

    Args:
        url: An address; an unreadable address is only stripped.
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
    kept = [pair for pair in pairs if not _TRACKING.fullmatch(pair[0])]
    asked = urlencode(sorted(kept, key=lambda pair: pair[0]))
    route = parts.fragment if parts.fragment.startswith(_ROUTE) else ""
    return urlunsplit((parts.scheme.lower(), place, parts.path.rstrip("/"), asked, route))


def _url_key(url: str) -> tuple[str, str]:
    """Return the key of an address, and the part named by a fragment."""
    fragment = url.strip().partition("#")[2]
    part = f"fragment={_canonical(fragment)}" if fragment and not fragment.startswith(_ROUTE) else ""
    return _key("url", normal_url(url)), part if len(part) <= _MAX_KEY_CHARS else _digest(part)


def _path_key(path: str, values: Mapping[str, Any]) -> str:
    """Return the key of a path with its place: the same name in two repositories is two files."""
    places = {_spelled(name): value for name, value in values.items() if _spelled(name) in PLACES and value}
    spelled = normal_path(path)
    return _key("path", f"{spelled} in {_assigned(places)}" if places else spelled)


def _query_key(name: str, query: str) -> str:
    exact = _spelled(name) in _EXACT_QUERIES or _PLAIN_QUERY.fullmatch(query) is None
    text = unicodedata.normalize("NFC", query).strip() if exact else _normal(query)
    return _key("query", text)


def _of_place(
    key: str, tool: tuple[list[str], str], values: Mapping[str, Any], subject: str, *, writes: bool
) -> Subject:
    """Return the subject of a call on a path or an address; for a change, further arguments do not count."""
    reading = _reading(*tool)
    if writes:
        return Subject(key, reading, _part(values), writes=True)
    return Subject(key, _with_rest(reading, values, {subject}, without=PARTS), _part(values))


def _of_command(command: str) -> Subject:
    """Return the subject of a shell command: the one file shown or changed, else the command itself."""
    found = read_command(command)
    if found is None:
        return Subject(_key("command", " ".join(command.split())), "run")
    reading = "" if found.writes else "read"
    return Subject(_key("path", normal_path(found.path)), reading, found.part, found.writes)


def _of_record(tool_name: str, values: Mapping[str, Any], *, writes: bool) -> Subject:
    """Return a record named by an id, so that any change with the same id makes a reading old."""
    for name, value in values.items():
        if (
            _ID_KEY.match(name)
            and isinstance(value, str | int)
            and not isinstance(value, bool)
            and str(value)
        ):
            named = f"{'_'.join(_words(name))}={value}"
            reading = tool_name if writes else _reading_of(tool_name, values, name)
            return Subject(_key("id", named), reading, writes=writes)
    return Subject(_key("call", f"{tool_name} {_canonical(values)}"), _one_line(tool_name), writes=writes)


def _inner_call(values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Return the call inside a tool that calls other tools; the inner call has the subject."""
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


def _spelled(name: str) -> str:
    return "_".join(_words(name))


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    found = _find(values, names)
    return found[1] if found else None


def _find(values: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, str] | None:
    """Find the first named argument with a text, or with a list of texts: its name and text."""
    given = {name.casefold().replace("-", "_"): name for name in values}
    given |= {_spelled(name): name for name in values}
    for name in names:
        value = values.get(given.get(name, name))
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            value = " ".join(value) if names in {_COMMANDS, _QUERIES} else value[0]
        if isinstance(value, str) and value.strip():
            return given[name], value
    return None


def _is_verb(text: str) -> bool:
    return all(word in READS | WRITES | {"str", "undo"} for word in _words(text))


def _is_url(text: str) -> bool:
    return re.match(r"\s*https?://", text, re.IGNORECASE) is not None


def _writes(words: list[str], values: Mapping[str, Any]) -> bool:
    """Say whether a call writes, by an argument that names the action, else by the first verb of the tool."""
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
    """Name the kind of access, one name for all tools that show the same thing of a path or an address."""
    if any(word in ABOUT for word in words):
        return "stat"
    if any(word in LISTING for word in words):
        return "list"
    own = _words(tool_name.rpartition("__")[2])
    return "read" if own and NEUTRAL.issuperset(own) else _one_line(tool_name)


def _reading_of(tool_name: str, values: Mapping[str, Any], subject: str) -> str:
    """A query or a record, on another page or in another place, is another reading."""
    return _with_rest(_one_line(tool_name), values, {subject})


def _with_rest(
    reading: str,
    values: Mapping[str, Any],
    subject: AbstractSet[str],
    *,
    without: AbstractSet[str] = frozenset(),
) -> str:
    """Add the remaining arguments to the kind of access, without the subject and the part."""
    left_out = SAYING_NOTHING | without
    rest = {
        name: value
        for name, value in values.items()
        if value not in (None, "", [])
        and _spelled(name) not in left_out
        and (name not in subject or isinstance(value, list))
    }
    return f"{reading} {_assigned(rest)}".rstrip()


def _part(values: Mapping[str, Any]) -> str:
    chosen = {
        _spelled(name): value
        for name, value in values.items()
        if _spelled(name) in PARTS and value not in (None, "", [])
    }
    return _assigned(chosen)


def _assigned(values: Mapping[str, Any]) -> str:
    text = " ".join(f"{_one_line(name)}={_canonical(values[name])}" for name in sorted(values))
    return text if len(text) <= _MAX_KEY_CHARS else _digest(text)


def _one_line(text: str) -> str:
    return text.replace(_FIELD, " ")


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _key(kind: str, value: str) -> str:
    text = _one_line(value)
    return f"{kind}:{text if len(text) <= _MAX_KEY_CHARS else _digest(text)}"


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _digest(text: str) -> str:
    """Return a digest in place of a text too long for a key."""
    return "sha256-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
