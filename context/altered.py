"""Changes between a point and the sentence repeated by the point: a lost or new "not", or a figure."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from context.figures import known_numbers, read_figures
from context.identifiers import normal
from context.sameness import NEGATION, gist
from context.sections import Section
from context.sentences import split_sentences
from context.source import Doubt, Said, support_of
from context.strange import has_unknown_noun
from context.words import index_terms, query_terms

_NEAR, _SAME = 0.6, 0.8
_FEW_WORDS = 3
_MOST_SENTENCES = 200
_DENIED_WORDS = 5
_OUTCOME = re.compile(r"\s->\s(?:ok|error|\?)")


def find_changes(said: Said) -> set[Doubt]:
    """Find the changes of a point against the sentence repeated by the point: a "not" or a figure."""
    words = frozenset(term for term in said.terms if not any(map(str.isdigit, term)))
    if len(words) < _FEW_WORDS or said.line.section is Section.IDENTIFIERS:
        return set()
    lines = support_of(said)
    sentences = [found for line in lines for found in _sentences(line.text)]
    near = [sentence for sentence, _ in sentences]
    scored = [(len(words & terms) / len(words), sentence) for sentence, terms in sentences]
    best = max((share for share, _ in scored), default=0.0)
    if best < _NEAR:
        return set()
    whole = "\n".join(line.text for line in lines)
    equals = [sentence for share, sentence in scored if share == best]
    found = [_changed_figures(said.plain, sentence, whole) for sentence in equals]
    if best >= _SAME and not _OUTCOME.search(said.plain):
        signs = [_changed_sign(said, words, sentence, near) for sentence in equals]
        found = [one | other for one, other in zip(found, signs, strict=True)]
    doubts = set.intersection(*found)
    return doubts | ({Doubt.NAME} if has_unknown_noun(said) else set())


@lru_cache(maxsize=2_048)
def _sentences(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple(
        (sentence, frozenset(index_terms(sentence))) for sentence in split_sentences(text)[:_MOST_SENTENCES]
    )


def _changed_figures(plain: str, sentence: str, whole: str) -> set[Doubt]:
    own, theirs, around = read_figures(plain), read_figures(sentence), read_figures(whole)
    known = known_numbers(whole)
    strange = any(not known & set(values) for values in own.numbers)
    is_other = strange and bool(theirs.numbers - own.numbers)
    is_other |= bool(own.days and theirs.days) and any(not date & around.days for date in own.dates)
    is_other |= bool(own.times and theirs.times) and not own.times & around.times
    return {Doubt.FIGURE} if is_other else set()


def _changed_sign(said: Said, words: frozenset[str], sentence: str, near: Sequence[str]) -> set[Doubt]:
    """Find a "not" lost or added; a point with only a part of a sentence may leave the "not" out."""
    theirs = [term for term in _plain_terms(sentence) if term]
    is_whole = len(words & frozenset(theirs)) >= _NEAR * len(theirs)
    denied, around = _denied(sentence), "\n".join(near)
    if is_whole and denied & frozenset(_plain_terms(said.plain)) - _denied_around(said.plain):
        return {Doubt.OPPOSITE}
    if _denied(said.plain) & frozenset(_plain_terms(around)) - _denied_around(around):
        return {Doubt.OPPOSITE}
    if denied or _denied(said.plain) or not is_whole:
        return set()
    is_new = gist(said.plain).negates and not any(gist(other).negates for other in near)
    is_gone = gist(sentence).negates and not gist(said.plain).negates
    return {Doubt.OPPOSITE} if is_new or is_gone else set()


def _plain_terms(text: str) -> list[str]:
    return [term for term in query_terms(text, limit=2_000) if not any(map(str.isdigit, term))]


def _denied(text: str) -> frozenset[str]:
    """List the first word of weight after each "not"."""
    return frozenset(term for after in _after_negations(text) for term in _plain_terms(after)[:1])


def _denied_around(text: str) -> frozenset[str]:
    """List the words of weight close after any "not"."""
    return frozenset(term for after in _after_negations(text) for term in _plain_terms(after))


def _after_negations(text: str) -> Iterator[str]:
    plain = normal(text)
    for found in NEGATION.finditer(plain):
        yield " ".join(re.split(r"[.!?;¦]", plain[found.end() :], maxsplit=1)[0].split()[:_DENIED_WORDS])
