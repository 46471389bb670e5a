"""How much something takes, and how much it may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """How much something takes.

    Attributes:
        bytes: UTF-8 bytes of its text, >= 0.
        tokens: Its tokens in the canonical count, >= 0.
    """

    bytes: int
    tokens: int


@dataclass(frozen=True)
class CatalogBudget:
    """How much a catalog may take.

    Attributes:
        tokens: The most tokens in the canonical count.
        bytes: The most UTF-8 bytes; None where only tokens count.
    """

    tokens: int
    bytes: int | None = None

    def holds(self, size: Size) -> bool:
        """Whether something of this size fits."""
        return size.tokens <= self.tokens and (self.bytes is None or size.bytes <= self.bytes)
