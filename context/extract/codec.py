"""Container of numbers and words: versioned, compressed, checked; no content is ever executed."""

import struct
import sys
import zlib
from array import array
from collections.abc import Sequence

from context.errors import AfterturnError

_MAGIC = b"AFTX"
_HEAD = struct.Struct("<4sHHII")
_LENGTH = struct.Struct("<I")
_MOST_BYTES = 512 * 2**20
_MOST_SECTIONS = 64
_LEVEL = 5


class BadIndexError(AfterturnError, ValueError):
    """Bytes damaged or of another version, so that the index has to be built anew."""

    code = "bad-index"


def pack_sections(sections: Sequence[bytes], *, version: int) -> bytes:
    """Write sections as one value.

    Args:
        sections: At most 64.
        version: The version of their meaning, 0-65535.

    Returns:
        A head with the version, the size and a checksum, and the compressed sections.
    """
    body = b"".join(_LENGTH.pack(len(section)) + section for section in sections)
    return _HEAD.pack(_MAGIC, version, len(sections), len(body), zlib.crc32(body)) + zlib.compress(
        body, _LEVEL
    )


def unpack_sections(data: bytes, *, version: int) -> list[bytes]:
    """Read sections written by `pack_sections`.

    Args:
        data: Any bytes.
        version: The accepted version.

    Returns:
        The sections.

    Raises:
        BadIndexError: The bytes are something else, of another version, cut off or changed.
    """
    if len(data) < _HEAD.size:
        raise BadIndexError("too short for an index", size_bytes=len(data))
    magic, written, count, size, checksum = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise BadIndexError("not an index", size_bytes=len(data))
    if written != version:
        raise BadIndexError(f"an index of version {written}, not {version}", version=written)
    if size > _MOST_BYTES or count > _MOST_SECTIONS:
        raise BadIndexError("too large for an index", body_bytes=size, sections=count)
    body = _inflate(data, size)
    if len(body) != size or zlib.crc32(body) != checksum:
        raise BadIndexError("a damaged index", size_bytes=len(data))
    return _split(body, count)


def _inflate(data: bytes, size: int) -> bytes:
    """Decompress at most the announced size, however far the bytes would grow."""
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(memoryview(data)[_HEAD.size :], size + 1)
    except zlib.error as error:
        raise BadIndexError("a damaged index", size_bytes=len(data)) from error
    return body if inflater.eof else b""


def _split(body: bytes, count: int) -> list[bytes]:
    sections, at = [], 0
    for _ in range(count):
        if at + _LENGTH.size > len(body):
            raise BadIndexError("an index with missing parts", body_bytes=len(body))
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        if at + length > len(body):
            raise BadIndexError("an index with missing parts", body_bytes=len(body))
        sections.append(body[at : at + length])
        at += length
    return sections


def write_numbers(numbers: Sequence[int], code: str) -> bytes:
    """Write numbers of one array type, the lowest byte first."""
    return _ordered(array(code, numbers)).tobytes()


def read_numbers(section: bytes, code: str) -> "array[int]":
    """Read numbers of one array type.

    Raises:
        BadIndexError: The section ends within a number.
    """
    numbers: array[int] = array(code)
    try:
        numbers.frombytes(section)
    except ValueError as error:
        raise BadIndexError("an index with half a number", size_bytes=len(section)) from error
    return _ordered(numbers)


def _ordered(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
