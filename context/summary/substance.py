"""Content of a summary: points with information, apart from copied lines and repeated points."""

# ruff: noqa: E501, RUF001 - tables; the phrases are written in their languages' own letters

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.prompt import prompt_lines
from context.summary.sections import SummaryDocument, SummaryLine, join_lines
from context.text.exact_values import normal

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


def content_chars(summary: SummaryDocument) -> int:
    """Count the characters of a summary's points; a wide character counts as two.

    Args:
        summary: The summary.

    Returns:
        The characters, >= 0, without headings, bullets and points such as "none" or "see above".
    """
    return sum(_chars(line.item) for line in summary.lines if line.item and not is_filler(line.item))


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


_LEADING = re.compile(r"[\s\-*•·#>]++|\(")
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
_TRAILING = f"{_BLANKS}.;:()[]*_"
_BULLETED = re.compile(r"\s*[-*•·]\s+\w")
_LEAST_CHARS = 12
_PART_WORDS = 6
"""Number of words in a row shared with the prompt that mark a copy."""

_FEW_LINES = 8
_LOOP_SHARE = 0.5
_WORDS = re.compile(r"[^\W_]+")


def is_echo(line: str) -> bool:
    """Tell whether a line is a line of the prompt, or most of such a line.

    Args:
        line: A line of a draft.

    Returns:
        True if the line repeats the instructions given to every summarizer.
    """
    plain = _plain(line)
    if len(plain) < _LEAST_CHARS:
        return False
    if plain in _known():
        return True
    words = _WORDS.findall(plain)
    if len(words) < _PART_WORDS:
        return False
    known = _known_runs()
    runs = [" ".join(words[at : at + _PART_WORDS]) for at in range(len(words) - _PART_WORDS + 1)]
    found = sum(run in known for run in runs)
    return found * 2 > len(runs)


def drop_echo(draft: SummaryDocument) -> tuple[SummaryDocument, int]:
    """Leave the prompt's own lines and repeated points out of a draft.

    Args:
        draft: A draft, cleaned.

    Returns:
        The draft, and the number of dropped lines.
    """
    kept: list[SummaryLine] = []
    seen: set[tuple[str, str]] = set()
    dropped = 0
    for line in draft.lines:
        key = (str(line.section), normal(line.item))
        is_point = len(line.item) >= _LEAST_CHARS or _BULLETED.match(line.text) is not None
        is_again = bool(line.item) and is_point and key in seen
        if not line.is_heading and line.text.strip() and (is_again or is_echo(line.text)):
            dropped += 1
            continue
        seen.add(key)
        kept.append(line)
    return (SummaryDocument(join_lines(kept).text.strip("\n")) if dropped else draft), dropped


def is_loop(text: str) -> bool:
    """Tell whether a text loops: half of its lines, or its last words, repeat.

    Args:
        text: Text written by a model, cut off or not.

    Returns:
        True for a loop; more room would only lengthen a loop.
    """
    lines = [normal(line) for line in text.splitlines() if line.strip()]
    if _goes_round(lines, _FEW_LINES):
        return True
    words = _WORDS.findall(normal(text[-4_000:]))
    threes = [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
    return len(threes) >= 10 * _FEW_LINES and len(set(threes)) < _LOOP_SHARE / 2 * len(threes)


def _goes_round(lines: list[str], least: int) -> bool:
    counts = Counter(lines)
    again = sum(times - 1 for times in counts.values())
    return len(lines) >= least and again >= _LOOP_SHARE * len(lines)


def _plain(line: str) -> str:
    return normal(_bare(_bare(line)))


def _bare(line: str) -> str:
    """Take the marks off both ends, once."""
    leading = _LEADING.match(line)
    return line[leading.end() if leading else 0 :].rstrip(_TRAILING)


@cache
def _known() -> frozenset[str]:
    return frozenset(filter(None, map(_plain, prompt_lines())))


@cache
def _known_runs() -> frozenset[str]:
    return frozenset(_runs(prompt_lines()))


def _runs(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        words = _WORDS.findall(normal(line))
        yield from (" ".join(words[at : at + _PART_WORDS]) for at in range(len(words) - _PART_WORDS + 1))
