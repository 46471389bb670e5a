"""The index of an artifact's pieces: built once by a worker, loaded in milliseconds by a request."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate

from context.artifacts.types import ContentKind
from context.extract.cut_code import cut_code, cut_diff, cut_log
from context.extract.cut_text import cut_markdown, cut_table, cut_talk, is_transcript
from context.extract.json import cut_json
from context.extract.spans import (
    NO_FRAME,
    CutText,
    Frame,
    Piece,
    Sizes,
    find_postings,
    narrative,
    sizes_for,
    topical,
    trim,
)
from context.extract.store import Rows, read_index, write_index
from context.recall.ranking import REACH_TOKENS, fades_between
from context.tokens.text import count_text

_KNIVES: dict[ContentKind, Callable[[str, Sizes], CutText | None]] = {
    ContentKind.MARKDOWN: cut_markdown,
    ContentKind.JSON: cut_json,
    ContentKind.TABLE: cut_table,
    ContentKind.LOG: cut_log,
    ContentKind.CODE: cut_code,
    ContentKind.DIFF: cut_diff,
}


def cut_text(text: str, kind: ContentKind) -> tuple[CutText, ContentKind]:
    """Cut a text by kind.

    Args:
        text: The whole text.
        kind: The declared kind; HTML arrives as visible text.

    Returns:
        The pieces, and the kind found: text, if the declared kind does not match.
    """
    sizes = sizes_for(text)
    knife = _KNIVES.get(kind)
    cut = knife(text, sizes) if knife else None
    found = kind if cut is not None and cut.pieces else ContentKind.TEXT
    if cut is None or not cut.pieces:
        cut = cut_talk(text, sizes)
    return _trimmed(text, cut), found


def _trimmed(text: str, cut: CutText) -> CutText:
    pieces = []
    for piece in cut.pieces:
        start, end = trim(text, (piece.start, piece.end))
        if start < end:
            pieces.append(piece._replace(start=start, end=end))
    return CutText(pieces, cut.frames)


_PROSE = (ContentKind.TEXT, ContentKind.MARKDOWN, ContentKind.HTML)
_SAMPLE_CHARS = 4_096

_REACH = {
    ContentKind.CODE: 200,
    ContentKind.DIFF: 100,
    ContentKind.LOG: 100,
    ContentKind.JSON: 60,
    ContentKind.TABLE: 20,
}
"""Distance in tokens at which a mention counts e times less; rows and records hardly mention neighbours."""
_PROSE_REACH = 200
_FRAME = Piece._fields.index("frame")


@dataclass(frozen=True)
class PassageIndex:
    """The pieces of one artifact, and the pieces of each term.

    Attributes:
        kind: The kind found for the text.
        is_prose: True for running text by a narrator.
        text_chars: The length of the text.
        fingerprint: Fingerprint of samples, to tell the text from others.
        pieces: In the order of the text.
        tokens: The count of each piece.
        salience: Worth of each piece before any question, 0-255: of prose `narrative`, else `topical`.
        frames: Text needed to understand pieces.
        frame_tokens: The count of each frame.
        vocabulary: All terms, sorted.
        offsets: The start of each term's postings, and the end of the last.
        postings: For each term the first piece with the term, then the distances to the next pieces.
    """

    kind: ContentKind
    is_prose: bool
    text_chars: int
    fingerprint: bytes
    pieces: Sequence[Piece]
    tokens: Sequence[int]
    salience: Sequence[int]
    frames: Sequence[Frame]
    frame_tokens: Sequence[int]
    vocabulary: Sequence[str]
    offsets: Sequence[int]
    postings: Sequence[int]

    @classmethod
    def build(cls, text: str, kind: ContentKind) -> "PassageIndex":
        """Cut a text and index it; about a second for a million characters.

        Args:
            text: The whole text of an artifact.
            kind: The declared kind. Invalid JSON, for example, is read as text.

        Returns:
            The index; without pieces for a blank text.
        """
        cut, found = cut_text(text, kind)
        postings = find_postings(text, cut, found)
        vocabulary = sorted(postings)
        ordered = [postings[term] for term in vocabulary]
        shown = [text[piece.start : piece.end] for piece in cut.pieces]
        is_prose = found in _PROSE and not is_transcript(text)
        salience = narrative(ordered, shown) if is_prose else topical(ordered, len(shown))
        return cls(
            found,
            is_prose,
            len(text),
            fingerprint_of(text),
            cut.pieces,
            array("I", map(count_text, shown)),
            array("B", salience),
            cut.frames,
            array("I", (count_text(text[frame.start : frame.end]) for frame in cut.frames)),
            vocabulary,
            array("I", accumulate(map(len, ordered), initial=0)),
            array("I", (step for places in ordered for step in _steps(places))),
        )

    def to_bytes(self) -> bytes:
        """Write the index as bytes: an eighth to a third of its text."""
        return write_index([getattr(self, field.name) for field in fields(self)])

    @classmethod
    def from_bytes(cls, data: bytes) -> "PassageIndex":
        """Read bytes written by `to_bytes`, in milliseconds.

        Args:
            data: Any bytes.

        Returns:
            The index; its numbers are consistent with each other.

        Raises:
            BadIndexError: The bytes are something else, of another version, cut off or changed.
        """
        return cls(*read_index(data))

    def places(self, term: str) -> list[int]:
        """List the pieces with a term, in order; empty for an unknown term."""
        at = bisect_left(self.vocabulary, term)
        if at == len(self.vocabulary) or self.vocabulary[at] != term:
            return []
        found = list(accumulate(self.postings[self.offsets[at] : self.offsets[at + 1]]))
        return found if found[-1] < len(self.pieces) else []

    def frequency(self, term: str) -> int:
        """Count the pieces with a term."""
        at = bisect_left(self.vocabulary, term)
        if at == len(self.vocabulary) or self.vocabulary[at] != term:
            return 0
        return self.offsets[at + 1] - self.offsets[at]

    def beginning_with(self, letters: str, *, limit: int) -> list[str]:
        """List the first terms with a certain beginning, at most `limit`."""
        at = bisect_left(self.vocabulary, letters)
        found = self.vocabulary[at : at + limit]
        return [term for term in found if term.startswith(letters)]

    @cached_property
    def innermost(self) -> Sequence[int]:
        """The innermost frame of each piece; -1 for none."""
        if isinstance(self.pieces, Rows):
            return self.pieces.columns[_FRAME]
        return [piece.frame for piece in self.pieces]

    @cached_property
    def centres(self) -> list[float]:
        """Middles of all pieces; see `centres_of`."""
        return self.centres_of(range(len(self.pieces)))

    @cached_property
    def fades(self) -> list[float]:
        """How much of a mention is left at the next piece, for each piece but the last."""
        return fades_between(self.centres)

    def centres_of(self, near: Sequence[int]) -> list[float]:
        """Compute the middles of some pieces, ascending, on the scale of the ranking of conversations."""
        reach = _PROSE_REACH if self.is_prose else _REACH.get(self.kind, REACH_TOKENS)
        stretch = REACH_TOKENS / reach
        centres, start, before = [], 0.0, 0
        for place in near:
            start += sum(self.tokens[before:place]) * stretch
            centres.append(int(start) + max(int(self.tokens[place] * stretch), 1) / 2)
            before = place
        return centres

    def frames_of(self, piece: int) -> list[int]:
        """List the frames of a piece, the outermost first."""
        chain: list[int] = []
        at = self.innermost[piece]
        while at != NO_FRAME:
            chain.append(at)
            at = self.frames[at].parent
        return chain[::-1]

    def fits(self, text: str) -> bool:
        """Say whether the index belongs to a text."""
        return len(text) == self.text_chars and fingerprint_of(text) == self.fingerprint


def fingerprint_of(text: str) -> bytes:
    """Hash the length and three samples of a text, 16 bytes."""
    middle = max(len(text) // 2 - _SAMPLE_CHARS // 2, 0)
    samples = (text[:_SAMPLE_CHARS], text[middle : middle + _SAMPLE_CHARS], text[-_SAMPLE_CHARS:])
    joined = f"{len(text)}\0" + "\0".join(samples)
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _steps(places: Sequence[int]) -> Iterator[int]:
    before = 0
    for place in places:
        yield place - before
        before = place
