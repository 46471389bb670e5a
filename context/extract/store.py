"""Store an index of passages as bytes and rows, and read it back."""

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import le, lt
from typing import Any, Generic, TypeVar, overload

from context.artifacts.types import ContentKind
from context.errors import AfterturnError
from context.extract.spans import NO_FRAME, Frame, Piece

Row = TypeVar("Row")


class Rows(Sequence[Row], Generic[Row]):
    """A sequence of named tuples over columns of equal length."""

    def __init__(self, make: Callable[[Iterable[Any]], Row], columns: Sequence[Sequence[Any]]) -> None:
        """Take the columns in the order of the fields.

        Args:
            make: Makes a row of its values.
            columns: At least one.

        Raises:
            ValueError: The columns differ in length.
        """
        if len({len(column) for column in columns}) != 1:
            raise ValueError("columns of different lengths")
        self._make = make
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return self._make([column[at] for column in self.columns])

    def __iter__(self) -> Iterator[Row]:
        return map(self._make, zip(*self.columns, strict=True))


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


INDEX_VERSION = 1
"""Goes up with every change of the bytes, of how texts are cut, or of how words become terms."""

_FACTS = struct.Struct("<BBQ16s")
_KINDS = tuple(ContentKind)
_PATH = Piece._fields.index("path")
_PIECE_COLUMNS = len(Piece._fields)
_FRAME_COLUMNS = len(Frame._fields)
_NUMBERS_END = _PIECE_COLUMNS + _FRAME_COLUMNS
_SECTIONS = _NUMBERS_END + 7


def write_index(fields: Sequence[Any]) -> bytes:
    """Write the fields of an index as bytes, in the order of `read_index`."""
    kind, is_prose, text_chars, fingerprint, pieces, tokens, salience = fields[:7]
    frames, frame_tokens, vocabulary, offsets, postings = fields[7:]
    columns = list(zip(*pieces, strict=True)) or [()] * _PIECE_COLUMNS
    paths = columns.pop(_PATH)
    columns += list(zip(*frames, strict=True)) or [()] * _FRAME_COLUMNS
    return pack_sections(
        [
            _FACTS.pack(_KINDS.index(kind), is_prose, text_chars, fingerprint),
            *(write_numbers(column, "i") for column in columns),
            json.dumps(paths if any(paths) else []).encode(),
            write_numbers(tokens, "I"),
            write_numbers(salience, "B"),
            write_numbers(frame_tokens, "I"),
            "\n".join(vocabulary).encode("utf-8", "surrogatepass"),
            write_numbers(offsets, "I"),
            write_numbers(postings, "I"),
        ],
        version=INDEX_VERSION,
    )


def read_index(data: bytes) -> tuple[Any, ...]:
    """Read the fields of an index, in order.

    Args:
        data: Any bytes.

    Returns:
        The fields; every place in them is valid.

    Raises:
        BadIndexError: The bytes are something else, of another version, cut off or changed.
    """
    sections = unpack_sections(data, version=INDEX_VERSION)
    if len(sections) != _SECTIONS:
        raise BadIndexError("an index with missing parts", sections=len(sections))
    try:
        fields = _read_fields(sections)
    except (struct.error, ValueError, IndexError, RecursionError) as error:
        raise BadIndexError(f"an index that cannot be read: {error}") from error
    if not _are_consistent(fields[2:]):
        raise BadIndexError("an index whose numbers contradict each other")
    return fields


def _read_fields(sections: Sequence[bytes]) -> tuple[Any, ...]:
    kind, is_prose, text_chars, fingerprint = _FACTS.unpack(sections[0])
    numbers = sections[1:_NUMBERS_END]
    columns: list[Sequence[Any]] = [read_numbers(section, "i") for section in numbers]
    paths, tokens, salience, frame_tokens, words, offsets, postings = sections[_NUMBERS_END:]
    pieces, frames = columns[: _PIECE_COLUMNS - 1], columns[_PIECE_COLUMNS - 1 :]
    pieces.insert(_PATH, json.loads(paths) or [""] * len(pieces[0]))
    return (
        _KINDS[kind],
        bool(is_prose),
        text_chars,
        fingerprint,
        Rows(Piece._make, pieces),
        read_numbers(tokens, "I"),
        read_numbers(salience, "B"),
        Rows(Frame._make, frames),
        read_numbers(frame_tokens, "I"),
        words.decode("utf-8", "surrogatepass").split("\n") if words else [],
        read_numbers(offsets, "I"),
        read_numbers(postings, "I"),
    )


def _are_consistent(fields: Sequence[Any]) -> bool:
    """Say whether sizes agree, and every place is valid."""
    text_chars, _, pieces, tokens, salience, frames, frame_tokens, vocabulary, offsets, postings = fields
    sizes = (
        len(tokens) == len(salience) == len(pieces)
        and len(frame_tokens) == len(frames)
        and len(offsets) == len(vocabulary) + 1
    )
    if not sizes or offsets[0] != 0 or offsets[-1] != len(postings):
        return False
    starts, ends, framed = pieces.columns[:3]
    return (
        all(map(lt, starts, ends))
        and all(map(le, ends, starts[1:]))
        and (not starts or (starts[0] >= 0 and ends[-1] <= text_chars))
        and all(map(lt, offsets, offsets[1:]))
        and all(NO_FRAME <= frame < len(frames) for frame in framed)
        and all(isinstance(path, str) for path in pieces.columns[_PATH])
        and _are_frames(frames, text_chars)
    )


def _are_frames(frames: Rows[Frame], text_chars: int) -> bool:
    starts, ends, parents = frames.columns
    return (
        all(map(le, starts, ends))
        and min(starts, default=0) >= 0
        and max(ends, default=0) <= text_chars
        and all(NO_FRAME <= parent < at for at, parent in enumerate(parents))
    )
