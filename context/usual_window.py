"""The window that a session's requests usually have: one smaller request does not change it."""

from dataclasses import dataclass

NARROW_READS = 3
"""So many requests in a row in smaller windows mean a smaller window for good."""


@dataclass(frozen=True)
class UsualWindow:
    """The window of a session's requests, and the smaller ones of the last requests.

    Attributes:
        tokens: The window by which summaries are made, > 0; None while nobody named one.
        narrow_tokens: The largest window of the requests since the last one that had no smaller window.
        narrow_reads: How many of these there were, from 0 up to `NARROW_READS` - 1.
    """

    tokens: int | None = None
    narrow_tokens: int | None = None
    narrow_reads: int = 0

    def after(self, named: int) -> "UsualWindow":
        """Take in the window that a request names, in tokens, > 0.

        Returns:
            At once what is as large as the usual window or larger; a smaller one is taken for the usual
            window once `NARROW_READS` requests in a row had smaller ones: the largest of theirs.
        """
        if self.tokens is None or named >= self.tokens:
            return UsualWindow(named)
        narrow, reads = max(self.narrow_tokens or 0, named), self.narrow_reads + 1
        return UsualWindow(narrow) if reads >= NARROW_READS else UsualWindow(self.tokens, narrow, reads)
