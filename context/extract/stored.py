"""Storage format of an index: its columns as sections, checked against each other on reading."""

import json
import struct
from collections.abc import Sequence
from operator import le, lt
from typing import Any

from context.artifacts.types import ContentKind
from context.extract.codec import BadIndexError, pack_sections, read_numbers, unpack_sections, write_numbers
from context.extract.rows import Rows
from context.extract.spans import NO_FRAME, Frame, Piece

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
