# ruff: noqa: E501 - a table
"""Pasted text, written by somebody else: code, logs, traces."""

import re
from collections.abc import Iterable, Iterator

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.foreign import split_foreign
from context.text.language import UNKNOWN, detect_language, guess_language, main_language
from context.types import Role

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_MARKUP = re.compile(r"[{}<>\\\\=;|$#()\[\]]|\w_\w|::|->|\w\.\w+\(")
_MARKUP_SHARE = 0.08
_INDENTED = re.compile(r"(?:\s{2}|\t)\s*(?![-*•·\d\s])")
"""A row of the block above, unless an item of a list."""

_FEW_MARKS = 3
_LOG = re.compile(
    r"\s*(?:at [\w$.<>\[\] ]+[.(]\S|File \"|Traceback \(|\d{4}-\d\d-\d\d[T ]\d\d:|\[?(?:INFO|WARN(?:ING)?|DEBUG|TRACE|FATAL)\b[\]: ]|\[?ERROR(?:\]|:| {2}| \[)|[+-]{3} \S|@@ |"
    r"\$ [A-Za-z./]|>>> |#include\b|import (?:[\w.]+|\{.*|.* from ['\"].*);?\s*\Z|from [\w.]+ import\b|(?:def|class|func|function) \w+\s*[({:<]|(?:const|let|var) \w+\s*[:=]|"
    r"(?:public|private|static)\b .*[({;]\s*\Z|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b: |Caused by: |\.{3} \d+ more"
    r"|Exception in thread |goroutine \d+ \[|panic: |thread '[^']*' panicked|npm ERR!|#\d+ +(?:0x|[/\w.\\]+[(:])|stack backtrace:|Stack trace:|System\.\w+Exception\b"
    r"|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \S|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? +(?:\[|[A-Z]{4,})|[\w.$:*/<>-]+\([^()]*\);?\s*\Z)"
)


def drop_code(text: str) -> str:
    """Drop pasted code, logs and traces from a speaker's words.

    Args:
        text: A message.

    Returns:
        The prose, without other lines and fenced blocks.
    """
    return "\n".join(prose_rows(text))


def prose_rows(text: str) -> Iterator[str]:
    """Yield the lines of prose of a message.

    Args:
        text: A message.

    Yields:
        Each line outside fences that does not look like code, a log or a trace, nor stands indented below such
        a line.
    """
    fence, below_paste = "", False
    for row in text.split("\n"):
        mark = _FENCE.match(row)
        if fence:
            if mark and mark[1] == fence:
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        if not is_pasted(row) and not (below_paste and _INDENTED.match(row)):
            yield row
            below_paste = below_paste and not row.strip()
        else:
            below_paste = True


def drop_traces(text: str) -> str:
    """Drop the rows of traces and logs from a speaker's words; code and data stay.

    Args:
        text: A message.

    Returns:
        The text without such rows and without the rows indented below.
    """
    kept: list[str] = []
    below_trace = False
    for row in text.split("\n"):
        if _LOG.match(row) or (below_trace and _INDENTED.match(row)):
            below_trace = True
        else:
            kept.append(row)
            below_trace = below_trace and not row.strip()
    return "\n".join(kept)


def is_pasted(row: str) -> bool:
    """Tell whether a line looks like code, a log or a trace."""
    marks = len(_MARKUP.findall(row))
    return _LOG.match(row) is not None or (marks >= _FEW_MARKS and marks > _MARKUP_SHARE * len(row))


_ROW_CHARS = 300
"""A longer row is more often a paste; nobody's own words beside a shorter row."""
_VOTE_CHARS = 200
"""Characters of a message that count: a long message weighs like a few sentences."""


def users_language(lines: Iterable[RenderedLine]) -> str:
    """Name the language of the users, or of all speakers if the users say nothing in any language.

    Args:
        lines: A transcript.

    Returns:
        An ISO 639-1 code, or "und". Code, logs and a long paste do not count; of the rows of a message the
        first and the last, around anything pasted, are the writer's own.
    """
    spoken = [line for line in lines if line.kind is LineKind.TEXT]
    own = [words for line in spoken if line.role is Role.USER and (words := _own_words(line.text))]
    together = "\n".join(own)
    for language in (main_language(own), detect_language(together), guess_language(together)):
        if language != UNKNOWN:
            return language
    return main_language(line.text for line in spoken)


def _own_words(text: str) -> str:
    own, _ = split_foreign(text)
    rows = [row for row in prose_rows(own if own.strip() else text) if any(map(str.isalpha, row))]
    short = [row for row in rows if len(row) <= _ROW_CHARS] or rows[:1]
    return "\n".join(dict.fromkeys([*short[:1], *short[-1:]]))[:_VOTE_CHARS]
