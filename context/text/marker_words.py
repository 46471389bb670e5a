"""Words and sentence endings that mark errors, decisions, rules, questions and refusals in many languages."""

# ruff: noqa: E501, RUF001 - tables of words in several scripts

import re
from collections.abc import Collection
from enum import StrEnum

from context.languages import all_phrases, by_language

_MARKERS = by_language(lambda one: one.markers)
ANYWHERE = ("zh", "ja", "ko", "ar", "he", "hi")
"""Languages without blanks, or with little words written together with the next word."""
WITHOUT_BLANKS = ("zh", "ja", "ko")


def markers_of(kind: str) -> dict[str, str]:
    """Read the markers of a kind, by language."""
    return {code: marks[kind] for code, marks in _MARKERS.items() if kind in marks}


def marks_of(kind: str, *, anywhere: Collection[str] = ANYWHERE) -> str:
    """Write a pattern of the markers of a kind.

    Args:
        kind: A key of `Language.markers`.
        anywhere: Languages whose markers count inside of words too.
    """
    parts = markers_of(kind)
    words = "|".join(part for code, part in parts.items() if code not in anywhere)
    free = "|".join(part for code, part in parts.items() if code in anywhere)
    return rf"(?<!\w)(?:{words})(?!\w)|{free}"


_NEGATED = re.compile(
    r"(?:(?<!\w)(?:never|not|cannot|\w+n't|nobody|nie|nicht|kein\w{0,2}|ne|nunca|no|não|non|mai|niet|nooit|не|ні)(?!\w)|不|没|未)\W{0,3}(?:\w+\W{1,3}){0,2}\Z"
)
_NEGATED_CHARS = 160
"""A denial and two words behind it; a longer way back says nothing more."""

_LIFTED_RE = re.compile(marks_of("ended", anywhere=WITHOUT_BLANKS))
_UNSURE_RE = re.compile(marks_of("unsure"))
_FAILED_RE = re.compile(marks_of("failed"))


def says_it_ended(sentence: str, *, about: str = "") -> bool:
    """Tell whether a sentence reports, without reserve, something lifted, withdrawn or changed.

    Args:
        sentence: One sentence or point in any language.
        about: The rule or task in question; its own words are no sign.

    Returns:
        False for questions, conditions, wishes, denials and anything not understood.
    """
    folded, known = _fold(sentence), _fold(about)
    if is_question(sentence):
        return False
    found = [match for match in _LIFTED_RE.finditer(folded) if not _stands_in(match[0], known)]
    if all(_is_denied(folded, match.start()) for match in found):
        return False
    rest = folded
    for words in dict.fromkeys(match[0] for match in found):
        rest = rest.replace(words, " ")
    return not any(not _stands_in(match[0], known) for match in _UNSURE_RE.finditer(rest))


def says_it_failed(sentence: str, *, about: str = "") -> bool:
    """Tell whether a sentence reports a full or partial failure.

    Args:
        sentence: One sentence or point in any language.
        about: The task in question; its own words are no sign.

    Returns:
        True also if a word is ambiguous.
    """
    known = _fold(about)
    return any(not _stands_in(match[0], known) for match in _FAILED_RE.finditer(_fold(sentence)))


def _is_denied(text: str, end: int) -> bool:
    return _NEGATED.search(text, max(end - _NEGATED_CHARS, 0), end) is not None


def _fold(text: str) -> str:
    return text.casefold().replace("\u2019", "'")


def _stands_in(words: str, text: str) -> bool:
    edge = r"(?<!\w)", r"(?!\w)"
    return re.search(re.escape(words).join(edge) if words.isascii() else re.escape(words), text) is not None


class Cue(StrEnum):
    """Kinds of cues in a sentence."""

    RULE = "rule"
    WISH = "wish"
    DECISION = "decision"
    OPEN = "open"
    DONE = "done"


_ORDER_NOT = r"(?:\A\W*|[,;:(.–—-]\s*|(?<!\w)(?:and|but|or|please|so|also|then|you|just|they|it)\s)(?:do not|don't|dont)(?=\s\w)"
"""A refusal to let something be done; "I don't remember" states none."""
_STRONG = re.compile(f"{_ORDER_NOT}|{marks_of('strong')}")
_PATTERNS = {cue: re.compile(marks_of(cue) + (f"|{_ORDER_NOT}" if cue is Cue.RULE else "")) for cue in Cue}
_QUESTION = re.compile(r"[?？؟]\s*+[)\"'”’»」』]*+\s*+\Z|か[。？]?\s*\Z|吗[。？]?\s*\Z|呢[。？]?\s*\Z")


def find_cues(sentence: str) -> frozenset[Cue]:
    """Find the cues of a sentence by known words.

    Args:
        sentence: One sentence in any language.

    Returns:
        Every cue of the sentence, perhaps none.
    """
    folded = sentence.casefold().replace("’", "'")
    return frozenset(cue for cue, pattern in _PATTERNS.items() if pattern.search(folded))


def is_strong_rule(sentence: str) -> bool:
    """Tell whether a sentence forbids or demands without reserve."""
    return _STRONG.search(sentence.casefold().replace("’", "'")) is not None


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks something."""
    return _QUESTION.search(sentence) is not None


_SMALL_TALK = re.compile(marks_of("smalltalk"))
_GREETING = re.compile(
    r"\A\W*(?:"
    + "|".join(
        re.escape(sign.rstrip("*=").replace("_", " ")) + (r"(?!\w)" if code not in WITHOUT_BLANKS else "")
        for code, signs in by_language(lambda one: (one.signs or {}).get("casual.greeting")).items()
        for sign in sorted(signs.split(), key=len, reverse=True)
    )
    + ")"
)


def is_small_talk(sentence: str) -> bool:
    """Tell whether a sentence greets, or asks how somebody is out of courtesy."""
    folded = _fold(sentence)
    return _GREETING.match(folded) is not None or (
        is_question(sentence) and _SMALL_TALK.search(folded) is not None
    )


REFUSALS = all_phrases(lambda one: one.refusals)
"""First words of a refusal, case-folded, with straight apostrophes."""

REQUESTS_FOR_INPUT = all_phrases(lambda one: one.input_requests)
"""Phrases of a reply that did not see its input, case-folded."""
