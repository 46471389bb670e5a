"""Kind and description of an artifact's content, and artifacts of documents sent with a request."""

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain

from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.text.cut import ceil_border, drop_encoded, floor_border
from context.tokens import EncodingName, count_text

WHOLE_CHARS = 5_000_000
"""Length up to which JSON is decoded for certainty; of a longer text only the ends are checked."""

_HEAD_CHARS = 48_000
_MIDDLE_CHARS = 8_000
_MAX_LINE_CHARS = 2_000
_MOST_JSON_LINES = 40
_MOST_CELL_CHARS = 400

_STAMP = (
    r"(?:\[?\d{4}[-/.]\d\d[-/.]\d\d[T ,]\s?\d\d:\d\d|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\b|\[\s*\d+\.\d{3,6}\]"
    r"|\[?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)?,?\s?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{1,2}\s+"
    r"\d\d:\d\d:\d\d|\S+ \S+ \S+ \[\d{1,2}/\w{3}/\d{4}:)"
)
_LEVEL = r"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)\b\]?[\s:|-]"
_PLACE = r"\S{1,200}?[:(]\d+[:,]\d+[:)]{1,2}\s*(?:-\s*)?(?:fatal )?(?:error|warning|note|info)\b"
_LOG_LINE = re.compile(rf"\s{{0,4}}(?:{_STAMP}|{_LEVEL}|\S{{1,40}}\s+{_LEVEL})")
_VERDICT = re.compile(_PLACE)
"""A compiler's place in a file, with the fault there."""

