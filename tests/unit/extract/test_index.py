"""An index: what it finds, and what its bytes survive."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.types import ContentKind
from context.extract import BadIndexError, PassageIndex
from context.extract.store import INDEX_VERSION, pack_sections, unpack_sections
from tests.unit.extract import texts

STORED = PassageIndex.build(texts.MARKDOWN, ContentKind.MARKDOWN).to_bytes()


def fields_of(index: PassageIndex) -> list[object]:
    lists = (index.pieces, index.tokens, index.salience, index.frames, index.frame_tokens)
    words = (index.vocabulary, index.offsets, index.postings)
    facts = (index.kind, index.is_prose, index.text_chars, index.fingerprint)
    return [*facts, *map(list, lists), *map(list, words)]


@pytest.mark.parametrize(
    ("kind", "text"), [*texts.BY_KIND.items(), (ContentKind.TEXT, ""), (ContentKind.JSON, "3")]
)
def test_an_index_comes_back_from_its_bytes(kind: ContentKind, text: str) -> None:
    index = PassageIndex.build(text, kind)
    assert fields_of(PassageIndex.from_bytes(index.to_bytes())) == fields_of(index)


def test_an_index_is_smaller_than_its_text() -> None:
    assert len(STORED) < len(texts.MARKDOWN)


def test_a_term_leads_to_the_pieces_that_have_it() -> None:
    index = PassageIndex.build(texts.STORY, ContentKind.TEXT)
    found = index.places("41")
    assert [("number 41 " in texts.STORY[p.start : p.end]) for p in map(index.pieces.__getitem__, found)] == [
        True
    ]
    assert index.frequency("41") == 1
    assert index.places("zeppelin") == []


def test_a_word_behind_an_escape_is_found() -> None:
    index = PassageIndex.build('{"body": "one\\nshutter \\u00e9t\\u00e9"}', ContentKind.JSON)
    assert index.places("shutter") == [0]
    assert index.places("ete") == [0]


def test_a_word_behind_a_printed_line_break_is_found() -> None:
    text = repr({"content": 'one\nshutter {"a": "\\nmotor"}'}) * 3
    index = PassageIndex.build(text, ContentKind.TEXT)
    assert index.places("shutter")
    assert index.places("motor")


def test_what_a_piece_stands_under_is_found_too() -> None:
    index = PassageIndex.build(texts.LARGE_CLASS, ContentKind.CODE)
    assert len(index.places("depot")) > 10


@given(st.binary(max_size=200))
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BadIndexError):
        PassageIndex.from_bytes(data)


@given(st.integers(0, len(STORED) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(at: int, change: int) -> None:
    broken = bytearray(STORED)
    broken[at] ^= change
    try:
        read = PassageIndex.from_bytes(bytes(broken))
    except BadIndexError:
        return
    assert fields_of(read) == fields_of(PassageIndex.from_bytes(STORED))


@given(st.integers(0, len(STORED) - 1))
def test_a_cut_off_index_is_refused(length: int) -> None:
    with pytest.raises(BadIndexError):
        PassageIndex.from_bytes(STORED[:length])


@given(st.data())
def test_numbers_that_contradict_each_other_are_refused_or_harmless(data: st.DataObject) -> None:
    sections = unpack_sections(STORED, version=INDEX_VERSION)
    at = data.draw(st.integers(0, len(sections) - 1))
    sections[at] = data.draw(st.binary(max_size=len(sections[at]) + 8))
    try:
        index = PassageIndex.from_bytes(pack_sections(sections, version=INDEX_VERSION))
    except BadIndexError:
        return
    assert all(0 <= piece.start < piece.end <= index.text_chars for piece in index.pieces)
    assert all(max(index.places(term), default=0) < len(index.pieces) for term in index.vocabulary)
    assert all(len(index.frames_of(piece)) <= len(index.frames) for piece in range(len(index.pieces)))


def test_another_version_is_named() -> None:
    other = pack_sections(unpack_sections(STORED, version=INDEX_VERSION), version=INDEX_VERSION + 1)
    with pytest.raises(BadIndexError, match=f"version {INDEX_VERSION + 1}"):
        PassageIndex.from_bytes(other)


def test_bytes_that_would_grow_without_end_are_refused() -> None:
    bomb = STORED[:16] + zlib.compress(bytes(50_000_000))
    with pytest.raises(BadIndexError):
        PassageIndex.from_bytes(bomb)
