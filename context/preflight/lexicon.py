"""Signs of a message's subject: words in the supported languages, and form."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from unicodedata import category

from context.languages import LANGUAGES, STOP_WORDS, by_language
from context.preflight.signs import (
    BRIEF_CHARS,
    MEDIA_FILES,
    PERSONAL_CHARS,
    SENTENCE_END,
    UNSPACED,
    WORD,
    Found,
    Lexicon,
    find_shape,
    fold,
)

READ_CHARS = 1_600
"""Characters read of a message; of a longer message the first three quarters, and a last quarter."""

_SIGNS = by_language(lambda one: one.signs)
_UNSPACED = {code: Lexicon(_SIGNS[code]) for code in ("zh", "ja", "ko")}
_LATIN = {
    code: Lexicon(signs)
    for code, signs in _SIGNS.items()
    if LANGUAGES[code].script == "latin" and code != "en"
}
_BASE = Lexicon(*(signs for code, signs in _SIGNS.items() if code not in {*_LATIN, *_UNSPACED}))
"""Words read in every text: English for technical words; other scripts share no letter with English."""
_KANA = range(0x3041, 0x3100)
_HANGUL = range(0xAC00, 0xD7B0)
_NEAR = 0.75
_VOTING_WORDS = 120
_FEW_WORDS = 8

LITTLE_WORDS = frozenset(fold(word) for code in _SIGNS for word in STOP_WORDS.get(code, ()))
"""Words without information about a message's subject."""

COMMANDS = frozenset((LANGUAGES["en"].actions or "").split("|"))
"""Words that begin an order."""
_OBJECTS = frozenset({"me", "us", "it", "them"})
_FAR = 25
"""Words between the commands of one sentence: "find the five best ones and tell me the links"."""

_FIRST = frozenset({"first", "start", "begin"})
_THEN = frozenset({"then", "afterwards", "second", "next", "finally"})

_LEADS = frozenset({"please", "then", "now", "also", "and", "so"})
_OWN = frozenset({"i", "i'm", "i've", "i'd", "we", "we're", "we've", "my", "our"})
_ASKING = frozenset(
    {"can you", "could you", "would you", "will you", "i need", "i want", "we need", "help me"}
)
_SITUATION_WORDS = 4

_VOTING = ("en", *_LATIN)
_STOPS = {code: frozenset(map(fold, STOP_WORDS[code])) for code in _VOTING}
_VOTES: dict[str, tuple[tuple[str, float], ...]] = {
    word: tuple((code, 1 / len(codes)) for code in codes)
    for word in set().union(*_STOPS.values())
    if (codes := [code for code in _VOTING if word in _STOPS[code]])
}
"""Languages indicated by a little word, with strengths."""


@dataclass(frozen=True)
class Signs:
    """Signs found in a message.

    Attributes:
        found: By sign, the different words or forms behind the sign.
        words: The folded words, in order, without words of scripts without blanks.
        runs: The stretches in scripts without blanks.
        chars: The length in characters; a letter of a dense script counts for two.
    """

    found: Found = field(default_factory=dict)
    words: Sequence[str] = ()
    runs: Sequence[str] = ()
    chars: int = 0

    def has(self, *names: str) -> bool:
        """Say whether any of the named signs was found."""
        return not self.found.keys().isdisjoint(names)


def find_signs(text: str, *, attachments: Sequence[str] = (), own: Lexicon | None = None) -> Signs:
    """Find the signs of a message's subject; the time is linear, and bounded, in its length.

    Args:
        text: The message, in any script.
        attachments: The media type or the name of each attachment.
        own: A tenant's further words.
    """
    read = text if len(text) <= READ_CHARS else f"{text[: READ_CHARS * 3 // 4]}\n{text[-READ_CHARS // 4 :]}"
    folded, runs = fold(read), list[str]()
    if not folded.isascii() and (runs := UNSPACED.findall(folded)):
        folded = UNSPACED.sub(" ", folded)
    words = WORD.findall(folded)
    found: Found = {}
    _find_words(words, runs, found)
    if own is not None:
        own.find(words, found)
        own.find_in_runs(runs, found)
    chars = len(text) + sum(map(len, runs))
    find_shape(read, chars=chars, found=found)
    if _are_a_task([said for part in SENTENCE_END.split(folded) if (said := WORD.findall(part))]):
        found.setdefault("shape.sentences", set()).add("2")
    for attached in attachments:
        found.setdefault(_kind_of(attached.lower()), set()).add(attached)
    if not words and not runs and text.strip():
        found.setdefault("shape.wordless" if _has_picture(text) else "shape.unspoken", set()).add(text[:1])
    elif len(words) + len(runs) == 1:
        found.setdefault("shape.single", set()).add("1")
    return combined(Signs(found, words, runs, chars))


