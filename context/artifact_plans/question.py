# ruff: noqa: E501, RUF001 - tables of words in several scripts
"""The question that a plan of artifacts serves, and whether an older plan still stands for it."""

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from context.artifacts.types import ContentKind
from context.extract import PassageIndex
from context.focus import Focus, normalise
from context.focus.reading import GENERAL, stem
from context.preflight.lexicon import LITTLE_WORDS, Signs, find_signs
from context.recall.ranking import find_question
from context.text.exact_values import extract_identifiers
from context.types import Message, Role
from context.wire.parts import PartKind, read_parts


class Asking(StrEnum):
    """Kinds of questions."""

    SPECIFIC = "specific"
    BROAD = "broad"
    OPEN = "open"


MAX_CHARS = 4_000
"""Characters read of a text; of a longer text, the beginning and the end."""

_SPECIFIC_WORDS = (
    "who|whom|whose|when|where|which|how (?:many|much|long|often|old|far|large|big)|exact|exactly|verbatim|quote|quoted|look up|find the|"
    "what (?:is|was|were|are)? ?(?:the )?(?:exact )?(?:name|number|date|time|day|year|price|cost|amount|total|version|id|address|line|percentage|value|rate|email|phone|port|status|title|reason code)|"
    "wer|wem|wen|wessen|wann|wo|welche[rsmn]?|wie (?:viele?|lange|oft|hoch|groß)|wieviele?|genau|wörtlich|zitiere|"
    "qui|quand|où|quel|quelle|quels|quelles|combien|exactement|cite|citez|"
    "quién|quiénes|cuándo|dónde|cuál|cuáles|cuánto|cuánta|cuántos|cuántas|exactamente|"
    "quem|onde|qual|quais|quanto|quanta|quantos|quantas|exatamente|chi|dove|quale|quali|quanti|quante|esattamente|"
    "wanneer|waar|welke|hoeveel|precies|kto|kiedy|gdzie|który|która|które|ile|dokładnie|"
    "kim|ne zaman|nerede|hangi|kaç|tam olarak|"
    "кто|кого|кому|когда|где|куда|какой|какая|какое|какие|который|которая|сколько|точно|дословно|"
    "хто|коли|де|який|яка|яке|які|скільки|точно|متى|أين|كم|كौन|कौन|कब|कहाँ|कितने|कितना|किस"
)
_SPECIFIC_SIGNS = "谁|誰|何时|何時|什么时候|什麼時候|哪里|哪裡|哪个|哪個|哪些|多少|几个|幾個|几点|第几|いつ|どこ|どの|どれ|いくつ|いくら|何人|何個|何年|누구|누가|언제|어디|어느|몇|얼마"
_BROAD_WORDS = (
    r"summar\w*|overview|main points?|key points?|in general|explain|describe|compare|comparison|analy[sz]e|analysis|outline|tl;?dr|gist|recap|tell me (?:more )?about|what (?:is|was) (?:this|that|it|the \w+) about|what happened|conclusions?|takeaways?|highlights|"
    r"zusammen(?:fass\w*|gefasst)|fass\w* .{0,60}zusammen|überblick|erklär\w*|beschreib\w*|vergleich\w*|hauptpunkte|worum geht|"
    r"résum\w*|aperçu|expliqu\w*|décri\w*|compar\w*|points principaux|de quoi (?:parle|s'agit)|"
    r"resum\w*|explica\w*|descri\w*|puntos principales|de qué trata|visión general|pontos principais|expliqu\w*|do que se trata|"
    r"riassum\w*|riassunto|spiega\w*|confronta\w*|di cosa (?:parla|si tratta)|samenvat\w*|vat .{0,60}samen|overzicht|leg .{0,60}uit|vergelijk\w*|"
    r"podsumuj\w*|streść\w*|streszcz\w*|opisz\w*|wyjaśni\w*|porówna\w*|özetle\w*|özet|açıkla\w*|karşılaştır\w*|"
    r"кратко|резюм\w*|обзор|объясн\w*|опиш\w*|сравн\w*|о чём|о чем|перескаж\w*|вывод\w*|підсум\w*|огляд|поясн\w*|опиш\w*|порівня\w*|про що|"
    r"لخص\w*|ملخص|اشرح\w*|قارن\w*|सारांश|समझा\w*|तुलना"
)
_BROAD_SIGNS = "总结|總結|概述|概括|摘要|解释|解釋|比较|比較|主要内容|介绍|介紹|概要|要約|まとめ|説明|要点|요약|개요|설명|비교"

