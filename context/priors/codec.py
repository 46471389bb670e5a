"""Packing of numbers as bytes: a single container for all learned data, refused if damaged."""

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Sequence
from typing import Any

from context.priors.types import CorruptPriorsError

MAX_PACKED_BYTES = 256 * 1024 * 1024
"""Most bytes after unpacking, independent of the sizes in the header."""

_HEAD = struct.Struct("<4sBII")
"""Magic, version, length of the header, CRC-32 of the length and of all bytes after."""
_MAX_HEADER_BYTES = 32 * 1024 * 1024


def pack(magic: bytes, version: int, header: dict[str, Any], arrays: Sequence["array[Any]"]) -> bytes:
    """Pack a header and arrays of numbers.

    Args:
        magic: Four bytes naming the kind of content.
        version: Version of the content, in 0..255.
        header: JSON.
        arrays: Arrays of any type code; `unpack` needs the same type codes in the same order.

    Returns:
        Bytes, determined by the content alone.
    """
    lengths = [len(numbers) for numbers in arrays]
    head = json.dumps({"lengths": lengths, **header}, separators=(",", ":"), sort_keys=True).encode()
    body = head + b"".join(_little(numbers) for numbers in arrays)
    packed = zlib.compress(body, 6)
    return _HEAD.pack(magic, version, len(head), zlib.crc32(packed, len(head))) + packed


def unpack(
    data: bytes, magic: bytes, version: int, type_codes: str
) -> tuple[dict[str, Any], list["array[Any]"]]:
    """Unpack the bytes of `pack`.

    Args:
        data: The bytes, untrusted.
        magic: As packed.
        version: The only accepted version.
        type_codes: Type codes of the arrays, a letter each.

    Returns:
        The header and the arrays.

    Raises:
        CorruptPriorsError: The bytes are of another kind, damaged, cut off or too large.
    """
    if len(data) < _HEAD.size:
        raise CorruptPriorsError("the bytes are cut off")
    found, its_version, head_bytes, checksum = _HEAD.unpack_from(data)
    if found != magic:
        raise CorruptPriorsError("the bytes are something else")
    if its_version != version:
        raise CorruptPriorsError("the bytes are of another version", version=its_version)
    packed = data[_HEAD.size :]
    if zlib.crc32(packed, head_bytes) != checksum:
        raise CorruptPriorsError("the bytes are damaged")
    body = _inflate(packed)
    header = _read_header(body[:head_bytes]) if head_bytes <= _MAX_HEADER_BYTES else None
    if header is None:
        raise CorruptPriorsError("the header cannot be read")
    return header, _read_arrays(body, head_bytes, header["lengths"], type_codes)


def _inflate(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        body = inflate.decompress(data, MAX_PACKED_BYTES)
    except zlib.error as error:
        raise CorruptPriorsError("the bytes are damaged") from error
    if not inflate.eof or inflate.unused_data:
        raise CorruptPriorsError("the bytes are cut off, too long, or too many")
    return body


def _read_header(data: bytes) -> dict[str, Any] | None:
    try:
        header = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) and isinstance(header.get("lengths"), list) else None


def _read_arrays(body: bytes, start: int, lengths: list[Any], type_codes: str) -> list["array[Any]"]:
    if len(lengths) != len(type_codes) or not all(isinstance(n, int) and n >= 0 for n in lengths):
        raise CorruptPriorsError("the arrays are not those that were asked for")
    arrays = []
    for length, code in zip(lengths, type_codes, strict=True):
        numbers = array(code)
        end = start + length * numbers.itemsize
        if end > len(body):
            raise CorruptPriorsError("an array is cut off")
        numbers.frombytes(body[start:end])
        if sys.byteorder == "big":
            numbers.byteswap()
        arrays.append(numbers)
        start = end
    if start != len(body):
        raise CorruptPriorsError("there are more bytes than numbers")
    return arrays


def _little(numbers: "array[Any]") -> bytes:
    if sys.byteorder == "big":
        numbers = array(numbers.typecode, numbers)
        numbers.byteswap()
    return numbers.tobytes()
