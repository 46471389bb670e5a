"""Follow-up messages, small talk and new requests told apart, without a client's wrappers."""

# ruff: noqa: SIM905 - tables

import math
import re
from bisect import bisect_left
from enum import StrEnum

from context.preflight.lexicon import COMMANDS, LITTLE_WORDS, Signs

_OPENING = re.compile(r"<([A-Za-z][A-Za-z0-9_.-]{1,60})(?:\s[^<>]{0,400})?>")
_CLOSING_TAG = re.compile(r"</([A-Za-z][A-Za-z0-9_.-]{1,60})\s{0,8}>")
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
        "preferences history conversation chat mode state policy settings information runtime retrieved "
        "knowledge documents folder directory"
    ).split()
)
"""Words in the names of clients' blocks; one word in a longer name is enough."""

_ALONE = frozenset(
    (
        "reminder environment context system ide editor workspace metadata notification caveat stdout "
        "stderr memory memories diagnostics timestamp attachment attachments document documents selection "
        "lints"
    ).split()
)
"""Names of one word that no user writes around a question of code."""

_OF_USERS = frozenset(
    "query question request prompt message task feedback input ask answer text args".split()
)
"""Last words of longer names of blocks with the user's own words inside."""

_AROUND_ALL = re.compile(rf"{_OPENING.pattern}(.*)</\1\s{{0,8}}>", re.DOTALL)
"""A block around a whole text."""

_OF_PROGRAMS = frozenset(
    (
        "system tool tools hook hooks notification notifications status reminder reminders ide editor "
        "environment terminal background output errors warnings git"
    ).split()
)
"""Words in the names of blocks with a program's words, whatever their last word: `hook_feedback`."""


def without_wrappers(text: str) -> str:
    """Remove the blocks inserted into a message by its client; the time is linear in its length.

    A block is everything from `<system-reminder>` to the closing tag, if the name is made of the words of
    clients: `environment_details`, `ide_selection`, `additional-data`. A block named for the user
    (`user_query`) loses its tags and keeps its words, and so does one around all that is left (`task`). Code
    fences stay unchanged, and so does an unclosed block.

    Args:
        text: The message.

    Returns:
        The user's words, the same text without such a block; empty if there is nothing else.
    """
    if "</" not in text:
        return text
    closings: dict[str, list[tuple[int, int]]] = {}
    for found in _CLOSING_TAG.finditer(text):
        closings.setdefault(found[1].lower(), []).append(found.span())
    kept, place, fences = list[str](), 0, _Fences(text)
    for opening in _OPENING.finditer(text):
        ends = closings.get(opening[1].lower(), ())
        if opening.start() < place or not ends or fences.is_open_at(opening.start()):
            continue
        pieces = _pieces(opening[1])
        at = bisect_left(ends, (opening.end(), 0))
        if at == len(ends) or not _is_wrapper(pieces):
            continue
        kept.append(text[place : opening.start()])
        if _is_of_user(pieces):
            kept.append(text[opening.end() : ends[at][0]])
        place = ends[at][1]
    left = text
    if place:
        left = "\n".join(part.strip() for part in (*kept, text[place:]) if part.strip())
    whole = _AROUND_ALL.fullmatch(left.strip())
    return whole[2].strip() if whole and _is_of_user(_pieces(whole[1])) else left


def _pieces(name: str) -> list[str]:
    return [piece.lower() for piece in _PIECES.findall(name)]


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


def _is_of_user(pieces: list[str]) -> bool:
    is_told = pieces == ["command", "message"]  # by the client: the user's words stand in `command-args`
    return pieces[-1] in _OF_USERS and _OF_PROGRAMS.isdisjoint(pieces) and not is_told


_MOST_STRAY_SHARE = 0.35
_TALK = ("casual.", "you.", "follow.")
_POLITE = ("casual.greeting", "casual.thanks", "casual.bye")
_BESIDE = (*_TALK, "shape.", "both.", "mem.", "ask.what", "ask.generic", "plan.want")


def is_more_than_small_talk(signs: Signs) -> bool:
    """Say whether many of a message's words are no small talk, so that anything may be asked.

    One unknown word beside a short greeting or thanks is whom it is for: "howdy partner".
    """
    if not signs.words:
        return False
    talk = {piece for text in _said(signs, _TALK) for piece in text.split()}
    strays = [word for word in signs.words if word not in talk and word not in LITTLE_WORDS]
    is_address = signs.has("shape.short") and signs.has(*_POLITE) and not signs.has("shape.question")
    if is_address and len(strays) == 1 and strays[0] not in COMMANDS:
        return False
    return len(strays) > len(signs.words) * _MOST_STRAY_SHARE


def is_all_small_talk(signs: Signs) -> bool:
    """Say whether a message asks only small talk: "how are you?", "who made you?"."""
    if not all(sign.startswith(_BESIDE) for sign in signs.found):
        return False
    phrases = _said(signs, ("casual.",))
    asking = signs.found.get("ask.what", set())
    return all(any(text in phrase for phrase in phrases) for text in asking)


