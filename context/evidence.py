# ruff: noqa: RUF001 - marks in many scripts
"""What a summary claims as done: which messages prove it, and what is said of a claim that none does."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from context.sections import Section, SummaryLine, read_lines

_CITED = re.compile(r"\[\s*(\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*)(?:\s?·[^\[\]\n]{1,30})?\s*\]")
"""Numbers of messages, perhaps with the day: "[3 · 8 May 2023]"."""
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\w\[\d+\]")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")
_FENCE = re.compile(r"\s*(?:```|~~~)")

_MARKS = {
    "en": "unverified",
    "de": "nicht belegt",
    "fr": "non vérifié",
    "es": "sin verificar",
    "pt": "não verificado",
    "it": "non verificato",
    "nl": "niet geverifieerd",
    "pl": "niepotwierdzone",
    "tr": "doğrulanmadı",
    "ru": "не подтверждено",
    "uk": "не підтверджено",
    "zh": "未经证实",
    "ja": "未確認",
    "ko": "미확인",
    "ar": "غير مؤكد",
    "he": "לא אומת",
    "hi": "असत्यापित",
}
MARKED = re.compile(r"\((?:" + "|".join(map(re.escape, _MARKS.values())) + r")\)\W*\Z")
"""What a claim ends with that no message proves."""


@dataclass(frozen=True)
class Claims:
    """A summary whose claims say what proves them.

    Attributes:
        text: The summary: citations of messages that were not read are gone, claims without any are marked.
        claims: How many points say that something was done.
        unproven: How many of them cite no message that was read.
        false: How many of those cited messages, none of which was read.
    """

    text: str
    claims: int = 0
    unproven: int = 0
    false: int = 0


def check_claims(summary: str, known: range, *, language: str) -> Claims:
    """Let a summary claim as done only what it can prove; nothing that it says is lost.

    Args:
        summary: The summary, cleaned.
        known: The numbers of the messages that its writer read, or that the notes before it stand for.
        language: Of the mark, an ISO 639-1 code; English where it is not known.

    Returns:
        The summary with its claims mended, and how many there are. Mending it again changes nothing.
    """
    mark = f" ({_MARKS.get(language, _MARKS['en'])})"
    written: list[str] = []
    claims = unproven = false = 0
    for line, is_claim in _claims(summary):
        if not is_claim:
            written.append(line.text)
            continue
        text = _only_known(line.text, known)
        is_proven = has_proof(text)
        claims, unproven = claims + 1, unproven + (not is_proven)
        false += not is_proven and text != line.text
        written.append(text if is_proven or is_unproven(text) else text.rstrip() + mark)
    return Claims("\n".join(written), claims, unproven, false) if unproven or claims else Claims(summary)


def has_proof(claim: str) -> bool:
    """Tell whether a claim names a message, outside of quotes and code."""
    return _CITED.search(_masked(claim)) is not None


def without_sources(claim: str) -> str:
    """Take the numbers of messages and their days out of a point: they are no part of what it says."""
    return _CITED.sub(" ", claim)


def is_unproven(claim: str) -> bool:
    """Tell whether a claim was marked as one that no message proves."""
    return MARKED.search(claim) is not None


def _claims(summary: str) -> Iterator[tuple[SummaryLine, bool]]:
    """Read the lines, each with whether it claims something; tables and code are not points."""
    is_code = False
    for line in read_lines(summary):
        if _FENCE.match(line.text):
            is_code = not is_code
        is_point = bool(line.item) and not is_code and not line.text.lstrip().startswith(("|", "```", "~~~"))
        yield line, is_point and line.section is Section.DONE


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)


def _only_known(claim: str, known: range) -> str:
    """Take out what is cited and was not read."""
    parts: list[str] = []
    position = 0
    for cited in _CITED.finditer(_masked(claim)):
        kept = _known_part(cited[1], known)
        if kept == cited[1]:
            continue
        before = claim[position : cited.start()]
        parts += [before, f"[{kept}]"] if kept else [before.rstrip()]
        position = cited.end()
    return "".join(parts) + claim[position:]


def _known_part(cited: str, known: range) -> str:
    """Keep of a citation what was read; of a range that runs out of it, the end that was."""
    found = [(found[0], int(found[1]), int(found[2] or found[1])) for found in _RANGE.finditer(cited)]
    if all(first in known and last in known for _, first, last in found):
        return cited
    kept = (
        words if first in known and last in known else str(first if first in known else last)
        for words, first, last in found
        if first in known or last in known
    )
    return ", ".join(kept)
