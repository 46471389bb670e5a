"""What an upload becomes: its text, how it is built, and what was noticed."""

import json

import pytest

from api.artifacts.documents.read import Document, Reader, read_document, read_inline, read_media_type
from api.http.errors import ProblemError
from context.artifacts.types import ContentKind
from models.artifacts.settings import ArtifactSettings

BOUNDS = ArtifactSettings(pdf_timeout_s=120)


def read(text: str, media_type: str) -> Document:
    return read_document(text.encode(), media_type, settings=BOUNDS)


@pytest.mark.parametrize(
    ("declared", "reader", "charset"),
    [
        ("text/plain", Reader.TEXT, None),
        ("Text/Plain; Charset=UTF-8", Reader.TEXT, "utf-8"),
        ('text/csv;charset="windows-1252"; header=present', Reader.TABLE, "windows-1252"),
        ("text/x-python", Reader.TEXT, None),
        ("application/geo+json", Reader.JSON, None),
        ("application/x-ndjson", Reader.JSON, None),
        ("application/pdf", Reader.PDF, None),
    ],
)
def test_a_media_type_says_who_reads(declared: str, reader: Reader, charset: str | None) -> None:
    found = read_media_type(declared)
    assert (found.reader, found.charset) == (reader, charset)


@pytest.mark.parametrize(
    "declared", ["", "text", "image/png", "application/zip", "text/", "text/a b", "x" * 5_000]
)
def test_another_media_type_is_refused_with_those_that_are_taken(declared: str) -> None:
    with pytest.raises(ProblemError, match="text/markdown") as found:
        read_media_type(declared)
    assert len(found.value.message) < 400


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"berth": 4,', "line 1, column"),
        ('{"a": 1}\nnot json', "line 2, column 1"),
        ("[" * 100_000, "nested too deeply"),
        ("just words", "not valid JSON"),
        ('"only a string"', "single JSON value"),
    ],
)
def test_json_that_is_none_is_kept_as_text_and_says_so(text: str, named: str) -> None:
    document = read(text, "application/json")
    assert document.text == text
    assert named in document.notes[0]
    assert "kept as text" in document.notes[0]


def test_json_and_json_lines_are_json() -> None:
    lines = "\n".join(json.dumps({"berth": number, "crane": "x"}) for number in range(30))
    for text in ('{"berth": [1, 2]}', lines):
        document = read(text, "application/json")
        assert (document.kind, document.notes) == (ContentKind.JSON, ())


def test_a_table_is_one_where_its_first_line_has_columns() -> None:
    assert read("berth;crane\n4;2\n", "text/csv").kind is ContentKind.TABLE
    lying = read("There is no table here at all.\nOnly words.\n", "text/csv")
    assert lying.kind is not ContentKind.TABLE
    assert "kept as text" in lying.notes[0]


def test_markdown_without_a_sign_of_it_is_markdown_all_the_same() -> None:
    assert read("Only words.", "text/markdown").kind is ContentKind.MARKDOWN


def test_html_in_another_encoding_is_read_by_what_the_page_says() -> None:
    page = '<meta charset="koi8-r"><p>\u043a\u0440\u0430\u043d 4'.encode("koi8-r")
    assert read_document(page, "text/html", settings=BOUNDS).text == "\u043a\u0440\u0430\u043d 4"


def test_text_inside_a_json_body_is_read_like_a_file() -> None:
    assert read_inline("<p>a</p><script>b</script>", "text/html", settings=BOUNDS).text == "a"
    assert read_inline("a\r\nb", "text/plain; charset=koi8-r", settings=BOUNDS).text == "a\nb"
    with pytest.raises(ProblemError, match="content_base64"):
        read_inline("x", "application/pdf", settings=BOUNDS)


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff"])
def test_a_document_without_words_is_refused(text: str) -> None:
    with pytest.raises(ProblemError, match="holds no text"):
        read(text, "text/plain")


def test_a_long_log_is_refused_by_its_length_before_anything_is_made_of_it() -> None:
    bounds = ArtifactSettings(attachment_max_chars=10_000, attachment_max_bytes=20_000)
    with pytest.raises(ProblemError) as found:
        read_document(b"x" * 10_001, "text/plain", settings=bounds)
    assert (found.value.code, found.value.numbers["limit"]) == ("too-large", 10_000)
    with pytest.raises(ProblemError) as found:
        read_document(b"x" * 20_001, "text/plain", settings=bounds)
    assert found.value.numbers["limit"] == 20_000
