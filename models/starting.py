"""How a process begins: with its log, and with settings that are right, or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def or_exit() -> Iterator[None]:
    """End the process with a sentence where a setting that is read here is wrong.

    Raises:
        SystemExit: A setting is wrong; it is named, and its value is not shown.
    """
    try:
        yield
    except ValueError as error:
        raise SystemExit(f"a setting is wrong: {error}") from None
