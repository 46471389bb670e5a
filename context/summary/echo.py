"""Empty content of a draft: lines copied from the prompt, and repeated points."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from context.summary.prompt import prompt_lines
from context.summary.sections import read_lines
from context.text.exact_values import normal

_LEADING = re.compile(r"[\s\-*•·#>]++|\(")
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
_TRAILING = f"{_BLANKS}.;:()[]*_"
_BULLETED = re.compile(r"\s*[-*•·]\s+\w")
_LEAST_CHARS = 12
_PART_WORDS = 6
"""Number of words in a row shared with the prompt that mark a copy."""

_FEW_LINES = 8
_LOOP_SHARE = 0.5
_WORDS = re.compile(r"[^\W_]+")


def is_echo(line: str) -> bool:
    """Tell whether a line is a line of the prompt, or most of such a line.

    Args:
        line: A line of a draft.

    Returns:
        True if the line repeats the instructions given to every summarizer.
    """
    plain = _plain(line)
    if len(plain) < _LEAST_CHARS:
        return False
    if plain in _known():
        return True
    words = _WORDS.findall(plain)
    if len(words) < _PART_WORDS:
        return False
    known = _known_runs()
    runs = [" ".join(words[at : at + _PART_WORDS]) for at in range(len(words) - _PART_WORDS + 1)]
    found = sum(run in known for run in runs)
    return found * 2 > len(runs)


def drop_echo(draft: str) -> tuple[str, int]:
    """Leave the prompt's own lines and repeated points out of a draft.

    Args:
        draft: A draft, cleaned.

    Returns:
        The draft, and the number of dropped lines.
    """
    kept: list[str] = []
    seen: set[tuple[str, str]] = set()
    dropped = 0
    for line in read_lines(draft):
        key = (str(line.section), normal(line.item))
        is_point = len(line.item) >= _LEAST_CHARS or _BULLETED.match(line.text) is not None
        is_again = bool(line.item) and is_point and key in seen
        if not line.is_heading and line.text.strip() and (is_again or is_echo(line.text)):
            dropped += 1
            continue
        seen.add(key)
        kept.append(line.text)
    return ("\n".join(kept).strip("\n") if dropped else draft), dropped


def is_loop(text: str) -> bool:
    """Tell whether a text loops: half of its lines, or its last words, repeat.

    Args:
        text: Text written by a model, cut off or not.

    Returns:
        True for a loop; more room would only lengthen a loop.
    """
    lines = [normal(line) for line in text.splitlines() if line.strip()]
    if _goes_round(lines, _FEW_LINES):
        return True
    words = _WORDS.findall(normal(text[-4_000:]))
    threes = [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
    return len(threes) >= 10 * _FEW_LINES and len(set(threes)) < _LOOP_SHARE / 2 * len(threes)


def _goes_round(lines: list[str], least: int) -> bool:
    counts = Counter(lines)
    again = sum(times - 1 for times in counts.values())
    return len(lines) >= least and again >= _LOOP_SHARE * len(lines)


def _plain(line: str) -> str:
    return normal(_bare(_bare(line)))


def _bare(line: str) -> str:
    """Take the marks off both ends, once."""
    leading = _LEADING.match(line)
    return line[leading.end() if leading else 0 :].rstrip(_TRAILING)


@cache
def _known() -> frozenset[str]:
    return frozenset(filter(None, map(_plain, prompt_lines())))


@cache
def _known_runs() -> frozenset[str]:
    return frozenset(_runs(prompt_lines()))


def _runs(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        words = _WORDS.findall(normal(line))
        yield from (" ".join(words[at : at + _PART_WORDS]) for at in range(len(words) - _PART_WORDS + 1))
