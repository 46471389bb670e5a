"""The errors that this project raises on purpose."""

from collections.abc import Mapping

OVERHEAD = "overhead"
"""The part that no caller can shorten: what a request takes beside its words."""


class AfterturnError(Exception):
    """What went wrong, with a stable code for clients and numbers where they help."""

    code = "internal-error"

    def __init__(self, message: str, **numbers: object) -> None:
        """Keep the sentence for people and the numbers for programs."""
        super().__init__(message)
        self.message = message
        self.numbers = numbers


class InvalidInputError(AfterturnError):
    """A value that cannot be used, with the path of the field and what would be right."""

    code = "invalid-input"

    def __init__(self, field: str, message: str, **numbers: object) -> None:
        """Name the field first: the reader looks for it."""
        super().__init__(f"{field}: {message}", field=field, **numbers)
        self.field = field


class FixedPartOverBudgetError(AfterturnError):
    """What must be sent already exceeds the window, before any history."""

    code = "context-over-budget"

    def __init__(self, *, parts: Mapping[str, int], budget_tokens: int) -> None:
        """Name each part's tokens and by how much they are over."""
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
