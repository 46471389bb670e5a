"""Passages: pieces of messages, a few sentences each, the units of recall."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import accumulate
from typing import NamedTuple

from context.conversation.transcript import LineKind, RenderedLine, RenderLimits
from context.text.terms import index_terms

PASSAGE_TOKENS = 50
"""Target size of a passage: a short message stays whole, a long message is cut between sentences."""
MAX_PASSAGES = 400
"""Most passages of a message; larger content belongs among the artifacts."""

RECALL_LIMITS = RenderLimits(message_chars=60_000, result_chars=20_000)
"""Indexed part of a message, larger than the part read by a summarizer."""

_WHOLE_TOKENS = 75
_MAX_CHARS_PER_TOKEN = 12
_SENTENCE = re.compile(
    "(?:[^.!?\u2026\u3002\uff01\uff1f\n]|[.!?\u2026](?!\\s))*"
    "(?:[.!?\u2026\u3002\uff01\uff1f]+[\"'\u201d\u2019\u300d\u300f)\\]]*\\s*|\n\\s*|\\Z)"
)
_SOFT_BREAK = re.compile(r"\s+")


class Passage(NamedTuple):
    """A piece of a message.

    Attributes:
        seq: The passage's message.
        turn_index: The turn of the message.
        line: Line in the rendered message: words, a call or an outcome.
        part: Place in the line, from 0.
        parts: Number of passages in the line.
        speaker: The speaker's name as shown; empty for none.
        text: The words; the passages of a line join to the line.
        start: Tokens of all passages before, >= 0; unique, used as place.
        tokens: The passage's tokens, >= 1, including the speaker's name at the start of a line.
        terms: Indexed terms; after a search, only the requested terms.
        said_on: Day of the turn's end; None if no event gave a time.
        session: The passage's session, if different from the request's; else empty.
    """

    seq: int
    turn_index: int
    line: int
    part: int
    parts: int
    speaker: str
    text: str
    start: int
    tokens: int
    terms: frozenset[str]
    said_on: date | None = None
    session: str = ""

    @property
    def centre(self) -> float:
        """Middle of the passage, in tokens from the start of the session."""
        return self.start + self.tokens / 2

    @property
    def end(self) -> int:
        """Start of the next passage, unless erased."""
        return self.start + self.tokens


def make_passages(
    lines: Iterable[RenderedLine],
    *,
    turn_of: Callable[[int], int],
    count: Callable[[str], int],
    start: int = 0,
) -> list[Passage]:
    """Cut rendered messages into passages.

    Args:
        lines: Lines of a transcript, in order.
        turn_of: Gives the turn of a message's seq.
        count: Counts the tokens of a text.
        start: Tokens of the passages that the session has already.

    Returns:
        The passages, in order.
    """
    passages: list[Passage] = []
    seq, place = 0, 0
    for line in lines:
        seq, place = line.seq, place + 1 if line.seq == seq else 0
        speaker = _shown_speaker(line)
        pieces = split_passages(line.text, count=count)[:MAX_PASSAGES]
        for part, piece in enumerate(pieces):
            shown = f"{speaker}: {piece}" if part == 0 else piece
            tokens = max(count(shown), 1)
            named = (
                f"{line.speaker} {piece}"
                if line.kind is not LineKind.TEXT or line.speaker != line.role
                else piece
            )
            passages.append(
                Passage(
                    seq,
                    turn_of(seq),
                    place,
                    part,
                    len(pieces),
                    speaker,
                    piece,
                    start,
                    tokens,
                    frozenset(index_terms(named.replace(f" ({line.role})", "", 1))),
                )
            )
            start += tokens
    return passages


def split_passages(text: str, *, count: Callable[[str], int]) -> list[str]:
    """Split a text between sentences, or lines, into pieces of about `PASSAGE_TOKENS`.

    Args:
        text: Any text.
        count: Counts the tokens of a text.

    Returns:
        Pieces in order, without gaps; a short text as a single piece; empty for a blank text.
    """
    if not text.strip():
        return []
    total = count(text)
    if total <= _WHOLE_TOKENS:
        return [text]
    chars = max(1, min(round(len(text) / total * PASSAGE_TOKENS), PASSAGE_TOKENS * _MAX_CHARS_PER_TOKEN))
    sentences = [piece for found in _SENTENCE.finditer(text) for piece in _break(found.group(), chars)]
    ends = list(accumulate(map(len, sentences)))
    pieces = max(1, round(len(text) / chars))
    cuts = sorted({_nearest(ends, len(text) * i / pieces) for i in range(1, pieces)} | {len(text)})
    return [text[a:b] for a, b in zip([0, *cuts], cuts, strict=False) if text[a:b]]


def _shown_speaker(line: RenderedLine) -> str:
    if line.kind is LineKind.CALL:
        return f"{line.speaker} calls"
    if line.kind is LineKind.RESULT:
        return f"{line.speaker} {'failed' if line.failed else 'answers'}"
    return line.speaker.removesuffix(f" ({line.role})")


def _break(sentence: str, chars: int) -> Iterator[str]:
    """Split an overlong sentence at a blank, else anywhere."""
    while len(sentence) > chars * 3 // 2:
        gap = next(iter(_SOFT_BREAK.finditer(sentence, chars * 3 // 4, chars * 3 // 2)), None)
        cut = gap.end() if gap else chars
        yield sentence[:cut]
        sentence = sentence[cut:]
    if sentence:
        yield sentence


def _nearest(ends: list[int], wanted: float) -> int:
    after = bisect_left(ends, wanted)
    around = ends[max(after - 1, 0) : after + 1]
    return min(around, key=lambda end: abs(end - wanted))
