"""What may be an id: it stands in paths, lines of logs and keys; and how long a tool's name may be."""

from enum import StrEnum

from context.sanitize import REPLACEMENT

MAX_ID_CHARS = 200
MAX_TOOL_NAME_CHARS = 256
"""The longest name of a tool or pipeline, in catalogs, plans, decisions and all that is learned of them."""


class IdFault(StrEnum):
    """Why a text is no id, in words that follow its name."""

    LENGTH = f"must have 1 to {MAX_ID_CHARS} characters"
    NOT_UTF8 = "is not UTF-8, or was not once"
    UNPRINTABLE = "must be of printable characters without a slash, and not '.' or '..'"


def id_fault(value: str) -> IdFault | None:
    """Say why a text can be no id; None where it can.

    Args:
        value: What was sent. Of what was not UTF-8, different ids would become one, and two conversations.
    """
    if not 1 <= len(value) <= MAX_ID_CHARS:
        return IdFault.LENGTH
    if REPLACEMENT in value:
        return IdFault.NOT_UTF8
    if not value.isprintable() or "/" in value or "\\" in value or value in {".", ".."}:
        return IdFault.UNPRINTABLE
    return None
