"""One line that tells the model what preflight decided."""

from collections.abc import Sequence
from dataclasses import replace

from context.preflight.types import Category, Preflight, ThinkingLevel


def write_hint(categories: Sequence[Category], tools: Sequence[str] | None, thinking: ThinkingLevel) -> str:
    """Write the hint.

    Args:
        categories: What the message is about; empty where that was not recognized.
        tools: The tools that stay; None for all.
        thinking: The level of thought.

    Returns:
        `[Context: research + crypto task | tools: exec, web_fetch | thinking: medium]`, on one line.
    """
    task = " + ".join(categories) or "general"
    names = "all" if tools is None else ", ".join(" ".join(name.split()) for name in tools) or "none"
    return f"[Context: {task} task | tools: {names} | thinking: {thinking}]"


def unfiltered(found: Preflight) -> Preflight:
    """Take the filter out of a decision: what it hides is hidden from nobody, and the hint says so."""
    hint = write_hint(found.categories, None, found.thinking_level) if found.hint is not None else None
    return replace(
        found, tool_allowlist=None, hidden=0, hint=hint, reasons=(*found.reasons, "shadow.no_tool_filtering")
    )
