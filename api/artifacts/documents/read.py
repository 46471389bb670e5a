"""Reading of an upload into a document: clean text, structure, and notes."""

import json
from dataclasses import dataclass

from api.artifacts.documents.decode import CLEANED, charset_of_page, decode_text
from api.artifacts.documents.media import MediaType, Reader, read_media_type
from api.artifacts.documents.sandbox import extract_apart
from api.http.errors import ProblemError
from context.artifacts.content import kind_of
from context.artifacts.types import ContentKind
from context.text.sanitize import clean_text
from models.artifacts.settings import ArtifactSettings, artifact_settings

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
