"""Logs: entries with their lines; repeated entries are shown once."""

import re
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice

from context.extract.spans import CutText, Piece, Sizes, Span, is_blank, lines_of, pack, split_long

_STAMP = re.compile(
    r"[\[(<]?(?:\d{4}-\d{2}-\d{2}|\d{2,4}/\d{1,2}/\d{1,4}|\d{1,2}:\d{2}:\d{2}|\d{9,13}[.,:\s\]]"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} {1,2}\d{1,2}:\d{2})"
)
_LEVEL = re.compile(
    r"[\[(<]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|FATAL|CRIT(?:ICAL)?|[IWEF]\d{4})\b"
)
_GOES_ON = re.compile(
    r"[ \t]|Traceback|Caused by|During handling|The above exception|at |\.{3}"
    r"|[\w.$]{1,120}(?:Error|Exception)\b"
)
_TIME = re.compile(r"(?:[\[(<]?\d[\d:.,/TZ+-]{0,40}[\])>]?[ \t]{1,4}|[A-Z][a-z]{2} {1,2}(?=\d)){1,6}")
_SAMPLE_LINES = 300
_STAMPED_SHARE = 0.3
_SHORTEST_REPEAT = 12
_REPEATS = 2
"""Least number of repetitions to fold an entry."""


def cut_log(text: str, sizes: Sizes) -> CutText:
    """Cut a log between entries.

    Args:
        text: The log.
        sizes: The sizes of pieces.

    Returns:
        The pieces; short entries join with their neighbours. An entry found three times or more in the same
        words, time aside, is one piece: the first, with the number of repetitions.
    """
    seen = _count_entries(text)
    pieces: list[Piece] = []
    loose: list[Span] = []
    for entry in _entries(text):
        repeats, last = seen.get(_key(text, entry), (0, 0))
        if repeats < _REPEATS:
            loose.append(entry)
            continue
        pieces += _loose_pieces(text, loose, sizes)
        if last == 0:
            continue
        pieces.append(
            Piece(entry[0], min(entry[1], entry[0] + sizes.whole), repeats=repeats, last_repeat=last)
        )
        seen[_key(text, entry)] = (repeats, 0)
    return CutText([*pieces, *_loose_pieces(text, loose, sizes)], [])


def _loose_pieces(text: str, loose: list[Span], sizes: Sizes) -> list[Piece]:
    spans = list(pack(loose, sizes.target))
    loose.clear()
    return [Piece(a, b) for span in spans for a, b in split_long(text, span, sizes.whole)]


def _count_entries(text: str) -> dict[int, tuple[int, int]]:
    """Count the repetitions of each entry, with the place of the last."""
    seen: dict[int, tuple[int, int]] = {}
    for entry in _entries(text):
        if key := _key(text, entry):
            repeats, _ = seen.get(key, (-1, 0))
            seen[key] = repeats + 1, entry[0]
    return seen


def _key(text: str, entry: Span) -> int:
    """Return a key equal for entries that differ in time alone; 0 for an entry too short to fold."""
    stamp = _TIME.match(text, *entry)
    words = text[stamp.end() if stamp else entry[0] : entry[1]]
    if len(words) < _SHORTEST_REPEAT:
        return 0
    return int.from_bytes(blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _entries(text: str) -> Iterator[Span]:
    """Yield the entries; if most begin with a time, other lines belong to the entry before."""
    stamped = _is_stamped(text)
    start = end = -1
    for line in lines_of(text):
        if is_blank(text, line):
            continue
        if start >= 0 and _begins(text, line, stamped=stamped):
            yield start, end
            start = -1
        start = line[0] if start < 0 else start
        end = line[1]
    if start >= 0:
        yield start, end


def _begins(text: str, line: Span, *, stamped: bool) -> bool:
    if _STAMP.match(text, *line) or _LEVEL.match(text, *line):
        return True
    return not stamped and not _GOES_ON.match(text, *line)


def _is_stamped(text: str) -> bool:
    sample = list(islice((line for line in lines_of(text) if not is_blank(text, line)), _SAMPLE_LINES))
    stamped = sum(_begins(text, line, stamped=True) for line in sample)
    return stamped > _STAMPED_SHARE * len(sample)
