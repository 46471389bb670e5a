"""Batches: newline-delimited JSON, a line for each part."""

from api.http.call import Call
from api.http.errors import ProblemError


def lines_of(call: Call, most: int) -> list[bytes]:
    """Split the body of a call at its line breaks, without empty lines.

    Raises:
        ProblemError: The body has more than `most` lines.
    """
    lines = [line for line in call.raw.split(b"\n") if line.strip()]
    if len(lines) > most:
        raise ProblemError("too-large", f"body: more than {most} lines", field="body", limit=most)
    return lines
