"""Decoding of bytes to characters: byte order marks, then the declared encoding, then UTF-8; no guessing."""

import codecs
import re

from api.http.errors import ProblemError
from context.text.sanitize import clean_text

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
_CHARSET = re.compile(
    r"utf[-_]?(?:8|16|32)(?:[-_]?[lb]e)?|us-ascii|ascii|iso[-_]?8859[-_]\d{1,2}|latin[-_]?\d{1,2}"
    r"|(?:windows|cp)[-_]?(?:125\d|874|932|949|437|850|866)|koi8[-_][rtu]|gbk|gb2312|gb18030|big5(?:[-_]?hkscs)?"
    r"|shift[-_]?jis|euc[-_](?:jp|kr|cn)|tis[-_]620|mac[-_]?(?:roman|cyrillic)"
)
"""Accepted encodings; Python knows more, some with a cost far above their length."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROL_SHARE = 0.01
_NOT_TEXT = "control characters take more than one part in a hundred of it"
CLEANED = "text was cleaned: NUL is left out, half a surrogate pair became U+FFFD"


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
    if not _CHARSET.fullmatch(charset):
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
