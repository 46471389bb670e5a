"""What providers bill for media: images by their pixels, audio and documents by their size."""

import math

from context.tokens.media import Media, MediaKind

CANONICAL_IMAGE_MAX = 1_445
"""The most that the canonical rule gives for one image: 8 tiles."""

AUDIO_BYTES_PER_TOKEN = 160
"""Compressed speech at 32 kbit/s against about 25 tokens a second; larger files per second count higher."""

DOCUMENT_BYTES_PER_TOKEN = 16
"""PDF pages of scanned or mixed content weigh more bytes than tokens."""

UNKNOWN_FILE_TOKENS = 3_000
"""For a document or a recording of unknown size."""


def canonical_media_tokens(media: Media) -> int:
    """Count one file in the canonical count.

    Args:
        media: The file's facts.

    Returns:
        Tokens, >= 1.
    """
    if media.kind is MediaKind.IMAGE:
        return tile_tokens(media)
    per_token = AUDIO_BYTES_PER_TOKEN if media.kind is MediaKind.AUDIO else DOCUMENT_BYTES_PER_TOKEN
    return max(1, media.size_bytes // per_token) if media.size_bytes is not None else UNKNOWN_FILE_TOKENS


def tile_tokens(media: Media, *, base: int = 85, tile: int = 170) -> int:
    """Bill an image by tiles of 512 pixels, after fitting it into 2048 pixels and 768 on its short side.

    Args:
        media: An image; unknown dimensions are billed as the maximum.
        base: Tokens for the image itself, all that low detail costs.
        tile: Tokens for each tile.

    Returns:
        Tokens, >= `base`.
    """
    if media.detail == "low":
        return base
    if media.width is None or media.height is None:
        return base + tile * 8
    width, height = _fit(media.width, media.height, long_side=2048, short_side=768)
    return base + tile * math.ceil(width / 512) * math.ceil(height / 512)


def _fit(width: int, height: int, *, long_side: int, short_side: int) -> tuple[float, float]:
    scale = min(1.0, long_side / max(width, height))
    scale = min(scale, short_side / min(width, height))
    return width * scale, height * scale
