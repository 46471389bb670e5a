"""The budget: how much of a model's window a request may fill."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from context.errors import FixedPartOverBudgetError, InvalidInputError

WINDOW_PER_MAX_TOKENS = 4
"""A window that nobody named is taken to be so many times the output limit."""

DEFAULT_MAX_TOKENS = 4_096
"""The output limit where nobody named one."""


class LimitSource(StrEnum):
    """Who says how much history requests hold at most."""

    SESSION = "session"
    TENANT = "tenant"


@dataclass(frozen=True)
class HistoryLimit:
    """The most that history may take of any request: turns, summary, recall and artifacts together.

    Attributes:
        tokens: How much, in the model's tokens, >= 1.
        source: Who says so.
    """

    tokens: int
    source: LimitSource


@dataclass(frozen=True)
class Budget:
    """A window, and the part of it that is kept for the answer.

    Attributes:
        context_window: Tokens of input and output together, > 0.
        max_tokens: Tokens kept for the output, >= 1, less than the window.
        assumed: Names of the numbers that nobody gave, for a warning.
        input_limit: The most that the caller wants to send, >= 1; None for all that the window takes.
        named_window: What the caller named, however small the real window is; None where it named none.
        history_limit: The most that history may take; None for all that the rest leaves.
    """

    context_window: int
    max_tokens: int
    assumed: tuple[str, ...] = ()
    input_limit: int | None = None
    named_window: int | None = field(default=None, compare=False)
    history_limit: HistoryLimit | None = None

    @property
    def input_tokens(self) -> int:
        """The most tokens that may be sent."""
        room = self.context_window - self.max_tokens
        return room if self.input_limit is None else min(room, self.input_limit)

    @property
    def used_window(self) -> int:
        """How much of the window a request may fill, its answer included."""
        return self.input_tokens + self.max_tokens

    @property
    def history_window(self) -> int:
        """How much of the window history may fill, before anything else is counted."""
        return self.history_room(self.used_window)

    @property
    def is_narrowed(self) -> bool:
        """Whether somebody wants smaller requests than the model takes."""
        return self.input_limit is not None or self.history_limit is not None

    def history_room(self, left: int) -> int:
        """Say how much history may take of what all else leaves.

        Args:
            left: Tokens beside the parts that must be sent, >= 0.

        Returns:
            All of it, or the limit of history where that is less.
        """
        return left if self.history_limit is None else min(left, self.history_limit.tokens)

    @property
    def lasting_window(self) -> int:
        """The window to remember: a refusal's lesson passes, and so does a budget of one request."""
        return self.named_window or self.context_window


def choose_budget(
    context_window: int | None,
    max_tokens: int | None,
    *,
    ceiling: int | None = None,
    input_limit: int | None = None,
    history_limit: HistoryLimit | None = None,
) -> Budget:
    """Settle the window and the output limit, naming what had to be assumed.

    Args:
        context_window: What the caller says; None where it says nothing.
        max_tokens: What the caller says; None where it says nothing.
        ceiling: The most that the model is known to take, however large the caller believes it.
        input_limit: The most that the caller wants to send; None for all that the window takes.
        history_limit: The most that history may take; None for all that the rest leaves.

    Returns:
        A budget whose input is at least one token.

    Raises:
        InvalidInputError: The output limit leaves nothing for the input.
    """
    assumed = tuple(
        name
        for name, value in (("context_window", context_window), ("max_tokens", max_tokens))
        if value is None
    )
    smallest = min((tokens for tokens in (context_window, ceiling) if tokens), default=None)
    output = max_tokens if max_tokens is not None else _default_output(smallest)
    asked = context_window if context_window is not None else output * WINDOW_PER_MAX_TOKENS
    window = min(asked, ceiling or asked)
    if output >= window:
        raise InvalidInputError(
            "max_tokens",
            f"{output} leaves nothing of {'a' if window == asked else 'the real'} window of {window} tokens "
            "for the input; lower it",
            max_tokens=output,
            context_window=window,
        )
    return Budget(window, output, assumed, input_limit, context_window, history_limit)


def _default_output(window: int | None) -> int:
    return min(DEFAULT_MAX_TOKENS, max(1, window // WINDOW_PER_MAX_TOKENS)) if window else DEFAULT_MAX_TOKENS


def is_over_budget(parts: Mapping[str, int], budget: Budget) -> bool:
    """Whether all parts and the output limit together exceed the window."""
    return sum(parts.values()) > budget.input_tokens


def require_fit(fixed: Mapping[str, int], budget: Budget) -> int:
    """Tell what the fixed parts leave for history.

    Args:
        fixed: Tokens of each part that must be sent: overhead, system prompt, tools, new messages.
        budget: What there is.

    Returns:
        Tokens left, >= 0.

    Raises:
        FixedPartOverBudgetError: The fixed parts alone are over.
    """
    if is_over_budget(fixed, budget):
        raise FixedPartOverBudgetError(parts=fixed, budget_tokens=budget.input_tokens)
    return budget.input_tokens - sum(fixed.values())
