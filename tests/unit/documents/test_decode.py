"""From bytes to characters: marks, declarations, UTF-8; what is no text is refused."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.artifacts.documents.read import charset_of_page, decode_text
from api.http.errors import ProblemError

WORDS = "wind \u98ce \u043a\u0440\u0430\u043d \u00e9 \U0001f3d7\n"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
def test_utf8_comes_back_as_it_was_written(text: str) -> None:
    decoded, notes = decode_text(b"start " + text.encode(), None)
    assert decoded == "start " + text
    assert notes == ()


def decoded_or_refused(data: bytes, charset: str | None) -> str | None:
    try:
        return decode_text(data, charset)[0]
    except ProblemError:
        return None


@given(st.binary(max_size=300), st.sampled_from([None, "utf-16", "windows-1252", "gbk", "iso-8859-1"]))
def test_any_bytes_are_clean_text_or_refused(data: bytes, charset: str | None) -> None:
    decoded = decoded_or_refused(data, charset) or ""
    assert not {"\0", "\r"} & set(decoded)
    assert decoded.encode().decode() == decoded


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_counts_more_than_what_was_declared(mark: bytes, encoding: str) -> None:
    assert decode_text(mark + WORDS.encode(encoding), "windows-1252")[0] == WORDS


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("windows-1252", "na\u00efve \u2013 yes"),
        ("koi8-r", "\u043a\u0440\u0430\u043d"),
        ("shift_jis", "\u6e2f\u306e\u5929\u6c17"),
        ("gb18030", "\u6e2f\u53e3\u5929\u6c14"),
        ("euc-kr", "\ud56d\uad6c"),
        ("iso-8859-5", "\u043a\u0440\u0430\u043d"),
        ("utf-16", WORDS),
    ],
)
def test_a_declared_charset_is_used(charset: str, text: str) -> None:
    assert decode_text(text.encode(charset), charset)[0] == text


@pytest.mark.parametrize(
    "charset", ["zip", "hex", "rot13", "idna", "unicode_escape", "punycode", "undefined", "x"]
)
def test_an_encoding_that_no_document_has_is_refused_by_name(charset: str) -> None:
    with pytest.raises(ProblemError, match="charset"):
        decode_text(b"words", charset)


def test_a_wrong_byte_is_named_with_its_place_and_the_way_out() -> None:
    with pytest.raises(ProblemError, match=r"0xe9 at offset 3.*charset=windows-1252") as found:
        decode_text(b"caf\xe9", None)
    assert found.value.numbers["offset"] == 3


@pytest.mark.parametrize(
    ("start", "named"),
    [
        (b"%PDF-1.7\n", "application/pdf"),
        (b"PK\x03\x04rest", "ZIP"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x7fELF\x02", "program"),
        (b"SQLite format 3\0", "database"),
    ],
)
def test_a_known_binary_is_called_by_its_name(start: bytes, named: str) -> None:
    with pytest.raises(ProblemError, match=named):
        decode_text(start + b"words", None)


def test_a_stray_control_character_in_a_log_is_no_reason_to_refuse_it() -> None:
    log = "12:00 the crane stopped\n" * 50 + "\0"
    decoded, notes = decode_text(log.encode(), None)
    assert decoded == log.replace("\0", "")
    assert "NUL" in notes[0]


def test_every_line_end_becomes_the_same() -> None:
    assert decode_text(b"a\r\nb\rc\n", None)[0] == "a\nb\nc\n"


def test_a_page_may_name_its_own_charset() -> None:
    assert charset_of_page(b'<head><META http-equiv=x content="text/html; charset=Shift_JIS">') == "shift_jis"
    assert charset_of_page(b'<meta charset="koi8-r">') == "koi8-r"
    assert charset_of_page(b"<p>charset=x</p>") is None
