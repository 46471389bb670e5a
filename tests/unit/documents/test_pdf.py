"""PDF in a process of its own: its text by pages, and refusals that cost seconds at most."""

import pytest

from api.artifacts.documents.read import read_document
from api.http.errors import ProblemError
from context.artifacts.types import ContentKind
from models.artifacts.settings import ArtifactSettings
from tests.unit.documents.pdfs import assemble, bomb, deflated, encrypted, pdf_of, slow

BOUNDS = ArtifactSettings(pdf_timeout_s=120, pdf_max_pages=5)
"""Patient: on a busy machine a process needs seconds to begin."""

PDF = "application/pdf"


def refusal(data: bytes, bounds: ArtifactSettings = BOUNDS) -> ProblemError:
    with pytest.raises(ProblemError) as found:
        read_document(data, PDF, settings=bounds)
    assert found.value.code == "invalid-input"
    return found.value


def test_each_page_is_named_and_blank_ones_are_counted() -> None:
    document = read_document(pdf_of("First page.", "", "Third (last) page."), PDF, settings=BOUNDS)
    assert document.text == "[page 1]\nFirst page.\n\n[page 3]\nThird (last) page."
    assert document.notes == ("1 of 3 pages hold no text",)
    assert document.kind is ContentKind.TEXT


def test_a_scanned_document_is_refused_for_having_no_text() -> None:
    assert "holds no text" in refusal(pdf_of("", "")).message


def test_a_document_with_a_password_is_refused_as_such() -> None:
    assert "encrypted" in refusal(encrypted()).message


def test_as_many_pages_as_allowed_are_read_and_one_more_is_not() -> None:
    assert "[page 5]" in read_document(pdf_of(*["x"] * 5), PDF, settings=BOUNDS).text
    assert refusal(pdf_of(*["x"] * 6)).numbers["limit"] == 5


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n",
        b"%PDF-1.7\n" + b"\xff" * 5_000,
        pdf_of("words")[:300],
        pdf_of("words").replace(b"/Pages 2 0 R", b"/Pages 1 0 R"),
        pdf_of("words").replace(b"/Kids [10 0 R]", b"/Kids [2 0 R ]"),
    ],
    ids=["only a head", "noise", "cut off", "a catalog that is its own page tree", "a tree in a circle"],
)
def test_a_damaged_document_is_refused(data: bytes) -> None:
    assert refusal(data).message.startswith("content: ")


def test_a_bomb_costs_seconds_and_one_refusal() -> None:
    packed = bomb(megabytes=256)
    assert len(packed) < 2**20
    assert "beyond all measure" in refusal(packed).message


def test_a_bomb_of_many_parts_is_stopped_by_memory_or_time() -> None:
    part = deflated(b"(word ) Tj " * 2**19)
    bounds = ArtifactSettings(pdf_timeout_s=4, pdf_memory_bytes=160 * 2**20)
    assert refusal(assemble([part] * 40), bounds).message.startswith("content: ")


def test_a_document_that_takes_too_long_is_stopped_in_time() -> None:
    told = refusal(slow(operations=150_000), ArtifactSettings(pdf_timeout_s=1.5)).message
    assert "longer than 1.5 s" in told


def test_text_beyond_the_limit_is_refused_with_the_limit() -> None:
    bounds = ArtifactSettings(attachment_max_chars=6_000, pdf_timeout_s=120, attachment_max_bytes=2**20)
    pages = pdf_of(*["word " * 500] * 4)
    assert refusal(pages, bounds).numbers["limit"] == 6_000