_SPECIFIC = re.compile(rf"(?<!\w)(?:{_SPECIFIC_WORDS})(?!\w)|{_SPECIFIC_SIGNS}")
_BROAD = re.compile(rf"(?<!\w)(?:{_BROAD_WORDS})(?!\w)|{_BROAD_SIGNS}")
_QUOTED = re.compile(r"[\"“„«「『][^\"”“»」』\n]{2,120}[\"”“»」』]|`[^`\n]{2,120}`")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,:/-]*(?![\w])")


def bounded(question: str) -> str:
    """Take the beginning and the end of a long text, since the middle is mostly pasted and asks for nothing.

    Args:
        question: The user's text.

    Returns:
        At most `MAX_CHARS` characters and a line break.
    """
    half = MAX_CHARS // 2
    return question if len(question) <= MAX_CHARS else f"{question[:half]}\n{question[-half:]}"


@lru_cache(maxsize=64)
def asking(question: str) -> Asking:
    """Tell the kind of answer wanted by a question.

    Args:
        question: The user's question, in any of many languages.

    Returns:
        `BROAD` for a question for a summary, an explanation or a comparison; else `SPECIFIC` for a question
        for a person, a time, a choice or a number, or with a quote, a number or an identifier; else `OPEN`.
        A few answers are kept: recall, artifacts and plans of a request ask about the same question.
    """
    text = unicodedata.normalize("NFC", bounded(question)).casefold()
    if _BROAD.search(text):
        return Asking.BROAD
    if _SPECIFIC.search(text) or _QUOTED.search(text) or _NUMBER.search(text):
        return Asking.SPECIFIC
    return Asking.SPECIFIC if extract_identifiers(bounded(question)) else Asking.OPEN


def looks_back(question: str) -> bool:
    """Say whether a message may be about earlier words: one that asks, or one with a sign of memory.

    Args:
        question: The user's message, in any of many languages.
    """
    text = bounded(question)
    return asking(question) is not Asking.OPEN or bool(_ASKING.search(text)) or find_signs(text).has(*_MEMORY)


MOST_WORDS = 16
"""Length in words above which a message says something of its own."""

OWN_WORDS = 2
"""Number of other words that still ask for nothing beside "go on": "go ahead with that booking"."""

LOOKED_BACK = 6
"""Earlier user messages to search; behind as many nods, nobody knows the agreed subject."""

OFFER_CHARS = 1_000
"""Characters read of an offer, from its end."""

ASKING_CHARS = 300
"""Characters at the end of an answer, within which it asks for a consent."""

_ASKING = re.compile("[?？؟]")
_MEMORY = ("mem.recall", "mem.when", "mem.past", "mem.mine", "mem.they", "mem.affairs")
_YES, _GO, _POLITE = "casual.yes", "follow.go", "plan.want"
_CARRIED = ("casual.", "follow.", "you.", "plan.want", "mem.i")
_LONGEST_RUN = 8
_DIGITS = frozenset("0123456789")


def standing_question(new: Sequence[Message], tail: Sequence[Message] = ()) -> str:
    """Find the user's question for artifacts.

    Args:
        new: The messages of the request.
        tail: The newest stored messages, oldest first.

    Returns:
        The words of the newest message beyond mere agreement; if all agree, of the newest.
    """
    asked = find_question(new, tail)
    if not only_agrees(asked):
        return asked
    earlier = [message for message in tail if message.starts_turn]
    if not any(message.starts_turn for message in new):
        earlier.pop()
    words = (find_question([message]) for message in reversed(earlier[-LOOKED_BACK:]))
    return next((said for said in words if said and not only_agrees(said)), asked)


def recall_question(new: Sequence[Message], tail: Sequence[Message] = ()) -> str:
    """Find the words for which older turns are searched: the user's own, or the offer that the user accepts.

    Args:
        new: The messages of the request.
        tail: The newest stored messages, oldest first.

    Returns:
        The user's words. If these only agree, the end of the answer before, where it asks for a consent to
        something concrete; else the words that agree, for which nothing is searched.
    """
    asked = find_question(new, tail)
    if not only_agrees(asked):
        return asked
    before = list(tail)
    if not any(message.starts_turn for message in new):
        while before and not before.pop().starts_turn:
            pass
    return _offer_of(before, asked) or asked


