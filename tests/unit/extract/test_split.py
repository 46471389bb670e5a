"""Each kind of content is cut where its own form allows."""

import json

import pytest

from context.artifacts.types import ContentKind
from context.extract.index import cut_text
from context.extract.spans import NO_FRAME, CutText, Piece
from tests.unit.extract import texts


def shown(text: str, kind: ContentKind) -> list[str]:
    cut, _ = cut_text(text, kind)
    return [text[piece.start : piece.end] for piece in cut.pieces]


def piece_with(text: str, kind: ContentKind, words: str) -> tuple[Piece, CutText]:
    cut, _ = cut_text(text, kind)
    return next(piece for piece in cut.pieces if words in text[piece.start : piece.end]), cut


def frames_of(text: str, piece: Piece, cut: CutText) -> list[str]:
    found, at = [], piece.frame
    while at != NO_FRAME:
        found.append(text[cut.frames[at].start : cut.frames[at].end])
        at = cut.frames[at].parent
    return found[::-1]


@pytest.mark.parametrize(("kind", "text"), texts.BY_KIND.items())
def test_pieces_hold_every_word_in_order(kind: ContentKind, text: str) -> None:
    cut, _ = cut_text(text, kind)
    edges = [edge for piece in cut.pieces for edge in (piece.start, piece.end)]
    assert edges == sorted(edges)
    missed = "".join(text[a:b] for a, b in zip([0, *edges[1::2]], [*edges[::2], len(text)], strict=True))
    allowed = set(' \n{}[],:"') | set("" if kind is not ContentKind.JSON else "items")
    assert kind in {ContentKind.TABLE, ContentKind.LOG} or set(missed) <= allowed


def test_a_section_stands_under_its_headings() -> None:
    piece, cut = piece_with(texts.MARKDOWN, ContentKind.MARKDOWN, "option31")
    assert frames_of(texts.MARKDOWN, piece, cut) == ["# Guide", "## Options", "| name | meaning |\n|---|---|"]


def test_a_heading_opens_the_first_piece_of_its_section() -> None:
    assert any(
        part.startswith("### Windows\n\nThe installer")
        for part in shown(texts.MARKDOWN, ContentKind.MARKDOWN)
    )


def test_a_comment_in_a_fence_is_no_heading() -> None:
    _, cut = piece_with(texts.MARKDOWN, ContentKind.MARKDOWN, "print('run')")
    assert cut.frames
    assert all("not a heading" not in texts.MARKDOWN[frame.start : frame.end] for frame in cut.frames)


def test_an_underlined_line_is_a_heading() -> None:
    text = f"Depot\n=====\n\n{texts.FILLER * 20}\n\nShelves\n-------\n\n{texts.FILLER * 20}"
    cut, _ = cut_text(text, ContentKind.MARKDOWN)
    last = cut.pieces[-1]
    assert frames_of(text, last, cut) == ["Depot\n=====", "Shelves\n-------"]


def test_a_record_stays_whole_and_knows_its_path() -> None:
    piece, _ = piece_with(texts.JSON, ContentKind.JSON, "Widget 17")
    assert piece.path == "$.items[17]"
    assert json.loads(texts.JSON[piece.start : piece.end]) == texts.RECORDS[17]


def test_a_large_record_is_cut_between_its_members_and_shows_its_first_fields() -> None:
    body = [f"sentence number {n} of the body. " for n in range(80)]
    text = json.dumps({"rows": [{"id": 7, "title": "Depot", "body": "".join(body), "tags": ["x", "y"]}] * 3})
    piece, cut = piece_with(text, ContentKind.JSON, "number 61 ")
    assert piece.path == "$.rows[0].body"
    assert frames_of(text, piece, cut) == ['"id": 7, "title": "Depot"']


def test_odd_keys_are_quoted_in_a_path() -> None:
    text = json.dumps({"a b": {"c.d": ["x" * 900, "y" * 900]}})
    piece, _ = piece_with(text, ContentKind.JSON, "yyy")
    assert piece.path == '$["a b"]["c.d"][1]'


def test_a_cut_never_splits_an_escape() -> None:
    text = json.dumps({"body": "\u0416\n\\" * 3_000})
    for part in shown(text, ContentKind.JSON)[1:-1]:
        json.loads(f'"{part}"')


