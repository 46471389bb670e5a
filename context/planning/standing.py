"""The question that stands: what a user still wants who has only said "yes, go ahead"."""

from collections.abc import Sequence

from context.preflight.signs import LITTLE_WORDS, Signs, find_signs
from context.recall.question import find_question
from context.types import Message

MOST_WORDS = 16
"""A longer message says something of its own."""

OWN_WORDS = 2
"""Told to go on, so many other words still ask for nothing: "go ahead with that booking"."""

LOOKED_BACK = 6
"""So many earlier messages of the user are looked at; behind as many nods, nobody knows what is agreed to."""

_YES, _GO, _POLITE = "casual.yes", "follow.go", "plan.want"
_CARRIED = ("casual.", "follow.", "you.", "plan.want", "mem.i")
_LONGEST_RUN = 8
_DIGITS = frozenset("0123456789")


def standing_question(new: Sequence[Message], tail: Sequence[Message] = ()) -> str:
    """Find what the user wants of artifacts.

    Args:
        new: The messages that the request brings.
        tail: The newest stored messages, oldest first.

    Returns:
        The words of the newest message that does more than agree; where all do, of the newest.
    """
    asked = find_question(new, tail)
    if not only_agrees(asked):
        return asked
    earlier = [message for message in tail if message.starts_turn]
    if not any(message.starts_turn for message in new):
        earlier.pop()
    words = (find_question([message]) for message in reversed(earlier[-LOOKED_BACK:]))
    return next((said for said in words if said and not only_agrees(said)), asked)


def only_agrees(text: str) -> bool:
    """Whether a message agrees to what was said, or tells to go on, and says nothing else.

    Args:
        text: A message, in any of the languages that preflight knows.
    """
    if not _DIGITS.isdisjoint(text) or "?" in text:
        return False
    signs = find_signs(text)
    if not signs.has(_YES, _GO) or len(signs.words) > MOST_WORDS:
        return False
    return _own_words(signs) <= (OWN_WORDS if _goes_on(signs) else 0)


def _goes_on(signs: Signs) -> bool:
    """Whether it tells to go on in words of its own: "please" and "yes please" alone do not."""
    said = {piece for sign in (_YES, _POLITE) for text in signs.found.get(sign, ()) for piece in text.split()}
    return any(not said.issuperset(text.split()) for text in signs.found.get(_GO, ()))


def _own_words(signs: Signs) -> int:
    """Count the words that neither agree nor are little; a stretch without blanks counts if it is long."""
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
