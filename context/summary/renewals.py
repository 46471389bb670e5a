"""Standing orders replaced by later words: "always as PDF", and then "from now on as CSV"."""

import re

from context.summary.gist import ALWAYS, NEGATION
from context.text.marker_words import Cue, find_cues, is_question, marks_of
from context.text.terms import FILLERS, query_terms

_ANEW = re.compile(marks_of("anew"))
_ORDER = re.compile(marks_of("order"))
_MOST_CHARS = 400


def is_standing_order(sentence: str) -> bool:
    """Tell whether a sentence orders something for good, so that later words may replace it."""
    if is_question(sentence) or len(sentence) > _MOST_CHARS:
        return False
    folded = _fold(sentence)
    return not find_cues(sentence).isdisjoint({Cue.RULE, Cue.WISH}) or ALWAYS.search(folded) is not None


def speaks_anew(later: str, order: str) -> bool:
    """Tell whether later words begin something from now on, and name what a standing order names first.

    Args:
        later: A sentence said after the order.
        order: The order.
    """
    folded = _fold(later[:_MOST_CHARS])
    if is_question(later) or not _ANEW.search(folded):
        return False
    old = _subject(_fold(order[:_MOST_CHARS]))
    return bool(old) and old[0] in _subject(folded)


def renews(later: str, order: str) -> bool:
    """Tell whether later words say anew what a standing order says.

    A ban is never replaced: only words that lift it end it.

    Args:
        later: A sentence said after the order.
        order: The order.

    Returns:
        True if the words speak anew of the order's subject with little left out.
    """
    before = _fold(order[:_MOST_CHARS])
    if NEGATION.search(before) or not speaks_anew(later, order):
        return False
    old, new = _subject(before), _subject(_fold(later[:_MOST_CHARS]))
    left_out = [term for term in old if term not in new]
    return len(left_out) <= len(old) - len(left_out) and bool(set(new).difference(old))


def _subject(folded: str) -> list[str]:
    """List the terms of an order but for its verb, and words that make it an order."""
    plain = ALWAYS.sub(" ", _ORDER.sub(" ", _ANEW.sub(" ", folded)))
    return [term for term in query_terms(plain) if term not in FILLERS and (len(term) > 1 or term.isascii())]


def _fold(text: str) -> str:
    return text.casefold().replace("\u2019", "'")
