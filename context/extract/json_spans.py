"""JSON: records with their paths; invalid JSON is left to other cutters."""

import json

from context.extract.json_walk import Walk
from context.extract.spans import Cut, Sizes, is_blank, lines_of


def cut_json(text: str, sizes: Sizes) -> Cut | None:
    """Cut a JSON value, or a value a line, into records.

    Args:
        text: Text expected to be JSON.
        sizes: The sizes of pieces.

    Returns:
        Pieces with their paths; None if the text is not JSON, or is nested too deep to be read.
    """
    walk = Walk(text, sizes)
    if _is_json(text):
        walk.read((0, len(text)), "$")
        return walk.cut()
    lines = [line for line in lines_of(text) if not is_blank(text, line)]
    if len(lines) < 2 or not all(_is_json(text[a:b]) for a, b in lines):  # noqa: PLR2004 - one line was tried above
        return None
    for number, line in enumerate(lines):
        walk.read(line, f"$[{number}]")
    return walk.cut()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
