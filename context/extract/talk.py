"""Running text and transcripts: paragraphs, sentences, and the turns of speakers."""

import re
from collections.abc import Iterator
from itertools import islice

from context.extract.spans import (
    NO_FRAME,
    CutText,
    Frame,
    Piece,
    Sizes,
    Span,
    is_blank,
    lines_of,
    pack,
    prose,
    split_long,
)

_SPEAKER = re.compile(
    r"[ \t]{0,8}(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?[ \t]{1,4})?"
    r"(?:<[^<>\s]{1,40}>|[^\W\d_][\w .,'\u2019()/-]{0,48}:(?=\s|\Z)|[^\W\d_][\w \u3000]{0,20}\uff1a)"
)
_SAMPLE_LINES = 300
_SPOKEN_SHARE = 0.4
_MOST_NAMES = 0.5


def cut_talk(text: str, sizes: Sizes) -> CutText:
    """Cut a text by its speakers, or without speakers by paragraphs and sentences."""
    if not is_transcript(text):
        return CutText([Piece(a, b) for a, b in prose(text, (0, len(text)), sizes.target)], [])
    frames: list[Frame] = []
    pieces: list[Piece] = []
    short: list[Span] = []
    for turn in _turns(text):
        if turn[1] - turn[0] <= sizes.target * 3 // 2:
            short.append(turn)
            continue
        pieces += [Piece(a, b) for a, b in pack(short, sizes.target)]
        short.clear()
        pieces += _long_turn(text, turn, frames, sizes)
    pieces += [Piece(a, b) for a, b in pack(short, sizes.target)]
    return CutText(pieces, frames)


def is_transcript(text: str) -> bool:
    """Say whether most lines name a speaker, and few speakers are named only once."""
    lines = (text[a:b] for a, b in lines_of(text) if not is_blank(text, (a, b)))
    sample = list(islice(lines, _SAMPLE_LINES))
    names = [found.group().strip() for found in map(_SPEAKER.match, sample) if found]
    return (
        len(names) > 1
        and len(names) >= _SPOKEN_SHARE * len(sample)
        and len(set(names)) <= _MOST_NAMES * len(names)
    )


def _turns(text: str) -> Iterator[Span]:
    start = end = -1
    for line in lines_of(text):
        if is_blank(text, line):
            continue
        if start >= 0 and _SPEAKER.match(text, line[0], line[1]):
            yield start, end
            start = -1
        start = line[0] if start < 0 else start
        end = line[1]
    if start >= 0:
        yield start, end


def _long_turn(text: str, turn: Span, frames: list[Frame], sizes: Sizes) -> Iterator[Piece]:
    """Yield the pieces of a long turn; the speaker's name is in the first, and is the frame of the others."""
    found = _SPEAKER.match(text, *turn)
    if found:
        frames.append(Frame(turn[0], found.end()))
    for a, b in split_long(text, turn, sizes.target):
        yield Piece(a, b, len(frames) - 1 if found and a > turn[0] else NO_FRAME)
