"""Hostile texts: a bounded number of pieces, none of them huge."""

import json

import pytest

from context.artifacts.types import ContentKind
from context.extract import PassageIndex, extract

SIZE = 120_000

HOSTILE = {
    "one line": ("x" * SIZE, ContentKind.TEXT),
    "short lines": ("a\n" * (SIZE // 2), ContentKind.TEXT),
    "short entries": ("a b\n" * (SIZE // 4), ContentKind.LOG),
    "headings": ("# a\n" * (SIZE // 4), ContentKind.MARKDOWN),
    "fences": ("```\n" * (SIZE // 4), ContentKind.MARKDOWN),
    "hunks": ("@@ -1 +1 @@\n" * (SIZE // 12), ContentKind.DIFF),
    "numbers": (json.dumps(list(range(SIZE // 8))), ContentKind.JSON),
    "deep": ("[" * (SIZE // 2) + "]" * (SIZE // 2), ContentKind.JSON),
    "less deep": ('{"a":[' * 400 + '"' + "long " * 4_000 + '"' + "]}" * 400, ContentKind.JSON),
    "escapes": ('\\"' * (SIZE // 2), ContentKind.JSON),
    "quotes": ('"\n' * (SIZE // 2), ContentKind.TABLE),
    "bars": ("|" * SIZE, ContentKind.TABLE),
    "braces": ("{\n" * (SIZE // 2), ContentKind.CODE),
    "stairs": ("\n".join(" " * n + "x" for n in range(480)), ContentKind.CODE),
    "speakers": ("a: " * (SIZE // 3), ContentKind.TEXT),
    "digits": ("1" * SIZE, ContentKind.LOG),
    "dots": (". " * (SIZE // 2), ContentKind.HTML),
    "marks": ("e\u0301" * (SIZE // 2), ContentKind.TEXT),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_cut_into_few_and_bounded_pieces(name: str) -> None:
    text, kind = HOSTILE[name]
    index = PassageIndex.build(text, kind)
    assert len(index.pieces) <= len(text) // 60
    assert max(piece.end - piece.start for piece in index.pieces) <= 3_300
    assert len(index.frames) <= len(index.pieces)
    assert extract(text, index, "a 17", budget_tokens=300).tokens <= 300


def test_blanks_have_no_pieces() -> None:
    assert len(PassageIndex.build(" \n" * 1_000, ContentKind.TEXT).pieces) == 0
