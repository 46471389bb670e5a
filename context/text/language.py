"""Language of a text, or the answer "unknown"."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import fsum

from context.languages import LANGUAGES, STOP_WORDS

UNKNOWN = "und"
"""The ISO 639-2 code for an undetermined language."""

_FAMILIES = (
    "zh yue cmn wuu",
    "da no nb nn sv",
    "sr hr bs sh me",
    "id ms",
    "pt gl",
    "cs sk",
    "fa prs tg",
    "he iw",
    "hi mr ne",
    "tl fil",
    "bn as",
)
_SCRIPTS = {
    "han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "kana": "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "latin": "A-Za-z\u00c0-\u024f\u1e00-\u1eff",
    "cyrillic": "\u0400-\u052f",
    "arabic": "\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f",
    "hebrew": "\u05d0-\u05ea",
    "devanagari": "\u0904-\u0939\u0958-\u0961\u0970-\u097f",
    "greek": "\u0370-\u03ff",
    "thai": "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46",
    "armenian": "\u0531-\u0556\u0561-\u0587",
    "bengali": "\u0985-\u09b9\u09dc-\u09e1\u09f0\u09f1",
    "gurmukhi": "\u0a05-\u0a39\u0a59-\u0a5e",
    "gujarati": "\u0a85-\u0ab9",
    "tamil": "\u0b83-\u0bb9",
    "telugu": "\u0c05-\u0c39",
    "kannada": "\u0c85-\u0cb9",
    "malayalam": "\u0d05-\u0d3a",
    "sinhala": "\u0d85-\u0dc6",
    "lao": "\u0e81-\u0eb0",
    "burmese": "\u1000-\u102a",
    "georgian": "\u10a0-\u10ff",
    "ethiopic": "\u1200-\u135a",
    "khmer": "\u1780-\u17b3",
}
_LETTERS = {script: re.compile(f"[{ranges}]") for script, ranges in _SCRIPTS.items()}
_NO_LETTERS: dict[str, list[str]] = {script: [] for script in _LETTERS}
_DENSE = 3
"""A letter of a syllabic script says about as much as three of an alphabet."""
_WEIGHTS = {"han": _DENSE, "kana": _DENSE, "hangul": _DENSE}
_ALONE = {
    "greek": ("el", "Greek"),
    "thai": ("th", "Thai"),
    "armenian": ("hy", "Armenian"),
    "bengali": ("bn", "Bengali"),
    "gurmukhi": ("pa", "Punjabi"),
    "gujarati": ("gu", "Gujarati"),
    "tamil": ("ta", "Tamil"),
    "telugu": ("te", "Telugu"),
    "kannada": ("kn", "Kannada"),
    "malayalam": ("ml", "Malayalam"),
    "sinhala": ("si", "Sinhala"),
    "lao": ("lo", "Lao"),
    "burmese": ("my", "Burmese"),
    "georgian": ("ka", "Georgian"),
    "ethiopic": ("am", "Amharic"),
    "khmer": ("km", "Khmer"),
}
"""Languages known by their script alone, without words."""
_NAMES = {one.code: one.name for one in LANGUAGES.values()} | dict(_ALONE.values())
NAMED_LANGUAGES = frozenset(_NAMES)
"""Codes of the languages with a name."""

_OF_SCRIPT = {
    script: tuple(code for code, one in LANGUAGES.items() if one.script == script)
    for script in {one.script for one in LANGUAGES.values()}
}
_TELLING = {code: frozenset(one.telling_letters or "") for code, one in LANGUAGES.items()}
_OWN_CYRILLIC = {"ru": "ыэё", "uk": "їєґ", "be": "ў", "sr": "ђћџјљњ"}
_KANA_SHARE = 0.08
_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|www\.\S+|<[^<>\n]{1,80}>", re.DOTALL)
_RUN = re.compile("[^\\s\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\u300c-\u300f]+")
"""A run of characters without a space; in scripts without spaces, up to the next mark."""
_TECHNICAL = re.compile(r"[\\/_@#{}=$|~^*+<>\d]|\w[.:]\w|[a-z][A-Z]|\A\W*[A-Z]{2,}\W*\Z")
"""Signs of an identifier, a path or a number; one look at each character of a run of any length."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_MAX_CHARS = 20_000
_MIN_LETTERS = 6
_MIN_HITS = 2
_MIN_DENSITY = 0.08
_MIN_LEAD = 1.25
_NEARLY = 2.0
"""Factor of hits within which a language of a few words may be the right one."""
_MAIN_SHARE = 0.55
_HALF = 0.5


