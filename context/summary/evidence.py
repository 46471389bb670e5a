"""Evidence for a summary: citations of its claims, the mark of unproved claims, names to keep."""

# ruff: noqa: RUF001 - dashes of ranges

import re
from collections.abc import Sequence
from dataclasses import dataclass

from context.conversation.transcript import LineKind, RenderedLine
from context.languages import by_language
from context.summary.others_words import drop_code
from context.summary.sections import PROTECTED, Section, SummaryDocument
from context.text.exact_values import rank_identifiers
from context.types import Role

_CITED = re.compile(r"\[\s*(\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*)(?:\s?·[^\[\]\n]{1,30})?\s*\]")
"""Numbers of messages, perhaps with the day: "[3 · 8 May 2023]"."""
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\w\[\d+\]")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")

_MARKS = by_language(lambda one: one.unproven)
MARKED = re.compile(r"\((?:" + "|".join(map(re.escape, _MARKS.values())) + r")\)\W*\Z")
"""Pattern of the mark at the end of an unproven claim."""


@dataclass(frozen=True)
class Claims:
    """A summary with its claims checked.

    Attributes:
        notes: The summary: citations of unread messages are gone, claims without citations are marked.
        claims: The number of points that report finished work.
        unproven: The number of claims without a citation of a read message.
        false: The number of claims that cited only unread messages.
    """

    notes: SummaryDocument
    claims: int = 0
    unproven: int = 0
    false: int = 0


def check_claims(summary: SummaryDocument, known: range, *, language: str) -> Claims:
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
    for line in summary.lines:
        # Tables and code are no points.
        is_point = bool(line.item) and not line.is_code and not line.text.lstrip().startswith("|")
        if not is_point or line.section is not Section.DONE:
            written.append(line.text)
            continue
        text = _only_known(line.text, known)
        is_proven = has_proof(text)
        claims, unproven = claims + 1, unproven + (not is_proven)
        false += not is_proven and text != line.text
        written.append(text if is_proven or is_unproven(text) else text.rstrip() + mark)
    return Claims(SummaryDocument("\n".join(written)), claims, unproven, false) if claims else Claims(summary)


def has_proof(claim: str) -> bool:
    """Tell whether a claim names a message, outside of quotes and code."""
    return _CITED.search(_masked(claim)) is not None


def without_sources(claim: str) -> str:
    """Remove message numbers and days from a point, since they are no part of the content."""
    return _CITED.sub(" ", claim)


def is_unproven(claim: str) -> bool:
    """Tell whether a claim carries the mark of an unproven claim."""
    return MARKED.search(claim) is not None


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


def protected_identifiers(previous: SummaryDocument, *, limit: int) -> list[str]:
    """Name the protected parts of the last summary: constraints, open work and identifiers.

    Args:
        previous: The last summary.
        limit: The most names.

    Returns:
        The names, heaviest first.
    """
    sources = [
        (without_sources(item), 1.0) for section in PROTECTED for item in previous.sections.get(section, [])
    ]
    return rank_identifiers(sources, limit=limit)


_WEIGHTS = {LineKind.TEXT: 1.0, LineKind.CALL: 3.0, LineKind.RESULT: 0.0}
_USER_WEIGHT = 4.0


def covered_identifiers(lines: Sequence[RenderedLine], *, limit: int) -> list[str]:
    """Name the identifiers of a transcript that a summary should keep: from users' words and tool arguments.

    Args:
        lines: The transcript.
        limit: The most names.

    Returns:
        The names, heaviest first. Users' words and calls' arguments weigh more than models' words; names
        found only in tool output do not count.
    """
    tools = {line.text.split("(", 1)[0] for line in lines if line.kind is LineKind.CALL}
    tools |= {line.speaker for line in lines if line.kind is LineKind.RESULT}
    told = ((own_words(line), _weight(line)) for line in lines)
    ranked = rank_identifiers(told, limit=limit + len(tools))
    return [name for name in ranked if name.rstrip("()") not in tools][:limit]


def own_words(line: RenderedLine) -> str:
    """Drop words a speaker did not write: the name of the called tool, and pasted code.

    Args:
        line: A line of a transcript.

    Returns:
        The arguments of a call; of words, the prose.
    """
    if line.kind is LineKind.CALL:
        return line.text.partition("(")[2]
    return drop_code(line.text) if line.kind is LineKind.TEXT else line.text


def _weight(line: RenderedLine) -> float:
    return _USER_WEIGHT if line.role is Role.USER and line.kind is LineKind.TEXT else _WEIGHTS[line.kind]
