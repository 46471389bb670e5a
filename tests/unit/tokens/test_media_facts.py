"""Images are billed by dimensions that are read from their first bytes."""

import base64
import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.tokens.media import (
    Media,
    MediaKind,
    image_size,
    is_embedded_file,
    media_from_reference,
    media_tokens,
)

Write = Callable[[int, int], bytes]
_SIDES = st.integers(1, 16_000)


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def jpeg(width: int, height: int, metadata: int = 4_000) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", metadata + 2) + b"\xff\xc0" * (metadata // 2)
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + b"\3" + bytes(9)
    return b"\xff\xd8" + exif + b"\xff\xff" + frame + b"\xff\xda"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3)


def webp_extended(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\0\0\0\0WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + sides


def webp_lossless(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    return b"RIFF\0\0\0\0WEBPVP8L" + struct.pack("<I", 10) + b"\x2f" + struct.pack("<I", bits)


def webp_lossy(width: int, height: int) -> bytes:
    return (
        b"RIFF\0\0\0\0WEBPVP8 "
        + struct.pack("<I", 10)
        + b"\0\0\0\x9d\x01\x2a"
        + struct.pack("<HH", width, height)
    )


@pytest.mark.parametrize("write", [png, jpeg, gif, webp_extended, webp_lossless, webp_lossy])
@given(width=_SIDES, height=_SIDES)
def test_dimensions_are_read_from_every_common_format(write: Write, width: int, height: int) -> None:
    assert image_size(write(width, height)) == (width, height)


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\xff\xd8", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"RIFF....WEBPVP8X", b"BM"]),
)
def test_no_bytes_make_reading_fail(rest: bytes, head: bytes) -> None:
    size = image_size(head + rest)
    assert size is None or min(size) >= 1


def test_a_data_url_tells_kind_size_and_dimensions() -> None:
    data = png(800, 600) + bytes(3_000)
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    media = media_from_reference(url, MediaKind.DOCUMENT, detail="high")
    assert (media.kind, media.width, media.height, media.detail) == (MediaKind.IMAGE, 800, 600, "high")
    assert abs((media.size_bytes or 0) - len(data)) <= 2


@pytest.mark.parametrize("reference", ["https://example.invalid/a.png", "file-abc123", None, 7, {"x": 1}, ""])
def test_a_reference_tells_nothing_and_is_not_opened(reference: object) -> None:
    assert media_from_reference(reference, MediaKind.IMAGE) == Media(MediaKind.IMAGE)


def test_base64_that_is_broken_has_no_dimensions() -> None:
    assert media_from_reference("data:image/png;base64,!!!!", MediaKind.IMAGE).width is None


def test_prose_and_short_ids_are_no_embedded_files() -> None:
    assert not is_embedded_file("some words " * 500)
    assert not is_embedded_file("abc123")
    assert is_embedded_file("A" * 5_000)
    assert is_embedded_file("data:application/pdf;base64," + "A" * 5_000)


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4o", (3008, 2000), 1105),
        ("gpt-4o", (512, 512), 255),
        ("gpt-5-mini", (597, 566), 555),
        ("gpt-4.1-nano", (540, 360), 502),
        ("anthropic/claude-sonnet-4.5", (597, 566), 455),
        ("gemini-2.5-flash", (300, 300), 258),
        ("us.amazon.nova-2-lite-v1:0", (597, 566), 435),
        ("us.amazon.nova-2-lite-v1:0", (400, 301), 158),
        ("mistral-medium-latest", (597, 566), 483),
        ("meta-llama/llama-4-maverick", (597, 566), 725),
    ],
)
def test_each_provider_bills_an_image_by_its_own_rule(model: str, size: tuple[int, int], tokens: int) -> None:
    image = Media(MediaKind.IMAGE, width=size[0], height=size[1])
    assert media_tokens(image, model) == tokens


_NOVA_SIZES = [(900, 450), (900, 900), (1400, 900), (1800, 900), (1300, 1300), (900, 1400)]
"""Sizes in the tables of the user guides of Amazon Nova, image understanding; the last one turned."""

_NOVA_PUBLISHED = {
    "us.amazon.nova-pro-v1:0": [800, 1_300, 1_800, 2_400, 2_600, 1_800],
    "us.amazon.nova-2-lite-v1:0": [515, 1_035, 1_600, 2_060, 2_155, 1_600],
}


@pytest.mark.parametrize("model", _NOVA_PUBLISHED)
def test_no_image_of_novas_own_tables_is_billed_below_the_table(model: str) -> None:
    images = [Media(MediaKind.IMAGE, width=width, height=height) for width, height in _NOVA_SIZES]
    published = _NOVA_PUBLISHED[model]
    assert all(media_tokens(image, model) >= tokens for image, tokens in zip(images, published, strict=True))


@pytest.mark.parametrize("model", _NOVA_PUBLISHED)
def test_a_wide_image_costs_nova_as_much_as_its_shape_says(model: str) -> None:
    square, wide = (Media(MediaKind.IMAGE, width=side, height=900) for side in (900, 2_340))
    assert media_tokens(wide, model) >= 2.4 * media_tokens(square, model)


def test_small_images_are_scaled_up_by_nova_before_billing() -> None:
    small, large = (Media(MediaKind.IMAGE, width=540 * times, height=360 * times) for times in (1, 5))
    bills = {media_tokens(image, "us.amazon.nova-lite-v1:0") for image in (small, large)}
    assert len(bills) == 1
    assert min(bills) >= 1_837


_MODELS = [
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-5",
    "gpt-5-nano",
    "claude-opus-4-5",
    "claude-opus-4-8",
    "gemini-2.5-pro",
]
_MODELS += [
    "gemini-3-pro",
    "amazon.nova-pro",
    "pixtral-12b",
    "mistral-small",
    "qwen2.5-vl",
    "llama-4-scout",
    "x",
]


@pytest.mark.parametrize("model", _MODELS)
def test_an_image_that_is_shrunk_has_no_tile_more_for_what_a_division_leaves(model: str) -> None:
    most = media_tokens(Media(MediaKind.IMAGE), model)
    squares = (Media(MediaKind.IMAGE, width=side, height=side) for side in range(3_585, 9_000, 7))
    assert [square for square in squares if media_tokens(square, model) > most] == []


@given(model=st.sampled_from(_MODELS), width=st.integers(1, 6_000), height=st.integers(1, 6_000))
def test_unknown_dimensions_cost_at_least_what_any_known_ones_do(model: str, width: int, height: int) -> None:
    known = media_tokens(Media(MediaKind.IMAGE, width=width, height=height), model)
    assert 1 <= known <= media_tokens(Media(MediaKind.IMAGE), model)
