"""Media types: accepted uploads, and parsing of a declaration."""

import re
from dataclasses import dataclass
from enum import StrEnum

from api.http.errors import ProblemError


class Reader(StrEnum):
    """Reader of an upload's bytes."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    TABLE = "table"
    HTML = "html"
    PDF = "pdf"


PDF = "application/pdf"

_READERS = {
    "text/markdown": Reader.MARKDOWN,
    "text/x-markdown": Reader.MARKDOWN,
    "application/json": Reader.JSON,
    "application/jsonl": Reader.JSON,
    "application/x-ndjson": Reader.JSON,
    "text/json": Reader.JSON,
    "text/csv": Reader.TABLE,
    "application/csv": Reader.TABLE,
    "text/tab-separated-values": Reader.TABLE,
    "text/html": Reader.HTML,
    "application/xhtml+xml": Reader.HTML,
    PDF: Reader.PDF,
}
_JSON_SUFFIX = "+json"
_TEXT_PREFIX = "text/"
_TAKEN = "text/plain and other text/*, text/markdown, application/json, text/csv, text/html, application/pdf"
_MOST_CHARS = 200
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:+-]{1,40})""", re.IGNORECASE)


@dataclass(frozen=True)
class MediaType:
    """A declared media type.

    Attributes:
        name: Type and subtype, in lower case.
        charset: Declared encoding, in lower case; None if missing.
        reader: Reader of the type.
    """

    name: str
    charset: str | None
    reader: Reader


def read_media_type(declared: str) -> MediaType:
    """Read a declaration such as `text/plain; charset=utf-8`.

    Raises:
        ProblemError: The declaration is not a media type, or not an accepted type.
    """
    name = declared.partition(";")[0].strip().lower()
    charset = _CHARSET.search(declared[:_MOST_CHARS])
    reader = _reader_of(name) if _TYPE.fullmatch(name) else None
    if reader is None:
        raise ProblemError(
            "invalid-input",
            f"media_type: {name[:80]!r} is not taken; send {_TAKEN}",
            field="media_type",
        )
    return MediaType(name, charset[1].lower() if charset else None, reader)


def _reader_of(name: str) -> Reader | None:
    if name in _READERS:
        return _READERS[name]
    if name.endswith(_JSON_SUFFIX):
        return Reader.JSON
    return Reader.TEXT if name.startswith(_TEXT_PREFIX) else None
