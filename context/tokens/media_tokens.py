"""Media cost by provider: images by pixels, recordings and documents by size."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from context.tokens.media_facts import Media, MediaKind

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