def _has_picture(text: str) -> bool:
    """Say whether a message without words has an emoji or a symbol, not a dot or a broken character."""
    return any(category(char).startswith("S") and char != "\ufffd" for char in text[:READ_CHARS])


def _find_words(words: list[str], runs: list[str], found: Found) -> None:
    _BASE.find(words, found)
    for lexicon in _languages_of(words):
        lexicon.find(words, found)
    if not runs:
        return
    letters = set().union(*runs)
    if any(ord(letter) in _HANGUL for letter in letters):
        _UNSPACED["ko"].find_in_runs(runs, found)
    is_japanese = any(ord(letter) in _KANA for letter in letters)
    _UNSPACED["ja" if is_japanese else "zh"].find_in_runs(runs, found)


def _languages_of(words: list[str]) -> list[Lexicon]:
    """Return the other languages in Latin letters indicated by a text's little words."""
    votes: dict[str, float] = {}
    for word in words[:_VOTING_WORDS]:
        if word in _VOTES:
            for code, vote in _VOTES[word]:
                votes[code] = votes.get(code, 0.0) + vote
    english, most = votes.get("en", 0.0), max(votes.values(), default=0.0)
    if most and english >= most:
        return []
    if not english and (len(words) <= _FEW_WORDS or not most):
        return list(_LATIN.values())
    return [lexicon for code, lexicon in _LATIN.items() if votes.get(code, 0.0) >= most * _NEAR]


def _kind_of(attached: str) -> str:
    """Return the sign of a media type or a file name."""
    is_media = attached.startswith(("image", "audio", "video"))
    return "attached.media" if is_media or attached.rpartition(".")[2] in MEDIA_FILES else "attached.document"


def _is_in_order(words: Sequence[str]) -> bool:
    """Say whether a first step and a later step are named."""
    first = next((at for at, word in enumerate(words) if word in _FIRST), len(words))
    if not _THEN.isdisjoint(words[first + 2 :]):
        return True
    return any(
        words[at] == "and"
        and words[at + 1] in COMMANDS
        and words[at + 2] in _OBJECTS
        and not COMMANDS.isdisjoint(words[max(at - _FAR, 0) : at - 1])
        for at in range(2, len(words) - 2)
    )


def _are_a_task(sentences: Sequence[list[str]]) -> bool:
    """Say whether two sentences give two orders, or tell of one's situation and ask something of it."""
    orders = [_is_order(words) for words in sentences]
    if sum(orders) > 1:
        return True
    told = next(
        (at for at, words in enumerate(sentences) if words[0] in _OWN and len(words) >= _SITUATION_WORDS),
        len(sentences),
    )
    return any(
        orders[at] or " ".join(words[:2]) in _ASKING for at, words in enumerate(sentences) if at > told
    )


def _is_order(words: Sequence[str]) -> bool:
    first = next((word for word in words if word not in _LEADS), "")
    return words[0] == "please" or first in COMMANDS


def _asks_if_up(words: Sequence[str]) -> bool:
    """Say whether a short question asks if something is up or down."""
    if not words or len(words) > _FEW_WORDS:
        return False
    return words[0] in {"is", "are"} and words[-1] in {"up", "down", "online", "offline", "running"}


def _may_be_stored(signs: Signs) -> bool:
    """Say whether a question may be about stored notes: about known people and things."""
    if signs.has("mem.i", "mem.mine", "mem.when", "mem.past", "mem.they", "mem.affairs"):
        return True
    return signs.has("ask.certain") and not signs.has("ask.topic")


def combined(signs: Signs) -> Signs:
    """Add the signs made of several other signs. Returns the same object."""
    found = signs.found
    asks = signs.has("ask.what", "shape.question")
    for name, holds in (
        ("both.my_question", asks and signs.has("mem.mine")),
        (
            "both.own_question",
            asks
            and signs.has("mem.i")
            and not signs.has("mem.mine", "ask.generic")
            and signs.chars < PERSONAL_CHARS,
        ),
        ("both.affair_question", asks and signs.has("mem.affairs")),
        ("both.you_question", signs.has("you.asked") and signs.chars < BRIEF_CHARS),
        ("both.stored_question", asks and _may_be_stored(signs)),
        ("both.make_media", signs.has("media.act", "media.cue") and signs.has("media.thing")),
        ("both.first_then", _is_in_order(signs.words)),
        ("both.is_up", _asks_if_up(signs.words)),
        ("both.want_more", signs.has("plan.want") and signs.has("plan.also")),
    ):
        if holds:
            found[name] = {"1"}
    return signs
