# ruff: noqa: SIM905 - tables
"""Removal of a client's wrappers around a user's words: reminders, an editor's state, a tool's output."""

import re
from bisect import bisect_left

_OPENING = re.compile(r"<([A-Za-z][A-Za-z0-9_.-]{1,60})(?:\s[^<>]{0,400})?>")
_CLOSING = re.compile(r"</([A-Za-z][A-Za-z0-9_.-]{1,60})\s{0,8}>")
_PIECES = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_FENCE = "```"
_LONGER = 2

_OF_CLIENTS = frozenset(
    (
        "reminder reminders environment env details context system ide editor workspace selection "
        "attached attachment attachments metadata meta notification notifications caveat stdout stderr "
        "memory memories instructions rules diagnostics timestamp hook hooks background recalled recall "
        "project repo repository git layout cwd terminal terminals cursor vscode status session budget "
        "todos skills agents info data platform files file tabs command local tool tools result results "
        "output errors warnings warning linter now utc date time current recent previous profile "
        "preferences history conversation chat mode state policy settings"
    ).split()
)
"""Words in the names of clients' blocks; one word in a longer name is enough."""

_ALONE = frozenset(
    (
        "reminder environment context system ide editor workspace metadata notification caveat stdout "
        "stderr memory memories diagnostics timestamp"
    ).split()
)
"""Names of one word that no user writes around a question of code."""

_OF_USERS = frozenset(
    "query question request prompt message task feedback input ask answer text args".split()
)
"""Last words of longer names of blocks with the user's own words inside."""


def without_wrappers(text: str) -> str:
    """Remove the blocks inserted into a message by its client; the time is linear in its length.

    A block is everything from `<system-reminder>` to the closing tag, if the name is made of the words of
    clients: `environment_details`, `ide_selection`, `additional-data`. A block named for the user
    (`user_query`) loses its tags and keeps its words. Code fences stay unchanged, and so does an unclosed
    block.

    Args:
        text: The message.

    Returns:
        The user's words, the same text without such a block; empty if there is nothing else.
    """
    if "</" not in text:
        return text
    closings: dict[str, list[tuple[int, int]]] = {}
    for found in _CLOSING.finditer(text):
        closings.setdefault(found[1].lower(), []).append(found.span())
    kept, place, fences = list[str](), 0, _Fences(text)
    for opening in _OPENING.finditer(text):
        ends = closings.get(opening[1].lower(), ())
        if opening.start() < place or not ends or fences.is_open_at(opening.start()):
            continue
        pieces = [piece.lower() for piece in _PIECES.findall(opening[1])]
        at = bisect_left(ends, (opening.end(), 0))
        if at == len(ends) or not _is_wrapper(pieces):
            continue
        kept.append(text[place : opening.start()])
        if pieces[-1] in _OF_USERS:
            kept.append(text[opening.end() : ends[at][0]])
        place = ends[at][1]
    if not place:
        return text
    return "\n".join(part.strip() for part in (*kept, text[place:]) if part.strip())


class _Fences:
    """The code fences of a text, counted from its beginning to its end once."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._count = text, 0, 0

    def is_open_at(self, place: int) -> bool:
        """Say whether a fence is open at a place; places must ascend from call to call."""
        self._count += self._text.count(_FENCE, self._place, place)
        self._place = place
        return self._count % 2 == 1


def _is_wrapper(pieces: list[str]) -> bool:
    if len(pieces) < _LONGER:
        return not _ALONE.isdisjoint(pieces)
    return not _OF_CLIENTS.isdisjoint(pieces) or (pieces[0] == "user" and pieces[-1] in _OF_USERS)
