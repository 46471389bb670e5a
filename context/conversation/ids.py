"""Rules for ids, safe in paths, log lines and keys; and the longest name of a tool."""

from enum import StrEnum

from context.text.sanitize import REPLACEMENT

MAX_ID_CHARS = 200
MAX_TOOL_NAME_CHARS = 256
"""Longest name of a tool or pipeline, in catalogs, plans, decisions and learned data."""


class IdFault(StrEnum):
    """Faults of an id, in words to follow the field's name."""

    LENGTH = f"must have 1 to {MAX_ID_CHARS} characters"
    NOT_UTF8 = "is not UTF-8, or was not once"
    UNPRINTABLE = "must be of printable characters without a slash, and not '.' or '..'"


def id_fault(value: str) -> IdFault | None:
    """Say why a text cannot be an id; None for a valid id.

    Args:
        value: The text as sent. Without the check of UTF-8, different ids would become equal, and mix two
            conversations.
    """
    if not 1 <= len(value) <= MAX_ID_CHARS:
        return IdFault.LENGTH
    if REPLACEMENT in value:
        return IdFault.NOT_UTF8
    if not value.isprintable() or "/" in value or "\\" in value or value in {".", ".."}:
        return IdFault.UNPRINTABLE
    return None
