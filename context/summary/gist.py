"""Comparison of lines: does one line say another line's content, or its opposite?"""

# ruff: noqa: E501, RUF001 - a table; the words are written in their languages' own letters

import re
from dataclasses import dataclass
from functools import lru_cache

from context.text.exact_values import extract_identifiers, normal
from context.text.terms import index_terms, statement_terms

_CITED = re.compile(r"\[\s*\d{1,9}(?:\s*[,;\u2013-]\s*\d{1,9})*\s*\]")
_LABEL = re.compile(
    r"\A(?:\[[^\[\]\n]{1,40}\]\s*[^:\[\]\n]{1,70}:\s|[^:\[\]()\n]{1,60} \((?:user|assistant|tool|system)\):\s|(?:user|assistant):\s)",
    re.IGNORECASE,
)
"""Speaker and message of a line, ignored in comparisons of content."""
NEGATION = re.compile(
    r"(?<!\w)(?:never|not|no|none|nobody|nothing|without|avoid|avoids|forbidden|forbids|prohibited|cannot|\w+n't|"
    r"nie|niemals|nicht|kein\w{0,2}|ohne|verboten|ne|n'\w+|pas|jamais|sans|interdit\w{0,2}|nunca|jamás|sin|prohibido|não|sem|"
    r"proibido|non|mai|senza|vietato|niet|geen|nooit|zonder|bez|nigdy|zakazan\w|asla|değil|yok|yasak|\w+m[ae]yın|"
    r"не|нет|ни|никогда|нельзя|без|запрещено|ні|ніколи|заборонено)(?!\w)|"
    r"不|没|無|无|勿|别|禁止|ない|ません|な(?=[。\s]|\Z)|않|안 |지 마|지 말|금지|없|لا |لم |لن |ليس|ممنوع|בלי|לא |אין |אסור|אל |नहीं|मत |बिना"
)
"""Words that deny or forbid, in many languages."""
ALWAYS = re.compile(
    r"(?<!\w)(?:always|must|immer|stets|muss|toujours|doit|siempre|debe|sempre|deve|altijd|moet|zawsze|musi|daima|her zaman|"
    r"всегда|должн\w{0,2}|обязательно|завжди|обов'язково)(?!\w)|总是|總是|必须|必須|必ず|항상|반드시|دائما|يجب|תמיד|חייב|हमेशा"
)
"""Words that demand, in many languages: a "never" turned round."""

_DIGIT = re.compile(r"\d")
_MANY_TERMS = 400


@dataclass(frozen=True)
class Gist:
    """Comparable content of a line.

    Attributes:
        plain: The line, folded, without speaker and message.
        asked: The terms required of another line with the same content.
        terms: All terms of the line.
        words: The terms of `asked` except names and numbers.
        names: The exact names, folded.
        numbers: The terms with a digit.
        negates: True if the line denies or forbids something.
    """

    plain: str
    asked: frozenset[str]
    terms: frozenset[str]
    words: frozenset[str]
    names: tuple[str, ...]
    numbers: frozenset[str]
    negates: bool


@lru_cache(maxsize=8_192)
def gist(line: str) -> Gist:
    """Read the content of a line.

    Args:
        line: A point of a summary, or a sentence.

    Returns:
        The terms, names and sign, without citations and the label of the speaker.
    """
    said = _CITED.sub(" ", _LABEL.sub("", line, count=1))
    plain = normal(said)
    asked = frozenset(statement_terms(NEGATION.sub(" ", plain), limit=_MANY_TERMS))
    names = tuple(normal(name) for name in extract_identifiers(said))
    numbers = frozenset(term for term in asked if _DIGIT.search(term))
    return Gist(
        plain=plain,
        asked=asked,
        terms=frozenset(index_terms(plain)),
        words=asked - numbers - frozenset(index_terms(" ".join(names))),
        names=names,
        numbers=numbers,
        negates=NEGATION.search(plain) is not None,
    )


def stands_in(name: str, text: str) -> bool:
    """Tell whether a name stands in a text, not inside a longer name; both folded by `normal`."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def names_kept(part: Gist, whole: Gist) -> bool:
    """Tell whether every exact name and number of a line stands in another line."""
    return part.numbers <= whole.terms and all(stands_in(name, whole.plain) for name in part.names)


def is_about(told: Gist, part: Gist, *, least: float) -> bool:
    """Tell whether words are about a line: its names and numbers are there, and most of its other words.

    Args:
        told: The words.
        part: The line.
        least: The least share of the line's words found in `told`, in [0, 1].

    Returns:
        False for a line of names alone: a list of names says nothing about them.
    """
    shared = len(part.words & told.terms)
    return bool(part.words) and shared >= least * len(part.words) and names_kept(part, told)


def covers(whole: Gist, part: Gist) -> bool:
    """Tell whether a line says everything another line says, and does not say the opposite.

    All content words and exact names are present and the signs agree. So notes can be reworded over and over,
    with the same coverage.
    """
    if part.plain == whole.plain:
        return True
    said = bool(part.asked) and part.asked <= whole.terms
    return said and part.negates == whole.negates and names_kept(part, whole)
