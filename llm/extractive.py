"""The built-in model: a deterministic summary of what the conversation itself says."""

from collections.abc import Callable

from context.prompts import SummaryInput

MODEL = "extractive"
"""The name under which settings choose this model."""


def summarize(request: SummaryInput, *, count: Callable[[str], int] | None = None) -> str:
    """Write the summary that a `SummaryInput` asks for.

    Args:
        request: What to summarize.
        count: Counts the tokens of a text; without it, an estimate that is biased high.

    Returns:
        Notes of at most `request.budget_tokens` tokens.
    """
    del count
    return "\n".join(str(line) for line in request.lines)[: request.budget_tokens]
