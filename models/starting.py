"""Start of a process: with the log, and with right settings or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def or_exit() -> Iterator[None]:
    """End the process with a sentence if a setting read in the block is wrong.

    Raises:
        SystemExit: A setting is wrong; the message names the setting and does not show the value.
    """
    try:
        yield
    except ValueError as error:
        raise SystemExit(f"a setting is wrong: {error}") from None
