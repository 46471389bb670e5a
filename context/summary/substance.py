# ruff: noqa: E501, RUF001 - tables; the phrases are written in their languages' own letters
"""Content of a summary: its points, apart from points without information."""

import re
import unicodedata
from collections.abc import Iterable

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.sections import read_sections

LEAST_CHARS = 12
"""Fewest characters with any content, for any covered messages."""

MOST_ASKED_CHARS = 300
"""However much was covered, no more is asked for."""

LITTLE_CHARS = 240
"""Characters of different sayings up to which nothing is left to sum up: a summary repeats the sayings."""

_TOKENS_A_CHAR = 100
_SAID_CHARS_A_CHAR = 4
_MOST_FILLER_CHARS = 90

_KIND = r"(?:summary|notes|recap|overview|checkpoint|synopsis|conversation|chat|dialogue|discussion|transcript|messages|history|session)"
_FILLER = re.compile(
    rf"(?:(?:an?|the|this|that|is|of|above|below|previous|prior|earlier|updated?|brief|short|running|current|full|between|user|users|assistant|and|"
    rf"with|for|in|was|has|been|had|here|goes|{_KIND})\b[\s,-]*)+"
    r"|(?:(?:see|as|same as|like|refer to|unchanged from|identical to) (?:the )?(?:above|before|previous(?:ly)?|earlier|prior|last)\b(?: (?:notes|summary|one|messages|points?))?"
    r"|(?:there (?:is|are|was|were) )?(?:nothing|no (?:changes?|updates?|news?|content|further \w+|new (?:information|points?|messages?|content)|significant \w+|relevant \w+))"
    r"(?: (?:(?:(?:else|more|new|further)\b ?)?(?:to (?:add|report|note|say|summarize|summarise|update|mention)|has changed|changed|happened|was said)|more|new|else|further)?(?: here)?)?"
    r"|not applicable|to be (?:determined|added|completed|filled in|continued)|to follow|placeholder|insert \w+ here|your summary here|lorem ipsum.*|coming soon|no information(?: available| provided)?"
    r"|(?:they |people )?(?:talked|spoke|chatted|discussed|conversed|had a conversation|exchanged messages)(?: (?:about )?(?:various|several|different|some|many) (?:things|topics|matters|subjects))?"
    r"|siehe oben|wie oben|keine änderungen?|nichts (?:neues|hinzuzufügen)|zusammenfassung(?: (?:des gesprächs|der unterhaltung))?|voir ci-dessus|aucun changement|rien à (?:ajouter|signaler)|résumé(?: de la conversation)?"
    r"|ver arriba|véase arriba|sin cambios|nada que añadir|resumen(?: de la conversación)?|ver acima|sem alterações|nada a acrescentar|resumo(?: da conversa)?|vedi sopra|nessuna modifica|nulla da aggiungere|riassunto(?: della conversazione)?"
    r"|zie boven|geen wijzigingen|samenvatting(?: van het gesprek)?|jak wyżej|bez zmian|podsumowanie(?: rozmowy)?|yukarıya bakın|değişiklik yok|(?:konuşmanın )?özeti?"
    r"|см\.? выше|без изменений|нечего добавить|(?:краткое )?(?:резюме|содержание)(?: (?:беседы|разговора|диалога))?|див\.? вище|без змін|(?:підсумок|резюме)(?: розмови)?"
    r"|同上|见上文|如上所述?|没有变化|无变化|无需补充|(?:对话|会话)?(?:摘要|总结)|上記(?:参照|の通り)?|変更なし|(?:会話の)?要約|위와 같음|변경 없음|(?:대화 )?요약"
    r"|انظر أعلاه|لا تغيير(?:ات)?|ملخص(?: المحادثة)?|ראה לעיל|אין שינויים|סיכום(?: השיחה)?|ऊपर देखें|कोई बदलाव नहीं|(?:बातचीत का )?सारांश)"
    r"(?:[\s,;:.!-]+|\Z)",
    re.IGNORECASE,
)


def content_chars(summary: str) -> int:
    """Count the characters of a summary's points; a wide character counts as two.

    Args:
        summary: A summary, as written by a model or a person.

    Returns:
        The characters, >= 0, without headings, bullets and points such as "none" or "see above".
    """
    return sum(
        _chars(item) for items in read_sections(summary).values() for item in items if not is_filler(item)
    )


def least_chars(lines: Iterable[RenderedLine], tokens: int) -> int:
    """Return the least content of a summary, growing slowly with the covered tokens and speech.

    Args:
        lines: The transcript covered by the summary.
        tokens: The tokens replaced by the summary, >= 0.

    Returns:
        Characters, in [0, 312]: 12, one for 100 tokens, and at most one for 4 characters of speech and calls.
        A saying counts once, however often said, and no more is demanded than was said. Tool output demands
        nothing: much output may be worth a line.
    """
    said = _said_chars(line for line in lines if line.kind is not LineKind.RESULT)
    least = LEAST_CHARS + min(tokens // _TOKENS_A_CHAR, said // _SAID_CHARS_A_CHAR, MOST_ASKED_CHARS)
    return min(least, said)


def says_little(lines: Iterable[RenderedLine]) -> bool:
    """Tell whether all that was said fits into a few lines, however often it was said: greetings, thanks.

    Args:
        lines: The transcript covered by a summary.

    Returns:
        True if the different lines have no more than `LITTLE_CHARS` characters together.
    """
    return _said_chars(lines) <= LITTLE_CHARS


def _said_chars(lines: Iterable[RenderedLine]) -> int:
    return sum(map(_chars, {line.text for line in lines}))


def is_filler(item: str) -> bool:
    """Tell whether a point only mentions a conversation, or content elsewhere.

    Args:
        item: A point, without its bullet.

    Returns:
        True if the point holds nothing but such phrases.
    """
    plain = " ".join(item.split()).strip(" .…。!*_()[]<>\"'`-")
    if len(plain) > _MOST_FILLER_CHARS:
        return False
    position = 0
    while position < len(plain):
        found = _FILLER.match(plain, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
    return True


def _chars(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)
