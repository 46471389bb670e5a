"""Errors raised on purpose by the project."""

from collections.abc import Mapping

OVERHEAD = "overhead"
"""The part that no caller can shorten: a request's tokens beside its words."""


class AfterturnError(Exception):
    """Base of the project's errors, with a stable code for clients and numbers if useful."""

    code = "internal-error"

    def __init__(self, message: str, **numbers: object) -> None:
        """Keep the sentence for people and the numbers for programs."""
        super().__init__(message)
        self.message = message
        self.numbers = numbers


class InvalidInputError(AfterturnError):
    """An unusable value, with the path of the field and the expected value."""

    code = "invalid-input"

    def __init__(self, field: str, message: str, **numbers: object) -> None:
        """Name the field first, because a reader looks for the field."""
        super().__init__(f"{field}: {message}", field=field, **numbers)
        self.field = field


class FixedPartOverBudgetError(AfterturnError):
    """Fixed parts larger than the window, before any history."""

    code = "context-over-budget"

    def __init__(self, *, parts: Mapping[str, int], budget_tokens: int) -> None:
        """Name each part's tokens and the excess."""
        total = sum(parts.values())
        largest = max(
            (name for name in parts if name != OVERHEAD), key=lambda name: parts[name], default=None
        )
        shorten = f"shorten {largest} ({parts[largest]} tokens)" if largest else "send less"
        super().__init__(
            f"what must be sent takes {total} tokens and the budget is {budget_tokens}: over by "
            f"{total - budget_tokens}; {shorten}, lower max_tokens, or give it a larger window or budget",
            parts=dict(parts),
            budget_tokens=budget_tokens,
            over_by=total - budget_tokens,
        )
