"""Distinction between small talk and a request with only the beginning or looks of small talk."""

from context.preflight.signs import LITTLE_WORDS, Signs

_MOST_STRAY_SHARE = 0.35
_TALK = ("casual.", "you.", "follow.")
_BESIDE = (*_TALK, "shape.", "both.", "mem.", "ask.what", "ask.generic", "plan.want")


def is_more_than_small_talk(signs: Signs) -> bool:
    """Say whether many of a message's words are no small talk, so that anything may be asked."""
    if not signs.words:
        return False
    talk = {piece for text in _said(signs, _TALK) for piece in text.split()}
    strays = sum(word not in talk and word not in LITTLE_WORDS for word in signs.words)
    return strays > len(signs.words) * _MOST_STRAY_SHARE


def is_all_small_talk(signs: Signs) -> bool:
    """Say whether a message asks only small talk: "how are you?", "who made you?"."""
    if not all(sign.startswith(_BESIDE) for sign in signs.found):
        return False
    phrases = _said(signs, ("casual.",))
    asking = signs.found.get("ask.what", set())
    return all(any(text in phrase for phrase in phrases) for text in asking)


def _said(signs: Signs, kinds: tuple[str, ...]) -> set[str]:
    return {text for sign, texts in signs.found.items() if sign.startswith(kinds) for text in texts}
