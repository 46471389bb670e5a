"""Sealing and opening: what opens where, and what stored text looks like."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models.encryption.cipher import MARK, SealBrokenError, TextKey, is_sealed, keep_plain, read_plain
from models.encryption.settings import TextSettings

KEY, OTHER = TextKey(b"k" * 32), TextKey(b"o" * 32)
PLACE = ("message.body", "tenant", "s1", 7)
texts = st.text(st.characters(codec="utf-8"))


@given(texts)
def test_a_sealed_text_opens_as_it_was(content: str) -> None:
    sealed = KEY.seal(content, PLACE)
    assert is_sealed(sealed)
    assert KEY.open(sealed, PLACE) == content


@given(texts)
def test_a_text_that_is_kept_plain_is_read_as_it_was_and_never_taken_for_a_sealed_one(content: str) -> None:
    stored = keep_plain(content)
    assert not is_sealed(stored)
    assert read_plain(stored) == content


def test_a_text_that_is_written_like_a_sealed_one_is_kept_as_a_text() -> None:
    forged = KEY.seal("mine", PLACE)
    assert not is_sealed(keep_plain(forged))
    assert read_plain(keep_plain(forged)) == forged


@pytest.mark.parametrize(
    "place",
    [
        ("message.speaker", "tenant", "s1", 7),
        ("message.body", "other", "s1", 7),
        ("message.body", "tenant", "s1", 8),
        ("message.body", "tenant", "s", "17"),
    ],
)
def test_a_text_does_not_open_elsewhere(place: tuple[object, ...]) -> None:
    with pytest.raises(SealBrokenError):
        KEY.open(KEY.seal("words", PLACE), place)


def test_a_text_does_not_open_with_another_key() -> None:
    with pytest.raises(SealBrokenError):
        OTHER.open(KEY.seal("words", PLACE), PLACE)


@given(st.integers(min_value=0, max_value=40))
def test_a_changed_byte_is_noticed(place: int) -> None:
    sealed = bytearray(KEY.seal_bytes(b"words of a user", PLACE))
    sealed[place] ^= 1
    with pytest.raises(SealBrokenError):
        KEY.open_bytes(bytes(sealed), PLACE)


def test_no_text_is_sealed_twice_alike() -> None:
    assert KEY.seal("words", PLACE) != KEY.seal("words", PLACE)


def test_a_sealed_text_says_how_long_it_was() -> None:
    assert KEY.seal("größe", PLACE).startswith(f"{MARK}7.")


def test_a_long_text_is_smaller_sealed_than_it_was() -> None:
    assert len(KEY.seal("the same words again " * 200, PLACE)) < 1_000


def test_a_hash_of_a_term_tells_nothing_without_the_key() -> None:
    assert KEY.hash_term("wharf", size=4) != OTHER.hash_term("wharf", size=4)
    assert KEY.hash_bytes(b"wharf") != OTHER.hash_bytes(b"wharf")


GOOD = base64.b64encode(b"k" * 32).decode()


def test_the_first_key_is_the_one_that_writes() -> None:
    found = TextSettings(text_keys=f"b:{GOOD}, a:{GOOD}")
    assert list(found.masters) == ["b", "a"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("a", "id:key"),
        (f"a b:{GOOD}", "id:key"),
        ("a:c2hvcnQ=", "the key a is not"),
        ("a:***", "the key a is not"),
        (f"a:{GOOD},a:{GOOD}", "an id twice"),
    ],
)
def test_a_key_that_is_none_is_refused_by_its_name_alone(keys: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said) as caught:
        TextSettings(text_keys=keys)
    assert "c2hvcnQ" not in str(caught.value)
