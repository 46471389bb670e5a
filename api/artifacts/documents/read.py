"""Reading of an upload into a document: media type, characters, clean text, structure and notes."""

import codecs
import json
import re
from dataclasses import dataclass
from enum import StrEnum

from api.artifacts.documents.sandbox import extract_apart
from api.http.errors import ProblemError
from context.artifacts.content import kind_of
from context.artifacts.types import ContentKind
from context.text.sanitize import CLEANED, clean_text
from models.artifacts.settings import ArtifactSettings, artifact_settings


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


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (
    (b"%PDF-", "a PDF document; send it as application/pdf"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"\xd0\xcf\x11\xe0", "an old office document"),
    (b"SQLite format 3\0", "a database"),
)
_CHARSET_NAME = re.compile(
    r"utf[-_]?(?:8|16|32)(?:[-_]?[lb]e)?|us-ascii|ascii|iso[-_]?8859[-_]\d{1,2}|latin[-_]?\d{1,2}"
    r"|(?:windows|cp)[-_]?(?:125\d|874|932|949|437|850|866)|koi8[-_][rtu]|gbk|gb2312|gb18030|big5(?:[-_]?hkscs)?"
    r"|shift[-_]?jis|euc[-_](?:jp|kr|cn)|tis[-_]620|mac[-_]?(?:roman|cyrillic)"
)
"""Accepted encodings; Python knows more, some with a cost far above their length."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROL_SHARE = 0.01
_NOT_TEXT = "control characters take more than one part in a hundred of it"


_PAGE_CHARSET = re.compile(rb"<meta[^<>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.IGNORECASE)
_PAGE_HEAD = 2_048


def charset_of_page(data: bytes) -> str | None:
    """Read the encoding declared inside an HTML page, in lower case."""
    found = _PAGE_CHARSET.search(data[:_PAGE_HEAD])
    return found[1].decode().lower() if found else None


def decode_text(data: bytes, charset: str | None) -> tuple[str, tuple[str, ...]]:
    """Decode a document declared as text.

    Args:
        data: The bytes.
        charset: The declared encoding; a byte order mark wins.

    Returns:
        The text with single-character line ends, and notes.

    Raises:
        ProblemError: The document is not text, the encoding is unknown, or the bytes are invalid in the
            encoding.
    """
    for start, name in _SIGNATURES:
        if data.startswith(start):
            raise _refused(f"is {name}")
    text = _decode(data, charset)
    controls = len(_CONTROL.findall(text))
    if controls > len(text) * _MOST_CONTROL_SHARE:
        raise _refused(f"is not text: {_NOT_TEXT}")
    clean = clean_text(text)
    notes = (CLEANED,) if clean is not text else ()
    return clean.replace("\r\n", "\n").replace("\r", "\n"), notes


def _decode(data: bytes, charset: str | None) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, "its byte order mark")
    if charset is None:
        return _decoded(data, "utf-8", "the encoding that counts where none is declared")
    if not _CHARSET_NAME.fullmatch(charset):
        raise ProblemError("invalid-input", f"charset: {charset!r} is not known", field="charset")
    return _decoded(data, charset, "the declared charset")


def _decoded(data: bytes, encoding: str, why: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise ProblemError("invalid-input", f"charset: {encoding!r} is not known", field="charset") from None
    except UnicodeDecodeError as error:
        raise _refused(
            f"is not {encoding}, {why}: byte 0x{data[error.start]:02x} at offset {error.start}; name its "
            "encoding, as in `text/plain; charset=windows-1252`",
            offset=error.start,
        ) from None


def _refused(why: str, **numbers: object) -> ProblemError:
    return ProblemError("invalid-input", f"content: {why}", field="content", **numbers)


_APART = {Reader.HTML: "api.artifacts.documents.html", Reader.PDF: "api.artifacts.documents.pdf"}
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Document:
    """An upload as text. The content is data, never an instruction.

    Attributes:
        text: Clean text, never blank.
        kind: Structure of the text.
        media_type: The declared media type.
        title: The document's own title; empty for none.
        notes: Omitted parts, and differences from the declaration.
    """

    text: str
    kind: ContentKind
    media_type: str
    title: str = ""
    notes: tuple[str, ...] = ()


def read_document(data: bytes, media_type: str, *, settings: ArtifactSettings | None = None) -> Document:
    """Read an upload, within limits of size, memory and time.

    Args:
        data: The upload's bytes.
        media_type: The declared media type, possibly with a charset.
        settings: The limits; None for the limits in force.

    Raises:
        ProblemError: The upload is too large, not text, not of the declared type, or unreadable; with the
            reason.
    """
    bounds = settings or artifact_settings()
    declared = read_media_type(media_type)
    if len(data) > bounds.attachment_max_bytes:
        raise too_large("bytes", len(data), bounds.attachment_max_bytes)
    if declared.reader in _APART:
        document = _read_apart(data, declared, bounds)
    else:
        text, notes = decode_text(data, declared.charset)
        check_length(text, bounds)
        document = _judged(text, declared, notes)
    check_length(document.text, bounds)
    return document


def read_inline(text: str, media_type: str, *, settings: ArtifactSettings | None = None) -> Document:
    """Read a text from a JSON body, already cleaned with the body."""
    declared = read_media_type(media_type)
    if declared.reader is Reader.PDF:
        raise ProblemError(
            "invalid-input",
            "content: a PDF is not text; upload it by POST /v1/attachments as content_base64",
            field="content",
        )
    return read_document(text.encode(), f"{declared.name}; charset=utf-8", settings=settings)


def too_large(unit: str, size: int, limit: int) -> ProblemError:
    """Build the error for an exceeded limit."""
    message = f"content: {size} {unit} are more than {limit}"
    return ProblemError("too-large", message, field="content", limit=limit)


def _read_apart(data: bytes, declared: MediaType, bounds: ArtifactSettings) -> Document:
    notes: tuple[str, ...] = ()
    if declared.reader is Reader.HTML:
        text, notes = decode_text(data, declared.charset or charset_of_page(data))
        data = text.encode()
    elif not data[:1024].lstrip().startswith(b"%PDF-"):
        raise ProblemError("invalid-input", "content: does not begin as a PDF does", field="content")
    found = extract_apart(_APART[declared.reader], data, bounds)
    clean = clean_text(found.text)
    if clean is not found.text:
        notes = (CLEANED,)
    return Document(clean, kind_of(clean), declared.name, clean_text(found.title), (*notes, *found.notes))


def _judged(text: str, declared: MediaType, notes: tuple[str, ...]) -> Document:
    """Determine the structure of a text; the declared type counts unless the text contradicts."""
    kind = kind_of(text)
    if declared.reader is Reader.JSON and kind is not ContentKind.JSON:
        notes = (*notes, f"{_json_fault(text)}; it is kept as text")
    elif declared.reader is Reader.TABLE and kind is not ContentKind.TABLE:
        if _has_columns(text):
            kind = ContentKind.TABLE
        else:
            notes = (*notes, "its first line has no columns; it is kept as text")
    elif declared.reader is Reader.MARKDOWN and kind is ContentKind.TEXT:
        kind = ContentKind.MARKDOWN
    return Document(text, kind, declared.name, notes=notes)


def _json_fault(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"is not valid JSON: {error.msg}, at line {error.lineno}, column {error.colno}"
    except (RecursionError, ValueError):
        return "is JSON that is nested too deeply or holds a number that is too long"
    return "is a single JSON value, no object or list"


def _has_columns(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    return any(sign in first for sign in _DELIMITERS)


def check_length(text: str, bounds: ArtifactSettings) -> None:
    """Refuse a blank or too long text."""
    if not text.strip():
        raise ProblemError("invalid-input", "content: holds no text", field="content")
    if len(text) > bounds.attachment_max_chars:
        raise too_large("characters", len(text), bounds.attachment_max_chars)