def _said(signs: Signs, kinds: tuple[str, ...]) -> set[str]:
    return {text for sign, texts in signs.found.items() if sign.startswith(kinds) for text in texts}


HALF_LIFE_S = 1_800.0
"""Seconds after which a session's last task lends half of its confidence."""

FRESH = 0.25
"""Share of the confidence below which nobody can tell the subject of a "yes"."""

_MAX_WORDS = 12
_MAX_CONTENT_WORDS = 2
_MAX_RUN_CHARS = 14
_MAX_REST_CHARS = 3

_ANSWERS = ("casual.yes", "casual.no", "casual.maybe", "casual.indifferent")
_GOING_ON = ("follow.go", "follow.and", "follow.that")
_SIDE = ("you.word", "mem.i", "plan.want", "casual.praise", "casual.thanks", "plan.also", "ask.what")
_THANKS = "casual.thanks"
_CLOSING = (
    _THANKS,
    "casual.bye",
    "casual.greeting",
    "casual.joke",
    "casual.persona",
    "casual.feeling",
)
_TOPICS = (
    "ask.topic",
    "ask.world",
    "ask.place",
    "ask.food",
    "code.strong",
    "code.craft",
    "code.lang",
    "code.shell",
    "coin.",
    "ops.",
    "media.thing",
    "media.verb",
    "media.play",
    "mem.recall",
    "plan.steps",
    "plan.several",
)
_CARRYING = frozenset({*_ANSWERS, *_GOING_ON, *_SIDE})
_APPROVING = (*_ANSWERS, "casual.praise")


class FollowUp(StrEnum):
    """Ways in which a message continues the conversation."""

    NONE = "none"
    ANSWER = "answer"
    ORDER = "order"
    MORE = "more"


def find_follow_up(signs: Signs) -> FollowUp:
    """Tell whether a message can be understood only by the messages before.

    Args:
        signs: The signs of the message.

    Returns:
        ORDER for "go on" and its like, ANSWER for a plain yes, no, maybe or "perfect", or a sign without
        words, MORE for a backward reference ("and the second one?") or a consent to something named ("yes, go
        ahead with the booking"), NONE for a message complete in itself.
    """
    if signs.has("shape.wordless", "shape.unspoken"):
        return FollowUp.MORE if signs.has("shape.question") else FollowUp.ANSWER
    if _is_long(signs):
        return FollowUp.NONE
    content = _content_words(signs)
    if signs.has(*_CLOSING) and not signs.has("follow.go"):
        return _after_thanks(signs, content)
    if not content and signs.has("follow.go"):
        return FollowUp.ORDER
    accepts = signs.has("casual.yes") and signs.has("follow.go")
    if accepts or (content <= _MAX_CONTENT_WORDS and _points_back(signs)):
        return FollowUp.MORE
    return FollowUp.ANSWER if not content and signs.has(*_APPROVING) else FollowUp.NONE


def _after_thanks(signs: Signs, content: int) -> FollowUp:
    """Judge thanks: an end if alone; after approval ("ok, thanks") perhaps the yes to go on."""
    ends = signs.has(*(sign for sign in _CLOSING if sign != _THANKS))
    if ends or not signs.has(*_APPROVING) or content > _MAX_CONTENT_WORDS:
        return FollowUp.NONE
    return FollowUp.MORE if content else FollowUp.ANSWER


def _is_long(signs: Signs) -> bool:
    return len(signs.words) > _MAX_WORDS or sum(map(len, signs.runs)) > _MAX_RUN_CHARS


def weight_after(age_s: float) -> float:
    """How much of a past task's confidence is left after a time in seconds, in (0, 1]."""
    return math.pow(0.5, max(age_s, 0.0) / HALF_LIFE_S)


def _content_words(signs: Signs) -> int:
    """Count the words beyond signs of continuation."""
    carried = {
        piece
        for sign in _CARRYING & signs.found.keys()
        for text in signs.found[sign]
        for piece in text.split()
    }
    words = sum(word not in carried and word not in LITTLE_WORDS for word in signs.words)
    if not signs.runs:
        return words
    rest = "".join(signs.runs)
    for text in sorted(carried, key=len, reverse=True):
        rest = rest.replace(text, "")
    return words + max(len(rest) - _MAX_REST_CHARS, 0)


def _points_back(signs: Signs) -> bool:
    """Say whether a message begins with a word of continuation, or has only a pronoun as the subject."""
    if signs.has("follow.that") and not any(sign.startswith(_TOPICS) for sign in signs.found):
        return True
    opening = " ".join(signs.words[:3])
    return any(
        opening == text or opening.startswith(text + " ") for text in signs.found.get("follow.and", ())
    )
