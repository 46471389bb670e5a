"""Topics of a text without a model: headings, columns and keys, phrases."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from context.artifacts.types import ContentKind
from context.extract import PassageIndex
from context.focus import focus_key
from context.focus.words import ASKING, EVERY, GENERAL, SOME, little_words
from context.text.terms import fold_word, written_runs

MOST_CHARS = 200_000
"""Most characters of a text searched for phrases."""

MOST_TOPIC_CHARS = 80

_Words = tuple[str, ...]

_HEADED = frozenset({ContentKind.MARKDOWN, ContentKind.HTML})
_HEADING = re.compile(r"\s{0,3}#{1,6}\s++(.*+)\s*+\Z")
_DIVIDER = re.compile(r"[\t|;,]")
_ROOT_KEY = re.compile(r"\$(?:\[\d+\])?\.([A-Za-z_$][\w$-]*)")
_WORD_JOINT = re.compile(r"[_\-]+|(?<=[a-z])(?=[A-Z])")
_LONGEST_PHRASE = 3
_LEAST_USES = 3
_COMMONEST = 0.2
_SHORTEST_WORD = 3


def find_topics(text: str, index: PassageIndex, *, limit: int) -> list[str]:
    """Find the topics of a text, so that summaries for likely questions can be made ahead.

    Args:
        text: The whole text of an artifact.
        index: The text's index.
        limit: The most topics, >= 0.

    Returns:
        Topics in words, structural topics first, then the most frequent phrases; no two topics with the same
        focus.
    """
    named = [*_structure(text, index), *_phrases(text, index)] if limit else []
    found: dict[str, str] = {}
    for topic in named:
        words = " ".join(topic.split())[:MOST_TOPIC_CHARS]
        found.setdefault(focus_key(words), words)
        if len(found) > limit:
            break
    found.pop(focus_key(""), None)
    return list(found.values())[:limit]


def _structure(text: str, index: PassageIndex) -> Iterator[str]:
    if index.kind in _HEADED:
        yield from _headings(text, index)
    elif index.kind is ContentKind.TABLE and index.frames:
        header = text[index.frames[0].start : index.frames[0].end].partition("\n")[0]
        yield from (_spelled(cell.strip(" \"'")) for cell in _DIVIDER.split(header) if cell.strip(" \"'"))
    elif index.kind is ContentKind.JSON:
        keys = (found[1] for piece in index.pieces if (found := _ROOT_KEY.match(piece.path)))
        yield from map(_spelled, dict.fromkeys(keys))


def _headings(text: str, index: PassageIndex) -> Iterator[str]:
    for frame in index.frames:
        found = _HEADING.match(text[frame.start : frame.end])
        if found:
            yield found[1].rstrip().rstrip("#").rstrip()


def _spelled(name: str) -> str:
    """Write an identifier as words."""
    return _WORD_JOINT.sub(" ", name)


def _phrases(text: str, index: PassageIndex) -> list[str]:
    """List the runs of telling words used in several but not most passages, the most used first."""
    read = [text[piece.start : piece.end] for piece in index.pieces if piece.start < MOST_CHARS]
    used: Counter[_Words] = Counter()
    for passage in read:
        used.update(set(_runs(passage)))
    most = max(_COMMONEST * len(read), _LEAST_USES)
    kept = {words: count for words, count in used.items() if _LEAST_USES <= count <= most}
    ranked = sorted(kept, key=lambda words: (-kept[words] * len(words), words))
    return [" ".join(words) for words in _without_parts(ranked, kept)]


def _without_parts(ranked: Sequence[_Words], used: Mapping[_Words, int]) -> Iterator[_Words]:
    """Leave out runs nearly always inside a longer phrase."""
    whole: Counter[_Words] = Counter()
    for words in ranked:
        for part in _parts(words):
            whole[part] = max(whole[part], used[words])
    return (words for words in ranked if whole[words] * 2 <= used[words])


def _parts(words: _Words) -> Iterator[_Words]:
    for length in range(2, len(words)):
        for start in range(len(words) - length + 1):
            yield words[start : start + length]


def _runs(passage: str) -> Iterator[_Words]:
    """List all runs of two or three consecutive telling words within a sentence."""
    for stretch in _stretches(passage):
        for length in range(2, _LONGEST_PHRASE + 1):
            for start in range(len(stretch) - length + 1):
                yield tuple(stretch[start : start + length])


def _stretches(passage: str) -> Iterator[list[str]]:
    stretch: list[str] = []
    end = 0
    for found in written_runs(passage):
        word, gap = fold_word(found.group()), passage[end : found.start()]
        end = found.end()
        if stretch and gap.strip(" ") not in {"", "'", "\u2019"}:
            yield stretch
            stretch = []
        if _tells(word):
            stretch.append(word)
        elif stretch:
            yield stretch
            stretch = []
    yield stretch


_SAYS_LITTLE = little_words("en") | ASKING | GENERAL | EVERY | SOME | {"done"}


def _tells(word: str) -> bool:
    return len(word) >= _SHORTEST_WORD and word.isalpha() and word not in _SAYS_LITTLE
