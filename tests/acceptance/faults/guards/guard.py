"""What a guard is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """One protection in the code.

    Attributes:
        name: What it protects, in a word or two.
        file: Where it stands.
        text: The code that makes it, found once in the file.
        lost: What would stand there without it.
        tests: The tests of which one must fail then; paths and pytest's other ways to name some.
    """

    name: str
    file: str
    text: str
    lost: str
    tests: tuple[str, ...]
