"""From HTML to text: what a reader sees, in its order; nothing that is hidden."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.artifacts.documents.child import DocumentLimits, Extracted, UnreadableError
from api.artifacts.documents.html import extract_html

LIMITS = DocumentLimits(2**30, 5, 100_000, 10, 2**20)


def read(page: str, limits: DocumentLimits = LIMITS) -> Extracted:
    return extract_html(page.encode(), limits)


def text_of(page: str) -> str:
    return read(page).text


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("<p>one <b>two</b>\n three</p>", "one two three"),
        ("<h1>Title</h1>words<h3>Part</h3>more", "# Title\n\nwords\n\n### Part\n\nmore"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("a<br>b<hr>c", "a\nb\n\nc"),
        ("<a href='https://example.org/x'>the report</a>", "the report"),
        ("x &lt;b&gt; &amp; &#9731;", "x <b> & \u2603"),
        ("<pre>def f():\n    return 1\n</pre>", "def f():\n    return 1"),
        ("<img src=x alt='a crane'> at work", "a crane at work"),
        ("<p>first<p>second", "first\n\nsecond"),
        ("plain words without any tag", "plain words without any tag"),
    ],
)
def test_words_come_out_as_they_are_read(page: str, shown: str) -> None:
    assert text_of(page) == shown


def test_a_table_is_readable_row_by_row() -> None:
    page = "<table><tr><th>berth<th>crane<tr><td>4<td>2 | 3<tr><td><p>5</p><p>6</p><td>a<br>b</table>after"
    assert text_of(page) == ("| berth | crane |\n| --- | --- |\n| 4 | 2 \\| 3 |\n| 5 6 | a b |\n\nafter")


def test_a_table_inside_a_cell_becomes_words_of_the_cell() -> None:
    page = "<table><tr><td><table><tr><td>in<td>side</table><td>out</table>"
    assert text_of(page).splitlines()[0] == "| in side | out |"


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>secret()</script>",
        "<script>document.write('</p><p>secret')</script>",
        "<style>.secret{}</style>",
        "<!-- secret -->",
        "<p hidden>secret</p>",
        "<div aria-hidden='true'>secret</div>",
        "<div style='display : none'>a <p>secret</p> b</div>",
        "<span style='visibility:hidden'>secret</span>",
        "<span style='font-size:0px'>secret</span>",
        "<span style='color:red;opacity:0'>secret</span>",
        "<template><p>secret</p></template>",
        "<svg><text>secret</text></svg>",
        "<noscript>secret</noscript>",
        "<iframe>secret</iframe>",
        "<input type=hidden value=secret>",
        "<textarea hidden>secret</textarea>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str) -> None:
    found = read(f"<p>before</p>{hidden}<p>after</p>")
    assert "secret" not in found.text
    assert found.text.split() == ["before", "after"]


@pytest.mark.parametrize("style", ["opacity:0.5", "font-size:0.8em", "display:block", "font-size:10px"])
def test_a_style_that_shows_is_not_taken_for_one_that_hides(style: str) -> None:
    assert text_of(f"<p style='{style}'>seen</p>") == "seen"


def test_a_hidden_paragraph_that_nobody_closed_hides_no_more_than_itself() -> None:
    assert text_of("<p>one<p hidden>two <b>three<p>four") == "one\n\nfour"


def test_that_something_was_left_out_is_said_and_only_then() -> None:
    assert read("<p>a</p><script>b</script>").notes
    assert read("<p>a</p>").notes == ()


def test_the_title_is_what_the_page_calls_itself_and_no_text() -> None:
    found = read("<head><title>Berth\n 4</title></head><body>words")
    assert (found.title, found.text) == ("Berth 4", "words")


def test_a_page_that_shows_nothing_is_refused() -> None:
    with pytest.raises(UnreadableError, match="no text"):
        read("<script>all of it</script>")


def test_more_text_than_allowed_is_refused_with_the_limit() -> None:
    with pytest.raises(UnreadableError) as found:
        read("<p>" + "word " * 40_000)
    assert found.value.limit == LIMITS.most_chars


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(UnreadableError, match="nested"):
        read("<div>" * 10_000 + "deep")


TAGS = st.sampled_from(
    ["<p>", "</p>", "<td>", "<tr>", "</table>", "<table>", "<li>", "<b>", "</b>", "<br>", "<pre>", "</pre>"]
)


@given(st.lists(st.one_of(TAGS, st.sampled_from(["alpha ", "beta ", "gamma "])), max_size=60))
def test_no_word_is_lost_or_moved_however_tags_are_mixed(pieces: list[str]) -> None:
    page = "start " + "".join(pieces)
    said = re.findall(r"start|alpha|beta|gamma", page)
    assert re.findall(r"start|alpha|beta|gamma", text_of(page)) == said


@given(st.text(max_size=300))
def test_any_text_is_read_without_a_fault(page: str) -> None:
    clean = page.encode("utf-8", "replace").decode()
    assert text_of("words " + clean.replace("<", "< ")).startswith("words")
