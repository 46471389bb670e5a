"""Proof by a message of the act claimed by a point."""

from context.acts import claims_act, only_reads, tells_act
from context.identifiers import extract_identifiers, kept_identifiers, normal
from context.language import UNKNOWN, detect_language, same_language
from context.render import LineKind, RenderedLine
from context.source import Said, line_terms, share_of, support_of
from context.strange import is_exact_name

_PROOF_SHARE = 0.34
"""Share of a claim's words that a proving message must contain."""


def is_undone(said: Said) -> bool:
    """Tell whether a point claims an act reported by no message."""
    if not claims_act(said.plain):
        return False
    if any(_proves(line, said) for line in support_of(said)):
        return False
    others = said.source.about(said.terms)
    if any(_proves(line, said) and _shares_half(line, said) for line in others):
        return False
    acts = (line for line in said.source.lines if not said.cited and _acted(line))
    return not any(_is_in_other_words(said, line) for line in acts)


def _shares_half(line: RenderedLine, said: Said) -> bool:
    return len(said.terms & line_terms(line.text)) * 2 >= len(said.terms)


def _proves(line: RenderedLine, said: Said) -> bool:
    if line.kind is LineKind.RESULT:
        step = said.source.by_step[line.step]
        if not _acted(line):
            return False
        names = [name for name in extract_identifiers(said.plain) if is_exact_name(name)]
        told = normal(" ".join(other.text for other in step))
        is_named = bool(kept_identifiers(told, names))
        return is_named or share_of(said.terms, step) >= _PROOF_SHARE or _is_in_other_words(said, line)
    if line.kind is LineKind.CALL:
        return False
    return tells_act(line.text) and share_of(said.terms, [line]) >= _PROOF_SHARE


def _acted(line: RenderedLine) -> bool:
    return line.kind is LineKind.RESULT and not line.failed and not only_reads(line.speaker)


def _is_in_other_words(said: Said, line: RenderedLine) -> bool:
    """Say whether a point and a call differ in language, and so cannot be compared."""
    own = detect_language(said.plain)
    step = " ".join(other.text for other in said.source.by_step[line.step])
    theirs = detect_language(step)
    return own not in {UNKNOWN, "en"} and (theirs == UNKNOWN or not same_language(own, theirs))