def _offer_of(messages: Sequence[Message], consent: str) -> str:
    """Find the offer at the end of the newest answer; empty if it asks for no consent, or to nothing concrete.

    A consent is asked for by a question, or in the words that give it: "confirm with a yes to proceed". An
    offer is concrete if it holds a number, a quote or an identifier: "anything else?" holds none.
    """
    answer = messages[-1] if messages else None
    if answer is None or answer.role is not Role.ASSISTANT or answer.call_ids:
        return ""
    said = "\n".join(part.text for part in read_parts(answer) if part.kind is PartKind.TEXT).strip()
    offer, end = said[-OFFER_CHARS:], said[-ASKING_CHARS:]
    if not _ASKING.search(end) and _consents(consent).isdisjoint(_consents(end)):
        return ""
    is_concrete = _NUMBER.search(end) or _QUOTED.search(end) or extract_identifiers(end)
    return offer if is_concrete else ""


def _consents(text: str) -> set[str]:
    """List the words of a text that agree, or tell to go on."""
    signs = find_signs(text)
    return {word for sign in (_YES, _GO) for word in signs.found.get(sign, ())}


def only_agrees(text: str) -> bool:
    """Say whether a message only agrees, or only tells to go on.

    Args:
        text: A message, in any language of preflight.
    """
    if not _DIGITS.isdisjoint(text) or "?" in text:
        return False
    signs = find_signs(text)
    if not signs.has(_YES, _GO) or len(signs.words) > MOST_WORDS:
        return False
    return _own_words(signs) <= (OWN_WORDS if _goes_on(signs) else 0)


def _goes_on(signs: Signs) -> bool:
    """Say whether a message tells to go on in its own words: "please" and "yes please" alone do not."""
    said = {piece for sign in (_YES, _POLITE) for text in signs.found.get(sign, ()) for piece in text.split()}
    return any(not said.issuperset(text.split()) for text in signs.found.get(_GO, ()))


def _own_words(signs: Signs) -> int:
    """Count the words beyond agreement and little words; a stretch without blanks counts if long."""
    carried = {
        piece
        for sign, texts in signs.found.items()
        if sign.startswith(_CARRIED)
        for text in texts
        for piece in text.split()
    }
    runs = sum(len(run) for run in signs.runs) > _LONGEST_RUN
    own = {word for word in signs.words if word not in carried and word not in LITTLE_WORDS}
    return len(own) + (OWN_WORDS + 1) * runs


_ANY = "document text file attachment content contents"
_NAMES: dict[ContentKind, str] = {
    ContentKind.TEXT: "report article paper notes",
    ContentKind.MARKDOWN: "report article paper notes page readme",
    ContentKind.HTML: "page website site article",
    ContentKind.JSON: "json data response result output",
    ContentKind.TABLE: "table sheet spreadsheet csv data",
    ContentKind.LOG: "log logs output",
    ContentKind.CODE: "code source script",
    ContentKind.DIFF: "diff patch changes",
}
_TALK = "meeting conversation discussion call chat interview transcript talk"
_OVERALL = "main key central general overall entire full point points topic topics idea ideas contain"
_ENGLISH = "en"


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word, _ENGLISH) for word in words.split())


_GENERAL = _stems(" ".join(sorted(GENERAL))) | _stems(_OVERALL)
_CALLED = {kind: _stems(f"{_ANY} {names}") for kind, names in _NAMES.items()}
_CALLED_TALK = _stems(f"{_ANY} {_TALK}")


def asks_for_all(focus: Focus, title: str, index: PassageIndex) -> bool:
    """Say whether a question is general for the artifact: "summarize the meeting", of a meeting's transcript.

    A general question holds only words to ask for a summary, names of such a text, and words of the title. A
    question for a person, a time or a number asks for one thing, in any words.

    Args:
        focus: The question.
        title: The artifact's common name; empty if unnamed.
        index: The artifact's index, with the kind found.
    """
    if focus.is_general:
        return True
    if focus.denies or focus.turned or asking(focus.original) is Asking.SPECIFIC:
        return False
    own = frozenset(normalise(title).terms) if title else frozenset[str]()
    return frozenset(focus.terms) <= (_GENERAL | _names(index) | own) and focus.sharp <= own


def _names(index: PassageIndex) -> frozenset[str]:
    is_talk = index.kind is ContentKind.TEXT and not index.is_prose
    return _CALLED_TALK if is_talk else _CALLED[index.kind]
