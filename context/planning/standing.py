"""Standing question of a user, in force behind a mere "yes, go ahead"."""

from collections.abc import Sequence

from context.preflight.signs import LITTLE_WORDS, Signs, find_signs
from context.recall.question import find_question
from context.types import Message

MOST_WORDS = 16
"""Length in words above which a message says something of its own."""

OWN_WORDS = 2
"""Number of other words that still ask for nothing beside "go on": "go ahead with that booking"."""

LOOKED_BACK = 6
"""Earlier user messages to search; behind as many nods, nobody knows the agreed subject."""

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
