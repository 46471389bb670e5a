"""Size of a text, and a size limit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Size of a text.

    Attributes:
        bytes: UTF-8 bytes, >= 0.
        tokens: Canonical tokens, >= 0.
    """

    bytes: int
    tokens: int


@dataclass(frozen=True)
class CatalogBudget:
    """Size limit of a catalog.

    Attributes:
        tokens: The most canonical tokens.
        bytes: The most UTF-8 bytes; None if only tokens are limited.
    """

    tokens: int
    bytes: int | None = None

    def holds(self, size: Size) -> bool:
        """Tell whether a size is within the budget."""
        return size.tokens <= self.tokens and (self.bytes is None or size.bytes <= self.bytes)
