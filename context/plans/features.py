"""Read an intent: its language, how many things it asks for, and how much planning they need."""

import hashlib
import math
import re
import unicodedata
from dataclasses import asdict, dataclass

from context.language import detect_language
from context.plans.category import category_of
from context.plans.verbs import (
    ACTIONS,
    CLAUSE_MARKS,
    CONDITION_MARKS,
    CONNECTORS,
    ORDER_MARKS,
    SOFTENERS,
    UNSPACED_ACTIONS,
)
from context.sentences import split_sentences
from context.types import JsonObject
from context.words import index_terms

READ_CHARS = 20_000
"""A longer intent is read at its beginning and its end: what lies between is pasted."""

MOST_ASKS = 10

_SHORT_CHARS = 600
"""An intent up to this length asks with all of its words."""
_MOST_ASK_CHARS = 400
_EDGE_SENTENCES = 2
_BREAK = re.compile(rf"{CLAUSE_MARKS}|(?:{CONNECTORS})", re.IGNORECASE)
_WORD = re.compile(r"\w[\w'\u2019-]*")
_ORDER = re.compile(ORDER_MARKS, re.IGNORECASE)
_CONDITION = re.compile(CONDITION_MARKS, re.IGNORECASE)
_ADDRESS = re.compile(r"https?://|www\.", re.IGNORECASE)
_LONG_WORDS = 200
_MOST_SOFTENERS = 6

_ASK_SHARE, _LENGTH_SHARE, _ORDER_SHARE, _CONDITION_SHARE = 0.15, 0.2, 0.1, 0.1
_ASKS_THAT_COUNT = 5


@dataclass(frozen=True)
class IntentFeatures:
    """What is read of an intent without a model.

    Attributes:
        language: ISO 639-1 code, or "und".
        words: Words, or pairs of characters where they are not told apart, up to what is read.
        asks: How many things it asks for, 1 to `MOST_ASKS`; 0 for an intent without words.
        is_ordered: Whether it says what comes first.
        is_conditional: Whether it depends on something, or repeats.
        has_address: Whether it holds a web address.
        complexity: How much planning it needs, in [0, 1].
        category: What it is about, as preflight names it; empty where that is not recognized.
    """

    language: str
    words: int
    asks: int
    is_ordered: bool
    is_conditional: bool
    has_address: bool
    complexity: float
    category: str = ""

    def as_json(self) -> JsonObject:
        """The features as they are stored."""
        return asdict(self)


def normal_form(intent: str) -> str:
    """Write an intent so that spelling alone does not make it another: case, width, blanks and marks go.

    Args:
        intent: Any text.

    Returns:
        Its words, case-folded, one blank between them; all marks where it has no words.
    """
    folded = unicodedata.normalize("NFKC", intent).casefold()
    words = re.findall(r"\w+", folded)
    return " ".join(words) if words else " ".join(folded.split())


def intent_sha(intent: str) -> bytes:
    """The SHA-256 of an intent's normal form: equal intents are found by it."""
    return hashlib.sha256(normal_form(intent).encode("utf-8", "surrogatepass")).digest()


def read_features(intent: str) -> IntentFeatures:
    """Read an intent's features.

    Args:
        intent: What a user wants, of any length, in any language.

    Returns:
        The features; complexity grows with the things asked for, the length, order and conditions.
    """
    text = _read(intent)
    words = len(index_terms(text))
    asks = len(split_asks(text))
    ordered, conditional = _ORDER.search(text) is not None, _CONDITION.search(text) is not None
    return IntentFeatures(
        language=detect_language(text),
        words=words,
        asks=asks,
        is_ordered=ordered,
        is_conditional=conditional,
        has_address=_ADDRESS.search(text) is not None,
        complexity=_complexity(words, asks, ordered=ordered, conditional=conditional),
        category=category_of(text),
    )


def _complexity(words: int, asks: int, *, ordered: bool, conditional: bool) -> float:
    of_asks = _ASK_SHARE * min(max(asks - 1, 0), _ASKS_THAT_COUNT - 1)
    of_length = _LENGTH_SHARE * min(1.0, math.log1p(words) / math.log1p(_LONG_WORDS))
    return round(min(1.0, of_asks + of_length + _ORDER_SHARE * ordered + _CONDITION_SHARE * conditional), 3)


def _read(intent: str) -> str:
    if len(intent) <= READ_CHARS:
        return intent
    return f"{intent[: READ_CHARS // 2]}\n{intent[-READ_CHARS // 2 :]}"


def split_asks(intent: str, *, actions: frozenset[str] = frozenset()) -> list[str]:
    """Split an intent into the things that it asks for.

    Of a long intent most is pasted: it asks with its first and last sentences, and with those that begin
    like a request.

    Args:
        intent: What a user wants.
        actions: Further terms, as `index_terms` writes them, of words that ask for something to be done.

    Returns:
        The parts that ask, in order, at most `MOST_ASKS`; the whole where no part stands out; none without
        words.
    """
    text = _read(intent).strip()
    if not _WORD.search(text):
        return []
    asks = [part for sentence in _asking_sentences(text, actions) for part in _parts(sentence, actions)]
    return asks[:MOST_ASKS] or [text]


def _asking_sentences(text: str, actions: frozenset[str]) -> list[str]:
    sentences = split_sentences(text) or [text]
    if len(text) <= _SHORT_CHARS:
        return sentences
    last = len(sentences) - _EDGE_SENTENCES
    return [
        sentence
        for place, sentence in enumerate(sentences)
        if len(sentence) <= _MOST_ASK_CHARS and (place == 0 or place >= last or _asks(sentence, actions))
    ]


def _parts(sentence: str, actions: frozenset[str]) -> list[str]:
    """The clauses that ask; what follows one and does not ask itself belongs to it."""
    parts: list[str] = []
    start = 0
    bounds = [(match.start(), match.end()) for match in _BREAK.finditer(sentence)]
    for end, following in [*bounds, (len(sentence), len(sentence))]:
        clause = sentence[start:end].strip()
        if clause and _asks(clause, actions):
            parts.append(clause)
        elif clause and parts:
            parts[-1] = f"{parts[-1]} {clause}"
        start = following
    return parts


def _asks(clause: str, actions: frozenset[str]) -> bool:
    if any(action in clause for action in UNSPACED_ACTIONS):
        return True
    for word in _WORD.findall(clause[:_MOST_ASK_CHARS])[: _MOST_SOFTENERS + 1]:
        folded = word.casefold()
        if folded in ACTIONS or (actions and not actions.isdisjoint(index_terms(folded))):
            return True
        if folded not in SOFTENERS:
            return False
    return False
