"""Prediction of an artifact's next questions, from past questions and from topics of the text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from context.artifacts.types import ContentKind
from context.extract import PassageIndex
from context.focus import Focus, focus_key, normalise
from context.focus.reading import ASKING, EVERY, GENERAL, SOME, little_words
from context.summary.sections import Section, SummaryDocument
from context.text.terms import fold_word, query_terms, written_runs

MAX_FOCUS_CHARS = 1_000
OPEN_POINTS = 2
PROMPT_TOKENS = 300
"""Approximate tokens of a summarizer's instructions."""


class FocusOrigin(StrEnum):
    """Source of a predicted focus; stored, so renaming a value strands its rows."""

    ASKED = "asked"
    REQUEST = "request"
    TURN = "turn"
    MINED = "mined"
    OPEN_WORK = "open_work"
    GENERAL = "general"
    TOPIC = "topic"

    @property
    def stored(self) -> str:
        """Name of the source in a row: predictions from the text itself are a single kind."""
        return FocusOrigin.GENERAL.value if self is FocusOrigin.TOPIC else self.value


READS = 1.0
"""Later requests reading an artifact for a focus shared by all similar artifacts."""

HITS = {
    FocusOrigin.TURN: 0.03,
    FocusOrigin.REQUEST: 1.3,
    FocusOrigin.GENERAL: 0.02,
    FocusOrigin.OPEN_WORK: 0.03,
    FocusOrigin.TOPIC: 0.01,
}
"""Expected requests answered by a summary, by source of its focus, before any counts of a tenant.

Measured end to end on whole conversations: summaries for turns and for general readers were almost never
shown; a summary missed by an agent's step is requested again by further steps. An explicitly requested focus
needs no guess.
"""

_BEARING_SHARE = 0.5

REPEATED = 0.02
"""Expected requests for an answered question of a conversation without tools: hardly ever repeated."""


@dataclass(frozen=True)
class Prediction:
    """A focus with a possible later request.

    Attributes:
        text: The focus in words; empty for the general focus.
        origin: Source of the prediction.
        hits: Expected requests answered by a summary, > 0.
    """

    text: str
    origin: FocusOrigin
    hits: float


@dataclass(frozen=True)
class ReadingCost:
    """Cost of a summary.

    Attributes:
        artifact_tokens: Tokens of the whole artifact, >= 0.
        summary_tokens: The most tokens of the summary, >= 0.
        input_tokens: Tokens of the artifact read by the summarizer, >= 0.
    """

    artifact_tokens: int
    summary_tokens: int
    input_tokens: int

    @property
    def made_with(self) -> int:
        """All tokens of the summarizer's call."""
        return self.input_tokens + PROMPT_TOKENS + self.summary_tokens


def predict_focuses(
    *,
    question: str = "",
    open_work: Sequence[str] = (),
    mined: Sequence[tuple[str, float]] = (),
    topics: Sequence[str] = (),
    limit: int = 4,
) -> list[Prediction]:
    """Predict the focuses worth a summary ahead of use.

    Args:
        question: The user's question in the artifact's turn.
        open_work: Open points of the session's summary relevant to the artifact.
        mined: Earlier focuses after the same tool, each with its share of the uses, in (0, 1].
        topics: Topics of the text itself, the most telling first.
        limit: The most predictions, >= 1.

    Returns:
        Predictions by hits, without equal keys, with the general focus always last.
    """
    guesses = [_guess(question, FocusOrigin.TURN, HITS[FocusOrigin.TURN])]
    guesses += [_guess(text, FocusOrigin.MINED, share * READS) for text, share in mined]
    for origin, texts in ((FocusOrigin.OPEN_WORK, open_work[:OPEN_POINTS]), (FocusOrigin.TOPIC, topics)):
        guesses += [_guess(text, origin, HITS[origin]) for text in texts]
    general = Prediction("", FocusOrigin.GENERAL, HITS[FocusOrigin.GENERAL])
    named = _distinct((guess for guess in guesses if guess.text), taken={_asked(normalise(""))})
    named.sort(key=lambda guess: -guess.hits)
    return [*named[: max(limit - 1, 0)], general]


def bears_on(point: str, vocabulary: AbstractSet[str]) -> bool:
    """Tell whether an artifact is relevant to a point of open work.

    Args:
        point: The open point.
        vocabulary: The terms of the artifact.

    Returns:
        True if the artifact has at least half of the point's words.
    """
    terms = query_terms(point)
    return bool(terms) and sum(term in vocabulary for term in terms) >= _BEARING_SHARE * len(terms)


def open_points(summary: str) -> list[str]:
    """List the open points of a session's summary, in order."""
    return SummaryDocument(summary).items(Section.OPEN)


def _guess(text: str, origin: FocusOrigin, hits: float) -> Prediction:
    return Prediction(" ".join(text.split())[:MAX_FOCUS_CHARS], origin, hits)


_Asked: TypeAlias = tuple[tuple[str, ...], frozenset[str]]


def _asked(focus: Focus) -> _Asked:
    return focus.terms, focus.marks


def _distinct(guesses: Iterable[Prediction], *, taken: AbstractSet[_Asked]) -> list[Prediction]:
    """Keep the first of equal focuses, with the highest hits of all.

    The same words in another order are dropped too, since the summary of the first is near enough.
    """
    best: dict[_Asked, Prediction] = {}
    for guess in guesses:
        key = _asked(normalise(guess.text))
        if key not in taken:
            known = best.get(key, guess)
            best[key] = replace(known, hits=max(known.hits, guess.hits))
    return list(best.values())


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
