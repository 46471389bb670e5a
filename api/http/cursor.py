"""Cursors of lists: the place after which the next page begins, opaque to callers."""

import base64
import binascii

from api.http.errors import ProblemError


def write_cursor(after: str | None) -> str | None:
    """Write the cursor of the next page; None at the end."""
    return None if after is None else base64.urlsafe_b64encode(after.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> str:
    """Read a cursor; the empty text for the first page.

    Raises:
        ProblemError: The cursor is not of an answer.
    """
    try:
        raw = base64.b64decode(
            f"{cursor or ''}{'=' * (-len(cursor or '') % 4)}", altchars=b"-_", validate=True
        )
        after = raw.decode()
    except (binascii.Error, ValueError):
        raise bad_cursor() from None
    if "\0" in after:
        raise bad_cursor()
    return after


def bad_cursor() -> ProblemError:
    """Return the refusal of a cursor that no answer gave."""
    return ProblemError("invalid-input", "cursor: must be the `next` of an answer", field="cursor")
