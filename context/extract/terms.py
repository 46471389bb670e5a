"""Terms of each piece of a text, with the terms of the piece's frames."""

import re
from collections.abc import Callable, Iterable

from context.artifacts.types import ContentKind
from context.extract.spans import NO_FRAME, Cut
from context.words import index_terms

_JSON_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")
_PRINTED_BREAK = re.compile(r"\\+[nrt]")


def find_postings(text: str, cut: Cut, kind: ContentKind) -> dict[str, list[int]]:
    """List the pieces of each term.

    Args:
        text: The whole text.
        cut: The pieces and frames.
        kind: The kind of text. A table's header says nothing about a single row, and is left out.

    Returns:
        For each term the pieces, in order.
    """
    postings: dict[str, list[int]] = {}
    plain = _reader(text, kind)
    framed = _framed_terms(text, cut, kind)
    for at, piece in enumerate(cut.pieces):
        words = plain(text[piece.start : piece.end])
        _add(postings, at, index_terms(f"{piece.path}\n{words}" if piece.path else words))
        if piece.frame != NO_FRAME:
            _add(postings, at, framed[piece.frame])
    return postings


def _reader(text: str, kind: ContentKind) -> Callable[[str], str]:
    """Choose a reader of words; in JSON and in printed strings, escapes stick to words."""
    if kind is ContentKind.JSON:
        return _plain_json
    is_printed = text.count("\\n") > text.count("\n")
    return (lambda words: _PRINTED_BREAK.sub(" ", words)) if is_printed else str


def _framed_terms(text: str, cut: Cut, kind: ContentKind) -> list[frozenset[str]]:
    framed: list[frozenset[str]] = []
    for frame in cut.frames:
        shown = "" if kind is ContentKind.TABLE else text[frame.start : frame.end]
        own = frozenset(index_terms(shown))
        framed.append(own | framed[frame.parent] if frame.parent != NO_FRAME else own)
    return framed


def _add(postings: dict[str, list[int]], piece: int, terms: Iterable[str]) -> None:
    for term in terms:
        places = postings.get(term)
        if places is None:
            postings[term] = [piece]
        elif places[-1] != piece:
            places.append(piece)


def _plain_json(words: str) -> str:
    """Decode the escapes of JSON, so that a line break does not stick to the next word."""
    return _JSON_ESCAPE.sub(_unescape, words) if "\\" in words else words


def _unescape(found: re.Match[str]) -> str:
    escape = found[0]
    if digits := escape[2:]:
        code = int(digits, 16)
        return " " if 0xD800 <= code < 0xE000 else chr(code)  # noqa: PLR2004 - halves of a pair
    return " " if escape[1] in "nrtbf" else escape[1]
