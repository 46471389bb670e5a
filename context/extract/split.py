"""The right knife for each kind of content."""

from collections.abc import Callable

from context.artifacts.types import ContentKind
from context.extract.code import cut_code
from context.extract.diffs import cut_diff
from context.extract.json import cut_json
from context.extract.logs import cut_log
from context.extract.markdown import cut_markdown
from context.extract.spans import CutText, Sizes, sizes_for, trim
from context.extract.tables import cut_table
from context.extract.talk import cut_talk

_KNIVES: dict[ContentKind, Callable[[str, Sizes], CutText | None]] = {
    ContentKind.MARKDOWN: cut_markdown,
    ContentKind.JSON: cut_json,
    ContentKind.TABLE: cut_table,
    ContentKind.LOG: cut_log,
    ContentKind.CODE: cut_code,
    ContentKind.DIFF: cut_diff,
}


def cut_text(text: str, kind: ContentKind) -> tuple[CutText, ContentKind]:
    """Cut a text by kind.

    Args:
        text: The whole text.
        kind: The declared kind; HTML arrives as visible text.

    Returns:
        The pieces, and the kind found: text, if the declared kind does not match.
    """
    sizes = sizes_for(text)
    knife = _KNIVES.get(kind)
    cut = knife(text, sizes) if knife else None
    found = kind if cut is not None and cut.pieces else ContentKind.TEXT
    if cut is None or not cut.pieces:
        cut = cut_talk(text, sizes)
    return _trimmed(text, cut), found


def _trimmed(text: str, cut: CutText) -> CutText:
    pieces = []
    for piece in cut.pieces:
        start, end = trim(text, (piece.start, piece.end))
        if start < end:
            pieces.append(piece._replace(start=start, end=end))
    return CutText(pieces, cut.frames)