def detect_language(text: str) -> str:
    """Name the language of a text.

    Args:
        text: Any text; code, paths, URLs and identifiers do not count.

    Returns:
        An ISO 639-1 code, or "und" for text too short, too mixed or without prose.
    """
    shares = language_shares(text)
    if not shares:
        return UNKNOWN
    best = max(shares, key=lambda code: (shares[code], code))
    return best if shares[best] >= _MAIN_SHARE else UNKNOWN


def language_shares(text: str) -> dict[str, float]:
    """Return the share of each language in a text's prose.

    Args:
        text: Any text; the first 20,000 characters count.

    Returns:
        Shares in (0, 1] with sum 1, text of no known language under "und"; empty for text without prose.
    """
    prose = _prose(text)
    letters = {
        script: len(found) * _WEIGHTS.get(script, 1) for script, found in _by_script(prose).items() if found
    }
    total = sum(letters.values())
    if total < _MIN_LETTERS:
        return {}
    if "kana" in letters and letters["kana"] >= _KANA_SHARE * (letters["kana"] + letters.get("han", 0)):
        letters["kana"] += letters.pop("han", 0)
    shares: Counter[str] = Counter()
    for script, weight in letters.items():
        shares[_language_of(script, prose)] += weight
    return {code: weight / total for code, weight in shares.items()}


def guess_language(text: str) -> str:
    """Name the most likely language of a few words, too few for `detect_language`.

    Args:
        text: Any text.

    Returns:
        An ISO 639-1 code: the language of the script most used with the most hits, or the only language that
        claims a letter; "und" where no word and no letter tells.
    """
    prose = _prose(text)
    found = {script: len(letters) * _WEIGHTS.get(script, 1) for script, letters in _by_script(prose).items()}
    script = max(found, key=lambda name: (found[name], name))
    if found["kana"]:
        script = "kana"
    if not found[script] or script in _ALONE or len(_OF_SCRIPT[script]) == 1:
        return _language_of(script, prose) if found[script] else UNKNOWN
    words = _words(script, prose)
    scores = _score_all(script, words)
    best, second = sorted(scores, key=lambda code: (-scores[code], code))[:2]
    return best if scores[best] > scores[second] else _by_letters(script, prose.casefold())


def likely_languages(text: str) -> frozenset[str]:
    """Name each language that a few words may be written in, as far as their little words tell.

    Args:
        text: Any text.

    Returns:
        The language of `detect_language`, else all of the main script with nearly the most hits; empty
        where no word tells.
    """
    found = detect_language(text)
    if found != UNKNOWN:
        return frozenset({found})
    prose = _prose(text)
    letters = {script: len(found) * _WEIGHTS.get(script, 1) for script, found in _by_script(prose).items()}
    script = max(letters, key=lambda name: (letters[name], name))
    if not letters[script] or script in _ALONE:
        return frozenset()
    scores = _score_all(script, _words(script, prose))
    most = max(scores.values())
    return frozenset(code for code, score in scores.items() if most and score * _NEARLY >= most)


def main_language(texts: Iterable[str]) -> str:
    """Name the language of most of several texts.

    Args:
        texts: The words of a conversation, a message each; texts of unknown language do not count.

    Returns:
        An ISO 639-1 code, or "und".
    """
    shares = spoken_shares(texts)
    best = max(shares, key=lambda code: (shares[code], code), default=UNKNOWN)
    return best if shares.get(best, 0.0) >= _HALF else UNKNOWN


