"""Usual window of a session's requests, unchanged by one smaller request."""

from dataclasses import dataclass

NARROW_READS = 3
"""So many requests in a row in smaller windows mean a smaller window for good."""


@dataclass(frozen=True)
class UsualWindow:
    """The window of a session's requests, and the smaller windows of the last requests.

    Attributes:
        tokens: The window for making summaries, > 0; None while nobody named a window.
        narrow_tokens: The largest window of the last requests in a row with smaller windows.
        narrow_reads: The number of such requests, from 0 up to `NARROW_READS` - 1.
    """

    tokens: int | None = None
    narrow_tokens: int | None = None
    narrow_reads: int = 0

    def after(self, named: int) -> "UsualWindow":
        """Take in the window named by a request, in tokens, > 0.

        Returns:
            The new state. A window at least as large as the usual window replaces it at once; after
            `NARROW_READS` smaller windows in a row, their largest becomes the usual window.
        """
        if self.tokens is None or named >= self.tokens:
            return UsualWindow(named)
        narrow, reads = max(self.narrow_tokens or 0, named), self.narrow_reads + 1
        return UsualWindow(narrow) if reads >= NARROW_READS else UsualWindow(self.tokens, narrow, reads)
