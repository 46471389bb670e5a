"""Cuts in a text that do not tear a visible character."""

import unicodedata

_JOINER = "\u200d"
_MAX_BACK = 64
"""Longest cluster kept whole, in code points; longer clusters exist only to break software."""


def floor_border(text: str, index: int) -> int:
    """Move a cut back to the nearest border between visible characters.

    Args:
        text: Any text.
        index: Position of the cut, 0 to the length.

    Returns:
        The border, at most 64 code points before the index; the index without a border so near.
    """
    return next(
        (near for near in range(index, max(index - _MAX_BACK, 0) - 1, -1) if is_border(text, near)), index
    )


def ceil_border(text: str, index: int) -> int:
    """Move a cut forward to the nearest border; the counterpart of `floor_border`."""
    stop = min(index + _MAX_BACK, len(text))
    return next((near for near in range(index, stop + 1) if is_border(text, near)), index)


def is_border(text: str, index: int) -> bool:
    """Say whether a cut here keeps accents, joined emoji, flags, syllables and line ends together."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":
        return before + after != "\r\n"
    return not (
        _JOINER in {before, after}
        or unicodedata.category(after).startswith("M")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or (_is_conjoining_jamo(before) and _is_conjoining_jamo(after))
        or _splits_flag(text, index)
    )


def _is_conjoining_jamo(character: str) -> bool:
    return "\u1100" <= character <= "\u11ff"


def _splits_flag(text: str, index: int) -> bool:
    """Say whether an odd number of flag letters precedes the cut and another flag letter follows."""
    if not _is_flag_letter(text[index]):
        return False
    run = 0
    while run < min(index, _MAX_BACK) and _is_flag_letter(text[index - 1 - run]):
        run += 1
    return run % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
