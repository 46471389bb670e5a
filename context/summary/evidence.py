# ruff: noqa: RUF001 - marks in many scripts
"""Claims of finished work in a summary: the messages that prove them, and the mark of unproven claims."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from context.languages import by_language
from context.summary.sections import Section, SummaryLine, read_lines

_CITED = re.compile(r"\[\s*(\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*)(?:\s?·[^\[\]\n]{1,30})?\s*\]")
"""Numbers of messages, perhaps with the day: "[3 · 8 May 2023]"."""
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\w\[\d+\]")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")
_FENCE = re.compile(r"\s*(?:```|~~~)")

_MARKS = by_language(lambda one: one.unproven)
MARKED = re.compile(r"\((?:" + "|".join(map(re.escape, _MARKS.values())) + r")\)\W*\Z")
"""Pattern of the mark at the end of an unproven claim."""


@dataclass(frozen=True)
class Claims:
    """A summary with its claims checked.

    Attributes:
        text: The summary: citations of unread messages are gone, claims without citations are marked.
        claims: The number of points that report finished work.
        unproven: The number of claims without a citation of a read message.
        false: The number of claims that cited only unread messages.
    """

    text: str
    claims: int = 0
    unproven: int = 0
    false: int = 0


def check_claims(summary: str, known: range, *, language: str) -> Claims:
    """Mark the claims of a summary that lack proof; no content is lost.

    Args:
        summary: The summary, cleaned.
        known: The numbers of the messages read by the writer, or covered by the earlier notes.
        language: The language of the mark, an ISO 639-1 code; English if unknown.

    Returns:
        The summary with corrected claims, and their counts. A second run changes nothing.
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
    """Remove message numbers and days from a point, since they are no part of the content."""
    return _CITED.sub(" ", claim)


def is_unproven(claim: str) -> bool:
    """Tell whether a claim carries the mark of an unproven claim."""
    return MARKED.search(claim) is not None


def _claims(summary: str) -> Iterator[tuple[SummaryLine, bool]]:
    """Yield each line with a flag for claims; tables and code are not points."""
    is_code = False
    for line in read_lines(summary):
        if _FENCE.match(line.text):
            is_code = not is_code
        is_point = bool(line.item) and not is_code and not line.text.lstrip().startswith(("|", "```", "~~~"))
        yield line, is_point and line.section is Section.DONE


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)


def _only_known(claim: str, known: range) -> str:
    """Remove citations of unread messages."""
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
    """Drop unread message numbers from a citation; keep the read end of a range only partly read."""
    found = [(found[0], int(found[1]), int(found[2] or found[1])) for found in _RANGE.finditer(cited)]
    if all(first in known and last in known for _, first, last in found):
        return cited
    kept = (
        words if first in known and last in known else str(first if first in known else last)
        for words, first, last in found
        if first in known or last in known
    )
    return ", ".join(kept)
