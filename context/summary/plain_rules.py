"""Rules without an order's verb, and facts with a rule's words: "After 22:00 no music", "Only Rex barks"."""

# ruff: noqa: E501, RUF001 - tables in several scripts

import re

from context.summary.gist import NEGATION
from context.text.marker_words import WITHOUT_BLANKS, is_question, markers_of, marks_of

_HEAD = r"(?:\A\W*|[,;:.…—–]\s*|(?<!\w)(?:and|so|please|und|also|bitte|et|y|así que|e|então|en|i|и|і|та)\s)"


def _words(kind: str) -> str:
    return "|".join(markers_of(kind).values())


_ANNOUNCED = re.compile(rf"\A\W*(?:\w+\s+){{0,2}}(?:{_words('announced')})(?:\s\w+){{0,3}}\s?[:：]\s*\S")
_CALLED_A_RULE = re.compile(marks_of("called_rule", anywhere=WITHOUT_BLANKS))
_URGENT = re.compile(rf"\A\W*(?:\w+\s+)?(?:{_words('urgent')})\s?[:：!！]\s*(?P<rest>\S.*)")
_NO = r"no|kein\w{0,2}|pas de|nada de|niente|geen|żadn\w+|никак\w+|жодн\w+|niemand|nobody|no one|personne|nadie|ninguém|nessuno|nikt|никто|ніхто"
_DENIAL = re.compile(rf"(?<!\w)(?:{_NO})(?!\w)|{NEGATION.pattern}")
_NEAR_CHARS = 40
_BAN = re.compile(
    rf"{_HEAD}(?:{'|'.join(words for code, words in markers_of('ban').items() if code not in WITHOUT_BLANKS)})(?!\w)"
    rf"|{'|'.join(markers_of('ban')[code] for code in WITHOUT_BLANKS)}"
    # a time, and a denial right behind it
    r"|(?<!\w)(?:after|before|between|from|nach|vor|ab|zwischen|après|avant|después de|antes de|depois da?s?|antes da?s?|dopo|prima|na|voor|po|przed|после|до|після)"
    rf"\s(?:las? |le )?\d[\d:.]*(?:\s?(?:uhr|h|heures|horas|uur|часов|am|pm))?,?\s(?:{_NO})\s"
    # nobody, and a time or a condition
    r"|(?:\A\W*|[,;:]\s)(?:please,? )?(?:nobody|no one) (?!know|like|care|want|think|see|need|believe|remember|live)\w+s(?!\w).{0,40}(?:\d|(?<!\w)(?:without|before|until|unless)(?!\w))"
    r"|(?<!\w)(?:que no haya|que não haja|che non ci sia)(?!\w)"
    r"|(?:mejor|melhor|meglio|besser|better) (?:no|não|non|nicht|not) \w+(?:as|es|en|are|ire|ere)(?!\w)"
)
_ONLY_NAME = re.compile(
    r"\A\W*(?:Only|Solo|Sólo|Só|Somente|Apenas|Soltanto|Alleen|Tylko|Только|Лише)\s(?:[oae]l?\s)?[A-ZÀ-ÖØ-ÞА-Я]\w*(?:\s[A-ZÀ-ÖØ-ÞА-Я]\w*)?\s"
    r"(?!may|must|can|could|should|shall|is |are |has to|puede|debe|pode|deve|può|mag|moet|może|musi|может|должен)[a-zà-öø-ÿа-яё]+"
)
_REPLY = re.compile(r"\A\W*(?:no|yes|sí|si|nein|ja|non|oui|não|sim|sì|nee|nie|tak|нет|да|ні|так)\s?,\s*\S")
_OWN_HABIT = re.compile(
    r"\A\W*(?:me |mi )?(?!todo|como|solo|mismo|isto|isso|esto|eso|questo|quando|pero)\w{2,}o (?:siempre|sempre|nunca|jamás|mai)(?!\w)"
)
_SAYS_MORE = re.compile(r"[?？؟]\s*(?=\S)")


def states_rule(said: str) -> bool:
    """Tell whether a sentence announces a rule, or forbids without an order's verb.

    Args:
        said: One sentence, case-folded, with straight apostrophes.

    Returns:
        True for "House rule: shoes off", "Important: no nuts" and "After 22:00 no music".
    """
    if is_question(said):
        return False
    if _ANNOUNCED.match(said) or _CALLED_A_RULE.search(said) or _BAN.search(said):
        return True
    urgent = _URGENT.match(said)
    return urgent is not None and _DENIAL.search(urgent["rest"][:_NEAR_CHARS]) is not None


def states_fact(sentence: str) -> bool:
    """Tell whether a sentence reports a fact with a rule's words: "Only Rex barks"."""
    said = sentence.casefold()
    return _ONLY_NAME.match(sentence) is not None or _OWN_HABIT.match(said) is not None


def is_reply(said: str) -> bool:
    """Tell whether a sentence, case-folded, begins with a yes or a no and goes on: "No, he takes only cash"."""
    return _REPLY.match(said) is not None


def behind_question(sentence: str) -> str:
    """Return what a sentence says behind its question."""
    return _SAYS_MORE.split(sentence)[-1]
