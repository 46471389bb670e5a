"""The budget: how much of a model's window a request may fill."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from context.errors import FixedPartOverBudgetError, InvalidInputError

WINDOW_PER_MAX_TOKENS = 4
"""Size of an unnamed window, as a multiple of the output limit."""

DEFAULT_MAX_TOKENS = 4_096
"""Output limit if nobody named a limit."""

LEAST_LASTING = 4_000
"""Least limit that history is prepared for, in tokens; a smaller window is filled anew for each request."""


class LimitSource(StrEnum):
    """Source of a history limit."""

    SESSION = "session"
    TENANT = "tenant"


@dataclass(frozen=True)
class HistoryLimit:
    """Upper limit of history in any request: turns, summary, recall and artifacts together.

    Attributes:
        tokens: The limit in the model's tokens, >= 1.
        source: The source of the limit.
    """

    tokens: int
    source: LimitSource


@dataclass(frozen=True)
class Budget:
    """A window, and the part reserved for the answer.

    Attributes:
        context_window: Tokens of input and output together, > 0.
        max_tokens: Tokens reserved for the output, >= 1, less than the window.
        assumed: Names of the numbers given by nobody, for a warning.
        input_limit: The caller's upper limit of the input, >= 1; None for the whole window.
        named_window: The window named by the caller, however small the real window is; None if not named.
        history_limit: Upper limit of history; None for everything left by the other parts.
        is_usual: True if the caller's limit is that of the session's requests, not of a single one.
    """

    context_window: int
    max_tokens: int
    assumed: tuple[str, ...] = ()
    input_limit: int | None = None
    named_window: int | None = field(default=None, compare=False)
    history_limit: HistoryLimit | None = None
    is_usual: bool = False

    @property
    def input_tokens(self) -> int:
        """Upper limit of the input, in tokens."""
        room = self.context_window - self.max_tokens
        return room if self.input_limit is None else min(room, self.input_limit)

    @property
    def used_window(self) -> int:
        """Tokens of the window that a request may fill, answer included."""
        return self.input_tokens + self.max_tokens

    @property
    def history_window(self) -> int:
        """Tokens of the window that history may fill, before any other part is counted."""
        return self.history_room(self.used_window)

    @property
    def is_narrowed(self) -> bool:
        """True if a request is smaller than those that history is prepared for."""
        is_small = self.history_limit is not None and self.history_limit.tokens < LEAST_LASTING
        return is_small or (self.input_limit is not None and not self.is_usual)

    @property
    def is_limited(self) -> bool:
        """True if somebody wants smaller requests than the model accepts."""
        return self.input_limit is not None or self.history_limit is not None

    @property
    def is_lasting(self) -> bool:
        """True if the session lives in a limit, and history is prepared for it."""
        return self.is_limited and not self.is_narrowed

    def history_room(self, left: int) -> int:
        """Return the tokens available to history after all other parts.

        Args:
            left: Tokens left by the fixed parts, >= 0.

        Returns:
            `left`, or the history limit if smaller.
        """
        return left if self.history_limit is None else min(left, self.history_limit.tokens)


def choose_budget(
    context_window: int | None,
    max_tokens: int | None,
    *,
    ceiling: int | None = None,
    input_limit: int | None = None,
    history_limit: HistoryLimit | None = None,
    is_usual: bool = False,
) -> Budget:
    """Settle the window and the output limit, naming the assumed numbers.

    Args:
        context_window: The caller's window; None if not given.
        max_tokens: The caller's output limit; None if not given.
        ceiling: The largest window known to be accepted by the model, however large the caller's number is.
        input_limit: The caller's upper limit of the input; None for the whole window.
        history_limit: Upper limit of history; None for everything left by the other parts.
        is_usual: True if the upper limit is that of the session's requests.

    Returns:
        A budget with an input of at least one token.

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
    return Budget(window, output, assumed, input_limit, context_window, history_limit, is_usual)


def _default_output(window: int | None) -> int:
    return min(DEFAULT_MAX_TOKENS, max(1, window // WINDOW_PER_MAX_TOKENS)) if window else DEFAULT_MAX_TOKENS


def is_over_budget(parts: Mapping[str, int], budget: Budget) -> bool:
    """Say whether all parts and the output limit together exceed the window."""
    return sum(parts.values()) > budget.input_tokens


def require_fit(fixed: Mapping[str, int], budget: Budget) -> int:
    """Return the tokens left for history after the fixed parts.

    Args:
        fixed: Tokens of each fixed part: overhead, system prompt, tools, new messages.
        budget: The available budget.

    Returns:
        Tokens left, >= 0.

    Raises:
        FixedPartOverBudgetError: The fixed parts alone are over.
    """
    if is_over_budget(fixed, budget):
        raise FixedPartOverBudgetError(parts=fixed, budget_tokens=budget.input_tokens)
    return budget.input_tokens - sum(fixed.values())
