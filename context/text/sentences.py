# ruff: noqa: E501, RUF001, SIM905 - tables in many scripts
"""Split text into sentences in any script, without being fooled by abbreviations."""

import re
from collections.abc import Iterator

_ABBREVIATIONS = frozenset(
    "e.g i.e etc vs cf dr mr mrs ms prof sr jr st no nos fig figs eq sec ch vol pp p approx incl excl resp max min ca al ed "
    "inc ltd co corp dept est ext tel z.b d.h u.a u.s.w usw bzw ggf evtl inkl zzgl vgl nr abs str hr fr o.ä s.o s.u bspw "
    "p.ej ej sra srta ud uds pág p.ex ex m mme mlle env c.-à-d dott sig ecc pag es bijv o.a d.w.z enz blz dhr mevr np tj tzn "
    "m.in itp itd ul prof ok т.е т.д т.п т.к т.н др пр см рис стр г гг в вв им напр тыс руб коп ул д кв т vb örn bkz yy u.s u.k "
    "a.m p.m jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_END = re.compile(r"[.!?…؟۔।॥。！？｡]+[)\]}\"'”’»」』）]*")
_WIDE_ENDS = "。！？｡।॥۔"
_OPENING = "([\"'“«"
_LONGEST_ABBREVIATION = max(map(len, _ABBREVIATIONS))
_LIST_MARK = re.compile(r"\A\s*(?:[-*+•·–>]|\d{1,3}[.)]|[a-zA-Z][.)])\s+|\A#{1,6}\s+")
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)"
    r"(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?\s*[:：]")
"""A line such as "Returns:", before the described content."""
_MOST_LABEL_WORDS = 2
_NAMED = re.compile(r"\w+\s*(?:\([^()]{0,80}\)\s*)?:(?=\s|\Z)|\w+ - ")
"""A line such as "limit: at most so many", beginning with a name and not in the middle of a sentence."""
_LETTER = re.compile(r"[^\W\d_]")
_FENCE = re.compile(r"\A\s*(?:```|~~~)")


def split_sentences(text: str) -> list[str]:
    """Split text into sentences, also at line breaks; list marks and headings' hashes are stripped.

    Args:
        text: Any text.

    Returns:
        The sentences in order, each stripped and not empty; fenced code is left out.
    """
    return [sentence for line in _lines_of_prose(text) for sentence in _split_line(line)]


def first_sentence(text: str) -> str:
    """Return the first sentence of a description.

    A line that begins with a small letter continues the line before. HTML tags are stripped, and a line that
    is only a label ("Returns:") is passed over.

    Args:
        text: Any text.

    Returns:
        The sentence; "" if there is none.
    """
    lines = _unwrapped(_TAG.sub(" ", text))
    said = (sentence for line in lines if not _LABEL.fullmatch(line) for sentence in _split_line(line))
    return next((sentence for sentence in said if _LETTER.search(sentence)), "")


def _unwrapped(text: str) -> list[str]:
    """Join the lines of a paragraph continued by a small letter."""
    paragraphs: list[list[str]] = []
    goes_on = False
    for raw in _outside_of_fences(text):
        line = raw.strip()
        if goes_on and line[:1].islower() and not _NAMED.match(line) and not _is_label(paragraphs[-1]):
            paragraphs[-1].append(line)
        elif line:
            paragraphs.append([_LIST_MARK.sub("", line).strip()])
        goes_on = bool(line)
    return [line for line in map(" ".join, paragraphs) if line]


def _is_label(lines: list[str]) -> bool:
    """Say whether lines form a label such as "Returns:", of two words at most."""
    return len(lines) <= _MOST_LABEL_WORDS and _LABEL.fullmatch(" ".join(lines)) is not None


def _lines_of_prose(text: str) -> Iterator[str]:
    for line in _outside_of_fences(text):
        if line.strip():
            yield _LIST_MARK.sub("", line).strip()


def _outside_of_fences(text: str) -> Iterator[str]:
    in_fence = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence:
            yield line


def _split_line(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        if _ends_sentence(line, match, start):
            if sentence := line[start : match.end()].strip():
                yield sentence
            start = match.end()
    if rest := line[start:].strip():
        yield rest


def _ends_sentence(line: str, match: re.Match[str], start: int) -> bool:
    mark = match[0]
    if mark[0] in _WIDE_ENDS:
        return True
    following = line[match.end() : match.end() + 2]
    if following and not following[0].isspace():
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    word = _last_word(line, start, match.start())
    return not word or not _is_abbreviation(word, following[1:])


def _last_word(line: str, start: int, end: int) -> str:
    """Return the word before a full stop; only the end of a word longer than any abbreviation."""
    least = max(start, end - _LONGEST_ABBREVIATION - 1)
    at = end
    while at > least and not line[at - 1].isspace() and line[at - 1] not in _OPENING:
        at -= 1
    return line[at:end]


def _is_abbreviation(word: str, following: str) -> bool:
    """An abbreviation, an initial, or an ordinal before a small letter."""
    plain = word.casefold()
    if plain in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isupper()):
        return True
    return following.islower() or (len(word) <= 2 and word.isdigit())  # noqa: PLR2004 - "3. Mai": a day's number
