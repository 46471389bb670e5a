# ruff: noqa: E501 - a table
"""Pasted text, written by somebody else: code, logs, traces."""

import re
from collections.abc import Iterable, Iterator

from context.conversation.transcript import LineKind, RenderedLine
from context.text.language import UNKNOWN, main_language
from context.types import Role

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_MARKUP = re.compile(r"[{}<>\\\\=;|$#()\[\]]|\w_\w|::|->|\w\.\w+\(")
_MARKUP_SHARE = 0.08
_FEW_MARKS = 3
_LOG = re.compile(
    r"\s*(?:at \S+[.(]|File \"|Traceback \(|\d{4}-\d\d-\d\d[T ]\d\d:|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL)\b[\]: ]|[+-]{3} \S|@@ |"
    r"\$ \w|>>> |#include\b|import [\w.{]+|from [\w.]+ import\b|(?:def|class|func|function|const|let|var|public|private|static)\b .*[:({=;]"
    r"|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b: |Caused by: |\.{3} \d+ more)"
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
        Each line outside fences that does not look like code, a log or a trace.
    """
    fence = ""
    for row in text.split("\n"):
        mark = _FENCE.match(row)
        if fence:
            if mark and mark[1] == fence:
                fence = ""
            continue
        if mark:
            fence = mark[1]
        elif not is_pasted(row):
            yield row


def is_pasted(row: str) -> bool:
    """Tell whether a line looks like code, a log or a trace."""
    marks = len(_MARKUP.findall(row))
    return _LOG.match(row) is not None or (marks >= _FEW_MARKS and marks > _MARKUP_SHARE * len(row))


_TELLING_CHARS = 600
"""Characters read of one message: the beginning shows the language, and a long paste weighs like a prompt."""


def users_language(lines: Iterable[RenderedLine]) -> str:
    """Name the language of the users, or of all speakers if the users' language is unknown.

    Args:
        lines: A transcript.

    Returns:
        An ISO 639-1 code, or "und"; code, logs and text beyond the beginning of a message do not count.
    """
    spoken = [line for line in lines if line.kind is LineKind.TEXT]
    users = [drop_code(line.text)[:_TELLING_CHARS] for line in spoken if line.role is Role.USER]
    short = " ".join(text for text in users if len(text) < _TELLING_CHARS)
    language = main_language(users)
    if language == UNKNOWN:
        language = main_language([short])
    return main_language(line.text for line in spoken) if language == UNKNOWN else language