def test_json_lines_are_records() -> None:
    text = "\n".join(json.dumps(record) for record in texts.RECORDS)
    piece, _ = piece_with(text, ContentKind.JSON, "Widget 3")
    assert piece.path == "$[3]"


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2', "[1, 2] trailing words of no use", "[" * 50_000, '\\"' * 1000]
)
def test_json_that_lies_about_itself_is_read_as_text(text: str) -> None:
    cut, kind = cut_text(text, ContentKind.JSON)
    assert kind is ContentKind.TEXT
    assert [piece.path for piece in cut.pieces] == [""] * max(len(cut.pieces), 1)


def test_rows_stay_whole_under_their_header() -> None:
    piece, cut = piece_with(texts.CSV, ContentKind.TABLE, "City57,")
    assert frames_of(texts.CSV, piece, cut) == ["id,city,amount"]
    assert piece.first <= 58 <= piece.last
    assert texts.CSV[piece.start : piece.end].split("\n")[58 - piece.first] == "57,City57,741"


def test_a_table_without_names_has_no_header() -> None:
    cut, _ = cut_text("1,2\n3,4\n" * 60, ContentKind.TABLE)
    assert cut.frames == []
    assert cut.pieces[0].first == 1


def test_a_line_break_in_quotes_does_not_end_a_row() -> None:
    text = "id,note\n" + "\n".join(f'{n},"first line\nsecond line {n}"' for n in range(50))
    parts = shown(text, ContentKind.TABLE)
    assert len(parts) > 1
    assert all(part.count('"') % 2 == 0 for part in parts)


def test_a_stray_quote_does_not_swallow_the_table() -> None:
    rows = [f"{n},inch" for n in range(1_000)]
    rows[3] = '3,"'
    text = "\n".join(["id,note", *rows])
    assert len(shown(text, ContentKind.TABLE)) > 20


def test_a_stack_trace_stays_with_its_entry() -> None:
    piece, _ = piece_with(texts.LOG, ContentKind.LOG, "request 99 failed")
    assert texts.LOG[piece.start : piece.end].endswith("bad value 99")


def test_what_is_logged_again_and_again_is_one_piece_that_counts() -> None:
    cut, _ = cut_text(texts.LOG, ContentKind.LOG)
    folded = [piece for piece in cut.pieces if piece.repeats]
    assert [piece.repeats for piece in folded] == [132]
    assert texts.LOG[folded[0].last_repeat :].count("heartbeat") == 1
    assert sum("heartbeat" in part for part in shown(texts.LOG, ContentKind.LOG)) == 1


def test_a_function_stays_whole_with_its_comment() -> None:
    piece, _ = piece_with(texts.CODE, ContentKind.CODE, "def part_41(")
    words = texts.CODE[piece.start : piece.end]
    assert words.startswith("# Part 41.\n")
    assert words.endswith("return total")


def test_a_method_stands_under_its_class() -> None:
    piece, cut = piece_with(texts.LARGE_CLASS, ContentKind.CODE, "def shelf_41(")
    assert frames_of(texts.LARGE_CLASS, piece, cut) == ["class Depot:"]


def test_code_without_indentation_is_cut_by_its_braces() -> None:
    text = "\n".join(
        f"function f{n}(a) {{\nlet b = a + {n};\nb += a * {n};\nreturn b * a - {n};\n}}" for n in range(80)
    )
    piece, _ = piece_with(text, ContentKind.CODE, "function f41(")
    words = text[piece.start : piece.end]
    assert words.count("{") == words.count("}")


def test_a_hunk_stands_under_its_file() -> None:
    piece, cut = piece_with(texts.DIFF, ContentKind.DIFF, "step_4_7()")
    assert frames_of(texts.DIFF, piece, cut)[0].startswith("diff --git a/part4.py")
    assert texts.DIFF[piece.start : piece.end].startswith("@@ ")


def test_a_removed_line_of_dashes_is_no_file() -> None:
    text = "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@\n select 1\n--- a comment\n select 2\n" * 1
    cut, _ = cut_text(text, ContentKind.DIFF)
    assert len(cut.frames) == 1


def test_a_long_turn_keeps_its_speaker() -> None:
    text = f"{texts.TALK}\nAda: {'So the shutter has to be replaced before winter. ' * 30}"
    cut, _ = cut_text(text, ContentKind.TEXT)
    assert frames_of(text, cut.pieces[-1], cut) == ["Ada:"]


def test_running_text_is_cut_after_sentences() -> None:
    parts = shown(texts.STORY, ContentKind.TEXT)
    assert all(part.endswith(".") for part in parts)
    assert max(map(len, parts)) < 400
