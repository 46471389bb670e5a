"""Images, audio and documents in messages: facts read from the first bytes, and the cost by provider."""

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

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


AUDIO_BYTES_PER_TOKEN = 160
"""Bytes per token of speech at 32 kbit/s and 25 tokens a second; better recordings are overestimated."""

DOCUMENT_BYTES_PER_TOKEN = 12
"""Bytes per token of a PDF: a page has tens of kilobytes and is billed as text and as an image."""

TEXT_BYTES_PER_TOKEN = 3
"""Bytes per token of text files, read as text."""

_BYTES_PER_TOKEN = {
    MediaKind.AUDIO: AUDIO_BYTES_PER_TOKEN,
    MediaKind.VIDEO: AUDIO_BYTES_PER_TOKEN,
    MediaKind.DOCUMENT: DOCUMENT_BYTES_PER_TOKEN,
    MediaKind.TEXT: TEXT_BYTES_PER_TOKEN,
}

UNKNOWN_FILE_TOKENS = 3_000
"""Tokens of a document or recording without embedded content."""

UNKNOWN_SIZES = ((8_192, 8_192), (8_192, 3_072))
"""Assumed dimensions of an unreadable image; every rule has its maximum at the first or the second."""

ImageRule = Callable[[int, int], int]


def canonical_media_tokens(media: Media) -> int:
    """Count a file in the canonical count.

    Args:
        media: The file's facts.

    Returns:
        Tokens, >= 1.
    """
    return media_tokens(media, "")


def media_tokens(media: Media, model: str) -> int:
    """Count a file as billed by a model.

    Args:
        media: The file's facts; unknown dimensions are billed as the maximum.
        model: The model's name; the canonical rule for names without a rule.

    Returns:
        Tokens, >= 1.
    """
    if media.kind is MediaKind.IMAGE:
        rule = _image_rule(model)
        if media.detail == "low" and isinstance(rule, Tiles):
            return rule.base
        sizes = ((media.width, media.height),) if media.width and media.height else UNKNOWN_SIZES
        return max(1, *(rule(width, height) for width, height in sizes))
    if media.size_bytes is None:
        return UNKNOWN_FILE_TOKENS
    return max(1, media.size_bytes // _BYTES_PER_TOKEN[media.kind])


def _scale(side: int, most: int) -> Fraction:
    """Compute the exact factor to shrink a side to a limit; a rounding error could cost a whole tile."""
    return min(Fraction(1), Fraction(most, side))


@dataclass(frozen=True)
class Tiles:
    """Tiles of 512 pixels, after fitting into 2048 pixels and 768 on the short side (OpenAI)."""

    base: int
    tile: int

    def __call__(self, width: int, height: int) -> int:
        """Bill an image by its size."""
        scale = min(_scale(max(width, height), 2_048), _scale(min(width, height), 768))
        return self.base + self.tile * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)


@dataclass(frozen=True)
class Patches:
    """Patches of 32 pixels, at most 1536, each a multiple of a token (OpenAI, small models)."""

    factor: float

    def __call__(self, width: int, height: int) -> int:
        """Bill an image by its size."""
        return math.ceil(min(1_536, math.ceil(width / 32) * math.ceil(height / 32)) * self.factor)


@dataclass(frozen=True)
class Area:
    """Tokens by pixels after fitting the long side, up to a limit (Claude)."""

    pixels_per_token: int
    long_side: int
    most: int

    def __call__(self, width: int, height: int) -> int:
        """Bill an image by its size."""
        scale = _scale(max(width, height), self.long_side)
        return min(self.most, math.ceil(width * scale * height * scale / self.pixels_per_token) + 4)


@dataclass(frozen=True)
class Grid:
    """A token per patch, plus a token per row of patches for some models (Mistral, Qwen, GLM)."""

    patch: int
    row_end: int
    long_side: int

    def __call__(self, width: int, height: int) -> int:
        """Bill an image by its size."""
        scale = _scale(max(width, height), self.long_side)
        columns, rows = (math.ceil(side * scale / self.patch) for side in (width, height))
        return rows * (columns + self.row_end)


def _gemini(width: int, height: int) -> int:
    if max(width, height) <= 384:  # noqa: PLR2004 - the documented bound of a small image
        return 258
    unit = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return 258 * min(16, math.ceil(width / unit) * math.ceil(height / unit))


def _gemini_3(_width: int, _height: int) -> int:
    return 1_120


def _llama_4(width: int, height: int) -> int:
    columns, rows = math.ceil(width / 336), math.ceil(height / 336)
    if columns * rows > 16:  # noqa: PLR2004 - no image is cut into more
        return 145 * 17
    return 145 * (columns * rows + (columns * rows > 1))


_NOVA_MOST_RATIO = Fraction(8, 3)
"""Longest shape billed in full, as a ratio of sides; Nova's tables end at 2."""

_NOVA_MOST_SIDE = 1_300
"""Short side of the largest image in Nova's tables of tokens; larger images are scaled down."""


def _nova(width: int, height: int) -> int:
    """Bill by the size after Nova's scaling, up or down; squares may stay larger."""
    short, long = sorted((width, height))
    if long * 4 < short * 5:
        return _nova_tokens(min(max(short, 896), _NOVA_MOST_SIDE), Fraction(long, short), 620)
    return _nova_tokens(896, Fraction(long, short), 650)


def _nova_2(width: int, height: int) -> int:
    """Bill patches of 28 pixels; small images are not scaled up."""
    short, long = sorted((width, height))
    return _nova_tokens(min(short, _NOVA_MOST_SIDE), Fraction(long, short), 28 * 28)


def _nova_tokens(short: int, ratio: Fraction, pixels_per_token: int) -> int:
    return math.ceil(short * short * min(ratio, _NOVA_MOST_RATIO) / pixels_per_token) + 4


CANONICAL_IMAGE: ImageRule = Tiles(base=85, tile=170)

_IMAGE_RULES: tuple[tuple[str, ImageRule], ...] = (
    (r"claude-(?:opus-4[-.][7-9]|[a-z]+-[5-9])", Area(pixels_per_token=750, long_side=2_576, most=4_784)),
    (r"claude", Area(pixels_per_token=750, long_side=1_568, most=1_600)),
    (r"gemini-(?:[3-9]|\d\d)", _gemini_3),
    (r"gemini|gemma", _gemini),
    (r"nova-2", _nova_2),
    (r"nova", _nova),
    (r"llama", _llama_4),
    (r"pixtral", Grid(patch=16, row_end=1, long_side=1_024)),
    (r"istral", Grid(patch=28, row_end=1, long_side=1_540)),
    (r"qwen|glm", Grid(patch=28, row_end=0, long_side=3_584)),
    (r"4o-mini", Tiles(base=2_833, tile=5_667)),
    (r"(?:gpt-4\.1|gpt-5[.\d]*)-nano", Patches(2.46)),
    (r"(?:gpt-4\.1|gpt-5[.\d]*)-mini", Patches(1.62)),
    (r"o4-mini", Patches(1.72)),
    (r"gpt-5", Tiles(base=70, tile=140)),
    (r"\bo[13]\b", Tiles(base=75, tile=150)),
    (r"computer-use", Tiles(base=65, tile=129)),
)


@lru_cache(maxsize=256)
def _image_rule(model: str) -> ImageRule:
    name = model.lower()
    return next((rule for pattern, rule in _IMAGE_RULES if re.search(pattern, name)), CANONICAL_IMAGE)
