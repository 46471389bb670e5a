"""Cut texts: to a number of characters, between graphemes, and into sentences of any script."""

# ruff: noqa: E501, RUF001, SIM905 - tables in many scripts

import re
import unicodedata
from collections.abc import Iterator

_JOINER = "\u200d"
_JOINERS = "\u200c\u200d"
"""Invisible characters of ordinary names in some scripts."""

_MAX_BACK = 64
"""Longest cluster kept whole, in code points; longer clusters exist only to break software."""


def floor_border(text: str, index: int) -> int:
    """Move a cut back to the nearest border between visible characters.

    Args:
        text: Any text.
        index: Position of the cut, 0 to the length.

    Returns:
        The border, at most 64 code points before the index; the index without a border so near.
    """
    return next(
        (near for near in range(index, max(index - _MAX_BACK, 0) - 1, -1) if is_border(text, near)), index
    )


def ceil_border(text: str, index: int) -> int:
    """Move a cut forward to the nearest border; the counterpart of `floor_border`."""
    stop = min(index + _MAX_BACK, len(text))
    return next((near for near in range(index, stop + 1) if is_border(text, near)), index)


def is_border(text: str, index: int) -> bool:
    """Say whether a cut here keeps accents, joined emoji, flags, syllables and line ends together."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":
        return before + after != "\r\n"
    return not (
        _JOINER in {before, after}
        or unicodedata.category(after).startswith("M")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or (_is_conjoining_jamo(before) and _is_conjoining_jamo(after))
        or _splits_flag(text, index)
    )


def _is_conjoining_jamo(character: str) -> bool:
    return "\u1100" <= character <= "\u11ff"


def _splits_flag(text: str, index: int) -> bool:
    """Say whether an odd number of flag letters precedes the cut and another flag letter follows."""
    if not _is_flag_letter(text[index]):
        return False
    run = 0
    while run < min(index, _MAX_BACK) and _is_flag_letter(text[index - 1 - run]):
        run += 1
    return run % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


_DATA_URL = re.compile(r"data:[\w.+-]{1,60}/[\w.+-]{1,80}(?:;[\w=.-]{1,60}){0,4},[A-Za-z0-9+/=_-]{64,}")
_BASE64_RUN = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{512,}={0,2}")
_HEAD_SHARE = 2 / 3
_MARKER_ROOM = 40
_MAX_WORD_CHARS = 40


def clip(text: str, max_chars: int) -> str:
    """Keep the head and the tail of a text, with the length of the omitted middle between them.

    Args:
        text: Any text.
        max_chars: The most characters of the answer, >= 1.

    Returns:
        The whole text if short enough; else at most `max_chars` characters.
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - _MARKER_ROOM
    if room < _MARKER_ROOM:
        return text[: max(max_chars - 1, 0)] + "…"
    head = int(room * _HEAD_SHARE)
    start, end = text[:head], text[len(text) - (room - head) :]
    start, end = _whole_words(start, start.rfind(" ")), _whole_words(end[::-1], end[::-1].rfind(" "))[::-1]
    left_out = len(text) - len(start) - len(end)
    return f"{start} … [{left_out} characters left out] … {end}"


def _whole_words(text: str, last_space: int) -> str:
    """Cut at the end of a word if an end is near: half a name is worse than none."""
    is_near = last_space > 0 and len(text) - last_space <= _MAX_WORD_CHARS
    return (text[:last_space] if is_near else text).rstrip()


def one_line(text: str, max_chars: int) -> str:
    """Put a text on one line, whitespace joined, and clip it.

    Args:
        text: Any text.
        max_chars: The most characters of the answer, >= 1.

    Returns:
        One line without control characters.
    """
    return clip(" ".join(text.split()), max_chars)


def name_on_one_line(name: str) -> str:
    """Put a name on one line without control characters, so that no name can pass as another's words."""
    return " ".join(printable(name).split())


def printable(text: str) -> str:
    """Put a blank for each control character, line breaks included; characters that join letters stay."""
    return "".join(char if char.isprintable() or char in _JOINERS else " " for char in text)


def drop_encoded(text: str) -> str:
    """Replace embedded files, useless to a reader of words, by a short note.

    Args:
        text: Text, perhaps with data URLs or long base64 runs.

    Returns:
        The text with each embedded file replaced.
    """
    if "base64" in text or "data:" in text:
        text = _DATA_URL.sub("[encoded data left out]", text)
    return _BASE64_RUN.sub(lambda run: _encoded_note(run[0]), text)


def _encoded_note(run: str) -> str:
    is_prose_like = run.isdigit() or run.isalpha() or len(set(run)) < 24  # noqa: PLR2004 - base64 uses most of its 64 letters
    return run if is_prose_like else "[encoded data left out]"


def drop_blank_lines(text: str) -> str:
    """Drop blank lines and trailing whitespace."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def plain_breaks(text: str) -> str:
    """Turn line breaks written as a backslash and an "n" into line breaks, if a text has more of such breaks.

    Args:
        text: Any text, such as a tool's output with a quoted text inside.

    Returns:
        The text; unchanged if most line breaks are real.
    """
    return text.replace("\\n", "\n") if text.count("\\n") > text.count("\n") else text


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
