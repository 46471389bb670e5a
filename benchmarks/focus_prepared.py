"""Designs of summaries prepared ahead of use: what they prepare, and what they show for a read.

A scripted summarizer stands for the model: a summary is an extract for the focus of its wish.
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate

from benchmarks.focus_data import Mined, Text
from benchmarks.focus_reads import Read, Shown, Span, cut_out
from context.extract import PassageIndex, extract
from context.extract.choose import rank_pieces
from context.focus import Focus, nearest, normalise
from context.focus.similarity import similarity
from context.precompute.predict import PROMPT_TOKENS, find_topics, predict_focuses
from context.text.terms import index_terms

SUMMARY_TOKENS, INPUT_TOKENS, FOCUSES = 500, 24_000, 4
MOST_SEGMENTS, SEGMENT_SHARE, AROUND = 4, 0.15, 8


@dataclass(frozen=True)
class Answer:
    """What a design shows for a read.

    Attributes:
        how: `exact`, `near` or `other`.
        shown: The text with prepared words; None where today's extract answers.
    """

    how: str
    shown: Shown | None = None

    @property
    def is_hit(self) -> bool:
        """True if a prepared summary answers the read."""
        return self.how in {"exact", "near"}


@dataclass
class Design:
    """Summaries prepared by an artifact's predicted foci, found by likeness of two questions (today's).

    Attributes:
        mined: Questions that several sessions of the other half asked.
        limit: Most predictions for an artifact, the general focus among them.
        asked: True to prepare each question for which an artifact was read, after the read.
        fills: True to show the nearest summary whatever its likeness, and an extract in the rest of the room.
        made: Number of summaries.
        tokens: Tokens of the summarizer, in and out.
    """

    mined: Mined
    limit: int = FOCUSES
    asked: bool = False
    fills: bool = False
    made: int = 0
    tokens: int = 0
    ready: dict[str, dict[Focus, Shown]] = field(default_factory=lambda: defaultdict(dict))
    seen: set[str] = field(default_factory=set)

    def read(self, read: Read) -> Answer:
        """Show an artifact for a read, and prepare what the design prepares."""
        if read.text.artifact_id not in self.seen:
            self.seen.add(read.text.artifact_id)
            self.come(read)
        answer = self.answer(read)
        if self.asked and answer.how != "exact":
            self._make(read.text, read.focus)
        return answer

    def come(self, read: Read) -> None:
        """Prepare an artifact that came in."""
        text, mined = read.text, self.mined.get((1 - read.half, read.text.tool), ())
        topics = [] if mined and self.asked else find_topics(text.content, text.index, limit=self.limit)
        for one in predict_focuses(question=read.came_for, mined=mined, topics=topics, limit=self.limit):
            self._make(text, normalise(one.text))

    def answer(self, read: Read) -> Answer:
        """Choose what is shown."""
        ready = self.ready[read.text.artifact_id]
        best = nearest(read.focus, ready)
        if best and not self.fills:
            return Answer("exact" if best[1] == 1 else "near", ready[best[0]])
        if not self.fills or not ready:
            return Answer("other")
        alike = max(ready, key=lambda focus: similarity(read.focus, focus))
        how = ("exact" if best[1] == 1 else "near") if best else "other"
        return Answer(how, filled(read, ready[alike]))

    def _make(self, text: Text, focus: Focus) -> None:
        ready = self.ready[text.artifact_id]
        if any(focus.key == known.key for known in ready):
            return
        summary = cut_out(text, focus.original, min(SUMMARY_TOKENS, text.tokens // 3))
        if not summary.spans:
            summary = cut_out(text, "", min(SUMMARY_TOKENS, text.tokens // 3))
        ready[focus] = replace(summary, sources=((0, len(text.content)),))
        self.pay(min(text.tokens, INPUT_TOKENS), summary.tokens)

    def pay(self, read: int, written: int) -> None:
        """Count a call of the summarizer."""
        self.made += 1
        self.tokens += read + PROMPT_TOKENS + written


def filled(read: Read, summary: Shown) -> Shown:
    """Show a summary, and an extract in the rest of the room."""
    rest = cut_out(read.text, read.question, max(read.most_tokens - summary.tokens, 1))
    return Shown(
        f"{summary.text}\n{rest.text}",
        merged((*summary.spans, *rest.spans)),
        summary.tokens + rest.tokens,
        merged((*summary.sources, *rest.spans)),
    )


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Join stretches that overlap, so that nothing counts twice."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


@dataclass(frozen=True)
class Segment:
    """A stretch of an artifact on one topic, with its summary."""

    span: Span
    terms: frozenset[str]
    summary: Shown


@cache
def segments_of(text: Text, size: int) -> tuple[Segment, ...]:
    """Cut an artifact where its words change most, and summarize each segment."""
    pieces, index = text.index.pieces, text.index
    borders = find_borders(text, size)
    found = []
    for first, last in zip([0, *borders], [*borders, len(pieces)], strict=True):
        start, end = pieces[first].start, pieces[last - 1].end
        content = text.content[start:end]
        own = PassageIndex.build(content, index.kind)
        budget = max(int(sum(index.tokens[first:last]) * SEGMENT_SHARE), 40)
        made = extract(content, own, "", budget_tokens=budget)
        spans = tuple((start + place.start, start + place.end) for place in made.places)
        summary = Shown(made.text, spans, made.tokens, ((start, end),))
        found.append(Segment((start, end), frozenset(own.vocabulary), summary))
    return tuple(found)


def find_borders(text: Text, size: int) -> list[int]:
    """Find pieces that begin a segment: where the words before and behind have least in common."""
    starts = list(accumulate(text.index.tokens, initial=0))
    cohesion = cohesion_of(text)
    wanted = max(round(starts[-1] / size), 1) - 1
    borders: list[int] = []
    for at in sorted(range(1, len(cohesion)), key=cohesion.__getitem__):
        if len(borders) == wanted:
            break
        if all(abs(starts[at] - starts[other]) >= size // 2 for other in (*borders, 0, len(cohesion))):
            borders.insert(bisect_left(borders, at), at)
    return borders


@cache
def cohesion_of(text: Text) -> Sequence[float]:
    """Measure the words shared before and behind the beginning of each piece (cosine of 8 pieces each)."""
    bags = [Counter(index_terms(text.content[piece.start : piece.end])) for piece in text.index.pieces]
    found = []
    for at in range(len(bags)):
        before, behind = Counter[str](), Counter[str]()
        for bag in bags[max(at - AROUND, 0) : at]:
            before.update(bag)
        for bag in bags[at : at + AROUND]:
            behind.update(bag)
        shared = sum(count * behind[term] for term, count in before.items())
        length = math.prod(math.hypot(*bag.values()) for bag in (before, behind))
        found.append(shared / length if length else 0.0)
    return found


@dataclass
class Segments(Design):
    """Summaries by topic segment, chosen by the share of the question that they cover.

    Attributes:
        size: Tokens of a segment.
        covered: Least share of the question's weight in the chosen segments, for a hit.
    """

    size: int = 1_000
    covered: float = 0.7

    def come(self, read: Read) -> None:
        """Summarize every segment."""
        for segment in segments_of(read.text, self.size):
            self.pay(math.ceil(segment.summary.tokens / SEGMENT_SHARE), segment.summary.tokens)

    def answer(self, read: Read) -> Answer:
        """Show the summaries of the segments that together cover most of the question."""
        chosen, share = self._choose(read)
        if share < self.covered or not chosen:
            return Answer("other")
        chosen.sort(key=lambda segment: segment.span)
        shown = Shown(
            "\n".join(segment.summary.text for segment in chosen),
            merged(span for segment in chosen for span in segment.summary.spans),
            sum(segment.summary.tokens for segment in chosen),
            merged(segment.span for segment in chosen),
        )
        return Answer("near", filled(read, shown) if self.fills else shown)

    def _choose(self, read: Read) -> tuple[list[Segment], float]:
        ranking = rank_pieces(read.text.index, read.question)
        weights, pieces = ranking.weights, read.text.index.pieces
        segments = segments_of(read.text, self.size)
        starts = [segment.span[0] for segment in segments]
        score: dict[int, float] = defaultdict(float)
        for piece, value in ranking.scores.items():
            score[max(bisect_left(starts, pieces[piece].start + 1) - 1, 0)] += value**2
        chosen: list[Segment] = []
        left, used = dict(weights), 0
        for place in sorted(score, key=score.__getitem__, reverse=True):
            segment = segments[place]
            if len(chosen) == MOST_SEGMENTS or used + segment.summary.tokens > SUMMARY_TOKENS:
                break
            chosen.append(segment)
            used += segment.summary.tokens
            left = {term: weight for term, weight in left.items() if term not in segment.terms}
        return chosen, 1 - sum(left.values()) if weights else 0.0
