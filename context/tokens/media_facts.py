"""Images, audio and documents in messages: facts read from the first bytes, never fetched."""

import base64
import binascii
import re
import struct
from dataclasses import dataclass
from enum import StrEnum

HEADER_BYTES = 262_144
"""Most bytes of a file decoded to find the dimensions; a JPEG may start with long metadata."""

SHORT_HEADER_BYTES = 3_072
"""Bytes decoded first; enough for the dimensions of most files."""

SHORTEST_FILE_CHARS = 64
"""Shortest file content in characters; shorter text without a data URL's head is a file id."""

LONG_BASE64_CHARS = 1_000
"""Shortest string of base64 characters only treated as a file."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}", re.ASCII)

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[^,;]*)*,", re.ASCII)


class MediaKind(StrEnum):
    """Kinds of media, each with its own billing rules."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    DOCUMENT = "document"
    TEXT = "text"


@dataclass(frozen=True)
class Media:
    """An embedded or referenced file.

    Attributes:
        kind: Kind of media, with its billing rules.
        width: Width in pixels, if read from the header.
        height: Height in pixels, if read from the header.
        size_bytes: Size of an embedded file; None for a reference by URL or id.
        detail: Detail level in the message: "low", "high", "auto" or None.
    """

    kind: MediaKind
    width: int | None = None
    height: int | None = None
    size_bytes: int | None = None
    detail: str | None = None


def media_from_reference(reference: object, kind: MediaKind, *, detail: object = None) -> Media:
    """Describe a file: embedded as a data URL or bare base64, or referenced by address or id.

    Args:
        reference: The data URL, base64 text, address or id; any other value is a file of unknown size.
        kind: The kind named in the message; a more exact type in a data URL wins.
        detail: The detail level of an image, if set in the message.

    Returns:
        The file's facts; unknown facts are None. No file is opened.
    """
    level = detail if isinstance(detail, str) else None
    if not isinstance(reference, str) or "://" in reference[:16]:
        return Media(kind, detail=level)
    url = _DATA_URL.match(reference[:200])
    if url is None and len(reference) < SHORTEST_FILE_CHARS:
        return Media(kind, detail=level)
    kind = _kind_of_type(url[1], kind) if url else kind
    payload_start = url.end() if url else 0
    size_bytes = (len(reference) - payload_start) * 3 // 4
    looks = kind if url else MediaKind.IMAGE
    size = _read_image_size(reference, payload_start) if looks is MediaKind.IMAGE else None
    kind = MediaKind.IMAGE if size else kind
    width, height = size or (None, None)
    return Media(kind, width=width, height=height, size_bytes=size_bytes, detail=level)


def is_embedded_file(text: str) -> bool:
    """Tell an embedded file from text: a data URL, or a long run of base64 only.

    Args:
        text: A string in a part of unknown shape.

    Returns:
        True for a file's content.
    """
    if len(text) < LONG_BASE64_CHARS:
        return False
    return bool(_DATA_URL.match(text[:200]) or _BASE64.fullmatch(text[:LONG_BASE64_CHARS]))


def _kind_of_type(media_type: str | None, default: MediaKind) -> MediaKind:
    main = (media_type or "").partition("/")[0]
    if main in {"image", "audio", "video"}:
        return MediaKind(main)
    if main == "text" or media_type == "application/json":
        return MediaKind.TEXT
    return MediaKind.DOCUMENT if media_type else default


def _read_image_size(text: str, start: int) -> tuple[int, int] | None:
    """Read dimensions from the first bytes; more bytes are decoded only after long metadata."""
    return image_size(_decode_head(text, start, SHORT_HEADER_BYTES)) or (
        image_size(_decode_head(text, start, HEADER_BYTES)) if len(text) > SHORT_HEADER_BYTES else None
    )


def _decode_head(text: str, start: int, size: int) -> bytes:
    head = re.sub(r"\s+", "", text[start : start + size * 4 // 3])
    head = head[: len(head) // 4 * 4]
    try:
        return base64.b64decode(head, altchars=b"-_" if "-" in head or "_" in head else None)
    except (binascii.Error, ValueError):
        return b""


def image_size(head: bytes) -> tuple[int, int] | None:
    """Read an image's dimensions from its first bytes.

    Args:
        head: The beginning of a PNG, JPEG, GIF, WebP or BMP file; other content is no error.

    Returns:
        Width and height in pixels, both >= 1, or None if unreadable.
    """
    try:
        size = _read_size(head)
    except (struct.error, IndexError):
        return None
    return size if size is not None and min(size) >= 1 else None


def _read_size(head: bytes) -> tuple[int, int] | None:
    width: int
    height: int
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = struct.unpack_from(">II", head, 16)
        return width, height
    if head.startswith((b"GIF87a", b"GIF89a")):
        width, height = struct.unpack_from("<HH", head, 6)
        return width, height
    if head.startswith(b"BM"):
        width, height = struct.unpack_from("<ii", head, 18)
        return abs(width), abs(height)
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(head)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp_size(head)
    return None


_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xDA)})
_JPEG_FILL = 0xFF
_JPEG_FRAME_BYTES = 9


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + _JPEG_FRAME_BYTES <= len(head):
        marker = head[at + 1]
        if head[at] != _JPEG_FILL or marker == _JPEG_FILL:
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        else:
            at += 2 + max(2, struct.unpack_from(">H", head, at + 2)[0])
    return None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    chunk = head[12:16]
    if chunk == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if chunk == b"VP8L":
        bits = struct.unpack_from("<I", head, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 ":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None