_DIFF_HUNK = re.compile(r"@@+ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_DIFF_LINE = re.compile(
    r"[ +\-@\\]|diff |index [0-9a-f]|(?:new|deleted) file mode|(?:rename|copy) |similarity |\Z"
)
_HTML_START = re.compile(
    r"\s*(?:<!--.{0,400}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_HTML_TAG = re.compile(
    r"</?(?:a|article|body|br|button|div|footer|form|h[1-6]|header|img|input|li|link|main|meta|nav|ol|option|p"
    r"|script|section|span|strong|style|table|tbody|td|th|thead|tr|ul)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
_XML_START = re.compile(r"\s*<\?xml\b")
_NUMBERED = re.compile(r"\s{0,8}\d{1,7}(?:\t|\u2192|\s?\||:)\s?")
_PIPE_ROW = re.compile(r"\s*\|.*\|\s*\Z")
_PIPE_RULE = re.compile(r"\s*+\|?(?:\s*+:?-{2,}+:?\s*+[|+])++(?:\s*+:?-{2,}+:?\s*+)?\|?\s*+\Z")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_CODE_START = re.compile(
    r"\s*(?:#!|#include\b|@\w+(?:\(|\Z)|(?:async )?def \w+\s*\("
    r"|(?:pub |export |abstract |final |public |private |static )*"
    r"(?:class|struct|enum|interface|trait|impl|namespace|module) \w|(?:from \S+ )?import \S"
    r"|(?:export )?(?:default )?(?:async )?function\b|(?:pub )?fn \w|func [\w(]"
    r"|(?:export )?(?:const|let|var|val) [\w{\[]|package [\w.]+;?\Z|using [\w.]+;|return\b.*[;)\w]\Z"
    r"|(?:el)?if\b.*[:{)]\Z|else\b\s*[:{]|(?:for|while|switch|try|catch|with)\b.*[:{]\Z"
    r"|(?:SELECT|INSERT INTO|UPDATE|CREATE (?:TABLE|INDEX|VIEW)|ALTER TABLE) )"
)
_CODE_END = re.compile(r"(?:[{};]|\)\s*=>\s*\{?|\):|\[|\(|\);?|},?)\s*\Z")
_COMMENT = re.compile(r"\s*(?://|/\*|\*/|\*\s|--\s|#\s)")
_MARKDOWN = {
    "heading": re.compile(r"#{1,6}\s+\S"),
    "list": re.compile(r"\s{0,6}(?:[-*+]|\d{1,3}[.)])\s+\S"),
    "quote": re.compile(r">\s"),
    "link": re.compile(r".{0,400}?\[[^\]\n]{1,200}\]\([^)\s]{1,400}\)"),
    "strong": re.compile(r".{0,400}?(?:\*\*|__)\S[^\n]{0,200}?(?:\*\*|__)"),
    "rule": re.compile(r"\s{0,3}(?:-{3,}|\*{3,}|={3,})\s*\Z"),
    "row": _PIPE_ROW,
}


def kind_of(text: str) -> ContentKind:
    """Tell the kind of a text.

    Args:
        text: Any text. A text that looks like JSON is decoded up to `WHOLE_CHARS` characters; beyond that
            length and for all other kinds, 64,000 characters of the beginning, middle and end decide.

    Returns:
        The kind; `TEXT` if nothing else is certain.
    """
    if _is_json(text):
        return ContentKind.JSON
    lines = _sample(text)
    filled = [line for line in lines if line.strip()]
    if not filled:
        return ContentKind.TEXT
    if _are_json_lines(filled):
        return ContentKind.JSON
    bare = _without_numbers(filled)
    tests = (
        (ContentKind.DIFF, _is_diff),
        (ContentKind.HTML, _is_html),
        (ContentKind.LOG, _is_log),
        (ContentKind.TABLE, _is_table),
        (ContentKind.MARKDOWN, _is_document),
        (ContentKind.CODE, _is_code),
        (ContentKind.MARKDOWN, _is_markdown),
    )
    return next((kind for kind, holds in tests if holds(bare)), ContentKind.TEXT)


def _sample(text: str) -> list[str]:
    """Take whole lines of the beginning, the middle and the end; of a very long line the beginning."""
    if len(text) <= _HEAD_CHARS + 2 * _MIDDLE_CHARS:
        return [line[:_MAX_LINE_CHARS] for line in text.split("\n")]
    middle = len(text) // 2
    pieces = (
        text[:_HEAD_CHARS].rpartition("\n")[0] or text[:_HEAD_CHARS],
        text[middle : middle + _MIDDLE_CHARS].partition("\n")[2].rpartition("\n")[0],
        text[-_MIDDLE_CHARS:].partition("\n")[2],
    )
    return [line[:_MAX_LINE_CHARS] for line in chain.from_iterable(piece.split("\n") for piece in pieces)]


def _share(lines: Sequence[str], holding: Iterable[bool]) -> float:
    return sum(holding) / max(len(lines), 1)


def _is_json(text: str) -> bool:
    ends = text[:64].lstrip("\ufeff \t\r\n")[:1] + text[-64:].rstrip()[-1:]
    if ends not in {"{}", "[]"}:
        return False
    if len(text) > WHOLE_CHARS:
        return re.match(r'[\ufeff\s]*(?:\{\s*"|\[\s*[\[{"\d\-tfn\]])', text) is not None
    try:
        json.loads(text.lstrip("\ufeff \t\r\n"))
    except (ValueError, RecursionError):
        return False
    return True


def _are_json_lines(lines: Sequence[str]) -> bool:
    """Say whether several lines are each an object or an array; lines cut short are not judged."""
    judged = [line for line in lines if len(line) < _MAX_LINE_CHARS] or lines
    judged = judged[:: max(1, len(judged) // _MOST_JSON_LINES)]
    if len(lines) < 2 or not all(line.lstrip("\ufeff ")[:1] in {"{", "["} for line in lines):  # noqa: PLR2004
        return False
    return all(_is_json(line) or len(line) == _MAX_LINE_CHARS for line in judged)


def _without_numbers(lines: list[str]) -> list[str]:
    """Strip the line numbers put before each line by a file reader."""
    numbers = [_NUMBERED.match(line) for line in lines]
    if _share(lines, map(bool, numbers)) < 0.8:  # noqa: PLR2004
        return lines
    bare = [line[found.end() :] if found else line for line, found in zip(lines, numbers, strict=True)]
    return [line for line in bare if line.strip()] or lines


def _is_diff(lines: Sequence[str]) -> bool:
    if not any(map(_DIFF_HUNK.match, lines)):
        return False
    return _share(lines, (_DIFF_LINE.match(line) is not None for line in lines)) >= 0.8  # noqa: PLR2004


def _is_html(lines: Sequence[str]) -> bool:
    head = "\n".join(lines[:40])
    if _HTML_START.match(head):
        return True
    text = "\n".join(lines)
    tags = _HTML_TAG.findall(text)
    return len(tags) >= max(12, len(lines) // 3) and sum(map(len, tags)) * 12 >= len(text)


def _is_log(lines: Sequence[str]) -> bool:
    """Say whether most entries begin with a time, a level or a compiler's verdict, indented lines aside."""
    entries = [line for line in lines if not line[:1].isspace()]
    if sum(_VERDICT.match(line) is not None for line in entries) >= max(2, 0.6 * len(entries)):
        return True
    found = sum(_LOG_LINE.match(line) is not None for line in entries)
    return found >= 3 and found >= 0.6 * len(entries) and not _has_columns(lines, least=3)  # noqa: PLR2004


def _is_table(lines: Sequence[str]) -> bool:
    rules = sum(_PIPE_RULE.match(line) is not None for line in lines)
    if rules and _share(lines, ("|" in line for line in lines)) >= 0.7:  # noqa: PLR2004
        return True
    return _has_columns(lines, least=2)


def _has_columns(lines: Sequence[str], *, least: int) -> bool:
    """Say whether nearly every line has the same number of short cells, with any separator."""
    for separator in ("\t", ",", ";", "|"):
        if separator not in lines[0]:
            continue
        rows = _rows(lines, separator)
        if not rows:
            continue
        columns, times = Counter(map(len, rows)).most_common(1)[0]
        wide_enough = columns >= (least if separator in "\t|" else max(least, 3)) or _pairs(rows, separator)
        short = sum(map(len, chain.from_iterable(rows))) <= _MOST_CELL_CHARS * max(columns, 1) * len(rows)
        if len(rows) >= 3 and wide_enough and short and times >= 0.9 * len(rows):  # noqa: PLR2004
            return not _reads_like_prose(rows, separator)
    return False


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return []


def _pairs(rows: Sequence[Sequence[str]], separator: str) -> bool:
    """Say whether two columns are a table: no blank after the comma or semicolon, unlike prose."""
    return separator in ",;" and len(rows[0]) == 2 and not any(row[-1][:1].isspace() for row in rows)  # noqa: PLR2004


def _reads_like_prose(rows: Sequence[Sequence[str]], separator: str) -> bool:
    """Say whether blanks follow nearly all commas, as in sentences and code, and seldom in tables."""
    if separator != ",":
        return False
    cells = [cell for row in rows for cell in row[1:]]
    ends = sum(row[-1].rstrip()[-1:] in {".", ";", "{", ")", ":", ","} for row in rows if row)
    blanks = sum(cell[:1].isspace() for cell in cells)
    return ends * 2 > len(rows) and blanks * 2 > len(cells)


def _outside_fences(lines: Sequence[str]) -> tuple[list[str], int]:
    """Return the lines outside fences, and the number of fences."""
    outside, inside, fences = [], False, 0
    for line in lines:
        if _FENCE.match(line):
            inside = not inside
            fences += inside
        elif not inside:
            outside.append(line)
    return outside, fences


def _marks(lines: Sequence[str]) -> Counter[str]:
    return Counter(name for line in lines for name, mark in _MARKDOWN.items() if mark.match(line))


def _is_document(lines: Sequence[str]) -> bool:
    """Say whether headings or fences surround prose: Markdown, with any amount of quoted code."""
    outside, fences = _outside_fences(lines)
    marks = _marks(outside)
    headings = marks["heading"]
    is_prose = _code_share(outside) < 0.25  # noqa: PLR2004
    return is_prose and bool(headings + fences) and (headings >= 2 or fences > 0 or len(marks) >= 3)  # noqa: PLR2004


def _is_markdown(lines: Sequence[str]) -> bool:
    marks = _marks(lines)
    marked = marks["list"] + marks["link"] + marks["strong"] + marks["heading"] + marks["row"]
    return len(marks) >= 2 and marked >= 0.3 * len(lines)  # noqa: PLR2004


def _code_share(lines: Sequence[str]) -> float:
    code = sum(
        _CODE_START.match(line) is not None or _CODE_END.search(line[-40:]) is not None
        for line in lines
        if not _COMMENT.match(line)
    )
    return code / max(sum(not _COMMENT.match(line) for line in lines), 1)


def _is_code(lines: Sequence[str]) -> bool:
    if _XML_START.match(lines[0]) or lines[0].startswith("#!"):
        return True
    starts = sum(_CODE_START.match(line) is not None for line in lines)
    return starts >= 2 and _code_share(lines) >= 0.3  # noqa: PLR2004


ID_PREFIX = "art_"
PREVIEW_CHARS = 600
"""The most characters of a preview, by default."""

_ID = re.compile(rf"{ID_PREFIX}[0-9a-f]{{32}}")
_ID_HEX = 32
_HEAD_SHARE = 2 / 3
_MARKER_ROOM = 48
_LINE_SHARE = 0.3
"""Largest share of the room given up to move a cut to a line's end."""


def artifact_id_of(content: str) -> str:
    """Name a content: the same text always has the same id.

    Args:
        content: Any text; lone surrogates are taken as they are.

    Returns:
        `art_` and the first 32 hex digits of the SHA-256 of the UTF-8 bytes.
    """
    return ID_PREFIX + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_HEX]


def is_artifact_id(value: object) -> bool:
    """Say whether a value has the shape of an artifact's id."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def count_lines(content: str) -> int:
    """Count the lines of a text: 0 for an empty text; a line break at the end opens no line."""
    return content.count("\n") + (not content.endswith("\n")) if content else 0


def preview_of(content: str, max_chars: int = PREVIEW_CHARS) -> str:
    """Show the beginning and the end of a text, cut at the end of a line or of a visible character.

    Args:
        content: Any text.
        max_chars: The most characters of the answer, >= 1.

    Returns:
        The whole text if short enough, without embedded files; else its head, a line with the omitted length,
        and its tail. The head alone if there is no room for three parts.
    """
    if len(content) <= max_chars:
        return drop_encoded(content)
    room = max_chars - _MARKER_ROOM
    if room < _MARKER_ROOM:
        return content[: floor_border(content, max_chars)]
    head_room = int(room * _HEAD_SHARE)
    head = _head(content, head_room)
    tail = _tail(content, room - head_room)
    left_out = len(content) - len(head) - len(tail)
    short_head, short_tail = drop_encoded(head), drop_encoded(tail)
    return f"{short_head.rstrip()}\n[... {left_out} characters left out ...]\n{short_tail.lstrip()}"


def _head(content: str, room: int) -> str:
    end = content.rfind("\n", int(room * (1 - _LINE_SHARE)), room + 1)
    return content[: end if end > 0 else floor_border(content, room)]


def _tail(content: str, room: int) -> str:
    start = len(content) - room
    line = content.find("\n", start - 1, start + int(room * _LINE_SHARE))
    return content[line + 1 if line >= 0 else ceil_border(content, start) :]


def document_artifact(
    content: str, *, timestamp: datetime, title: str = "", source: str = "", kind: ContentKind | None = None
) -> Artifact:
    """Make an artifact of a document sent with a request.

    Args:
        content: The text.
        timestamp: The time of arrival.
        title: The document's common name.
        source: An address or file name; the artifact's source is `attachment:` plus this value, or the title.
        kind: The kind of text, if known better than from the text.
    """
    made = _measured(content, timestamp, kind)
    name = source or title or made.artifact_id
    return replace(
        made,
        artifact_type=ArtifactType.DOCUMENT,
        source=f"attachment:{name}",
        title=title,
        metadata={"attached": True},
    )


def all_artifacts(
    current: Sequence[Artifact], historical: Sequence[Artifact], attached: Sequence[Artifact]
) -> list[Artifact]:
    """Merge the artifacts of all sources, each id once.

    Args:
        current: Artifacts of the open turn.
        historical: Artifacts of earlier turns.
        attached: Artifacts of the request.

    Returns:
        The artifacts in this order; an attached or current artifact is never historical.
    """
    known: dict[str, Artifact] = {}
    for artifact in (*current, *historical):
        known.setdefault(artifact.artifact_id, artifact)
    known |= {artifact.artifact_id: artifact for artifact in attached}
    return list(known.values())


def _measured(content: str, timestamp: datetime, kind: ContentKind | None = None) -> Artifact:
    return Artifact(
        artifact_id=artifact_id_of(content),
        artifact_type=ArtifactType.TOOL_RESULT,
        kind=kind or kind_of(content),
        size_chars=len(content),
        tokens=count_text(content),
        tokens_wide=count_text(content, EncodingName.WIDE),
        source="",
        timestamp=timestamp,
        preview=preview_of(content),
        content=content,
    )
