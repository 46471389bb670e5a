# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Kind of answer wanted by a question: one exact thing, or the whole in few words."""

import re
import unicodedata
from enum import StrEnum

from context.identifiers import extract_identifiers


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


def asking(question: str) -> Asking:
    """Tell the kind of answer wanted by a question.

    Args:
        question: The user's question, in any of many languages.

    Returns:
        `BROAD` for a question for a summary, an explanation or a comparison; else `SPECIFIC` for a question
        for a person, a time, a choice or a number, or with a quote, a number or an identifier; else `OPEN`.
    """
    text = unicodedata.normalize("NFC", bounded(question)).casefold()
    if _BROAD.search(text):
        return Asking.BROAD
    if _SPECIFIC.search(text) or _QUOTED.search(text) or _NUMBER.search(text):
        return Asking.SPECIFIC
    return Asking.SPECIFIC if extract_identifiers(bounded(question)) else Asking.OPEN
