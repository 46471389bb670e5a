"""Features of an intent: its category and the words that a plan is found by, in several languages."""

# ruff: noqa: E501, RUF001, SIM905 - tables; the words are written in their languages' own letters

import hashlib
import math
import re
import unicodedata
from dataclasses import asdict, dataclass

from context.languages import LANGUAGES, by_language
from context.preflight.decide import classify
from context.preflight.types import Category
from context.text.cut import split_sentences
from context.text.language import detect_language
from context.text.terms import index_terms
from context.types import JsonObject

_ACTIONS = by_language(lambda one: one.actions)
_UNSPACED = {"han", "kana", "hangul"}

ACTIONS = frozenset(
    action
    for code, actions in _ACTIONS.items()
    if LANGUAGES[code].script not in _UNSPACED
    for action in actions.split("|")
)
"""First words of a request; case-folded."""

UNSPACED_ACTIONS = tuple(
    action
    for code, actions in _ACTIONS.items()
    if LANGUAGES[code].script in _UNSPACED
    for action in actions.split("|")
)
"""Action words of languages without blanks between words, or with the verb last."""

CONNECTORS = (
    r"(?:and |, )?(?:then|also|afterwards|after that|finally|next)\b|\band\b|\bplus\b|(?:und |, )?(?:dann|danach|anschließend|außerdem|zuletzt)\b|\bund\b"
    r"|(?:et |, )?(?:puis|ensuite|enfin|aussi)\b|\bet\b|(?:y |, )?(?:luego|después|también|finalmente)\b|\by\b|\be\b(?=\s)|(?:e )?(?:depois|poi|infine|inoltre|em seguida)\b"
    r"|\ben\b(?= )|\bdaarna\b|\boraz\b|\bpotem\b|\bnastępnie\b|\bи\b|\bзатем\b|\bпотом\b|\bтакже\b|ثم|(?<=\s)و(?=\w)|然后|然後|接着|接著|最后|最後に|并且|並且|再|そして|それから|次に|그리고|그다음|그런 다음"
)
"""Regular expression for connecting words between two requests."""

SOFTENERS = frozenset(
    "please kindly just can could would will you we i'd like to want need and then also now first second third finally next let's lets help me us so maybe "
    "bitte kannst du könntest ich möchte s'il te vous plaît peux tu pouvez je veux por favor puedes podrías quiero você pode quero per puoi vorrei graag kun je proszę możesz "
    "пожалуйста можешь можете мне من فضلك أريد".split()
)
"""Polite or leading words in front of an action word."""

ORDER_MARKS = (
    r"\b(?:then|after(?:wards)?|before|once|first|next|finally|dann|danach|zuerst|puis|ensuite|d'abord|luego|después|primero|depois|primeiro|poi|prima|eerst|daarna|potem|najpierw|затем|потом|сначала|после)\b"
    r"|然后|然後|接着|接著|首先|最后|まず|それから|次に|먼저|그다음|그런 다음|ثم|أولا"
)
CONDITION_MARKS = r"\b(?:if|unless|until|each|every|whenever|otherwise|wenn|falls|jede[rsn]?|sonst|si|chaque|sinon|cada|cuando|se|ogni|als|elke|jeśli|każd\w+|если|кажд\w+|иначе)\b|如果|每个|每個|每|もし|ごとに|만약|마다|إذا|كل"

CLAUSE_MARKS = r"[,;:](?=\s)|[、，；：\n]+|\s-\s"
"""Marks between clauses."""


READ_CHARS = 2_000
"""Characters at the start of an intent used to find the category."""


def category_of(intent: str) -> str:
    """Name the category of an intent.

    Args:
        intent: The user's request, in any language.

    Returns:
        The strongest category recognized by preflight, `complex` only without others; empty if none.
    """
    found = classify(intent[:READ_CHARS])
    known = sorted(found.categories, key=lambda one: (one is Category.COMPLEX, -found.scores.get(one, 0.0)))
    return str(known[0]) if known else ""


MOST_READ_CHARS = 20_000
"""Characters read of an intent; a longer intent is read at both ends, since pasted text stands in between."""

MOST_ASKS = 10

_SHORT_CHARS = 600
"""Longest intent, in characters, with every sentence read as a possible request."""
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
    """Features read from an intent without a model.

    Attributes:
        language: ISO 639-1 code, or "und".
        words: Words in the read part; pairs of characters in scripts without blanks.
        asks: Number of requests, 1 to `MOST_ASKS`; 0 for an intent without words.
        is_ordered: True if the intent gives an order of actions.
        is_conditional: True if the intent has a condition or a repetition.
        has_address: True if the intent contains a web address.
        complexity: Planning complexity, in [0, 1].
        category: Category from preflight; empty if not recognized.
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
        """Return the features as JSON for storage."""
        return asdict(self)


def normal_form(intent: str) -> str:
    """Normalize an intent: case, width, blanks and punctuation are removed.

    Args:
        intent: Any text.

    Returns:
        The case-folded words with single blanks between; all characters if the intent has no words.
    """
    folded = unicodedata.normalize("NFKC", intent).casefold()
    words = re.findall(r"\w+", folded)
    return " ".join(words) if words else " ".join(folded.split())


def intent_sha(intent: str) -> bytes:
    """Hash an intent's normal form with SHA-256, to find equal intents."""
    return hashlib.sha256(normal_form(intent).encode("utf-8", "surrogatepass")).digest()


def read_features(intent: str) -> IntentFeatures:
    """Read an intent's features.

    Args:
        intent: The user's request, of any length, in any language.

    Returns:
        The features; complexity grows with the number of requests, the length, an order and conditions.
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
    if len(intent) <= MOST_READ_CHARS:
        return intent
    return f"{intent[: READ_CHARS // 2]}\n{intent[-READ_CHARS // 2 :]}"


def split_asks(intent: str, *, actions: frozenset[str] = frozenset()) -> list[str]:
    """Split an intent into separate requests.

    A long intent is mostly pasted text. Only the first sentences, the last sentences, and sentences with the
    beginning of a request are read.

    Args:
        intent: The user's request.
        actions: Further action terms, in the form of `index_terms`.

    Returns:
        The requests in order, at most `MOST_ASKS`; the whole intent if no part stands out; empty without
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
    """Split a sentence into its requests; a clause without a request joins the request before."""
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