def spoken_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return the share of each language in several texts, each text counting for one language.

    Args:
        texts: Texts; texts of unknown language do not count.

    Returns:
        Shares in (0, 1] with sum 1; empty if no language is known.
    """
    weights: Counter[str] = Counter()
    for text in texts:
        code = detect_language(text)
        if code != UNKNOWN:
            weights[code] += min(len(text), _MAX_CHARS)
    total = weights.total()
    return {code: weight / total for code, weight in weights.items()}


def same_language(one: str | None, other: str | None) -> bool:
    """Tell whether two codes can stand for one language; an unknown code matches any.

    Args:
        one: A language code with or without a region ("pt", "pt-BR"), "und", or None.
        other: The same.

    Returns:
        False only for two known languages distinct to readers.
    """
    first, second = _primary(one), _primary(other)
    if UNKNOWN in {first, second} or first == second:
        return True
    return any({first, second} <= set(family.split()) for family in _FAMILIES)


def language_name(code: str) -> str | None:
    """Name a language in English; None for an unknown code."""
    return _NAMES.get(_primary(code))


def _primary(code: str | None) -> str:
    return re.split(r"[-_]", (code or UNKNOWN).casefold())[0] or UNKNOWN


def _prose(text: str) -> str:
    return _RUN.sub(_unless_technical, _QUOTED.sub(_keep_other_scripts, text[:_MAX_CHARS]))


def _unless_technical(match: re.Match[str]) -> str:
    return _keep_other_scripts(match) if _TECHNICAL.search(match[0]) else match[0]


def _keep_other_scripts(match: re.Match[str]) -> str:
    """Unspaced scripts have no word borders: take the Latin letters out of such a run, not the run."""
    return " " if match[0].isascii() else re.sub(r"[\x00-\x7f]+", " ", match[0])


def _by_script(prose: str) -> dict[str, list[str]]:
    if prose.isascii():  # as most prose: no other script has letters there
        return {**_NO_LETTERS, "latin": _LETTERS["latin"].findall(prose)}
    return {script: letters.findall(prose) for script, letters in _LETTERS.items()}


def _language_of(script: str, prose: str) -> str:
    if script in _ALONE:
        return _ALONE[script][0]
    codes = _OF_SCRIPT[script]
    return codes[0] if len(codes) == 1 else _by_words(script, prose)


def _by_words(script: str, prose: str) -> str:
    words = _words(script, prose)
    total = words.total()
    scores = _score_all(script, words)
    ranked = sorted(scores, key=lambda code: (-scores[code], code))
    best, second = ranked[0], ranked[1]
    enough = scores[best] >= max(_MIN_HITS, _MIN_DENSITY * total)
    if enough and scores[best] >= _MIN_LEAD * scores[second]:
        return best
    return _by_letters(script, prose.casefold())


def _words(script: str, prose: str) -> Counter[str]:
    letters = _LETTERS[script]
    found = _WORD.findall(prose.casefold())
    return Counter(word.replace("\u2019", "'") for word in found if letters.match(word))


def _score_all(script: str, words: Counter[str]) -> dict[str, float]:
    """Add up each language's hits; a word of several languages counts less, and so does a single letter."""
    hits: dict[str, list[float]] = {code: [] for code in _OF_SCRIPT[script]}
    claims = _claims()
    for word, times in words.items():
        for code in claims.get(word, ()):
            if code in hits:
                hits[code].append(times / len(claims[word]) * (0.5 if len(word) == 1 else 1))
    scores = {code: fsum(found) for code, found in hits.items()}  # the same in any order of words
    used = set().union(*words)
    for code in scores:
        letters = _TELLING[code] & used
        if letters:
            scores[code] += sum(times for word, times in words.items() if not letters.isdisjoint(word))
    return scores


@cache
def _claims() -> dict[str, tuple[str, ...]]:
    """List the languages of each little word."""
    claims: dict[str, tuple[str, ...]] = {}
    for code, words in STOP_WORDS.items():
        for word in words:
            claims[word] = (*claims.get(word, ()), code)
    return claims


def _by_letters(script: str, prose: str) -> str:
    """Decide by letters unique to one language, if little words are too few; Latin has no such letters."""
    if script == "cyrillic":
        claims = [
            code for code, letters in _OWN_CYRILLIC.items() if any(letter in prose for letter in letters)
        ]
        return claims[0] if len(claims) == 1 else UNKNOWN
    return {"arabic": "ar", "devanagari": "hi"}.get(script, UNKNOWN)
