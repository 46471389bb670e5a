"""One line that tells the model what preflight decided."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from context.preflight.types import Category, Preflight, ThinkingLevel


def write_hint(
    categories: Sequence[Category], tools: Sequence[str] | str | None, thinking: ThinkingLevel
) -> str:
    """Write the hint.

    Args:
        categories: What the message is about; empty where that was not recognized.
        tools: The tools that stay, or how many of how many; None for all.
        thinking: The level of thought.

    Returns:
        `[Context: research + crypto task | tools: exec, web_fetch | thinking: medium]`, on one line.
    """
    task = " + ".join(categories) or "general"
    if tools is None or isinstance(tools, str):
        names = tools or "all"
    else:
        names = ", ".join(" ".join(name.split()) for name in tools) or "none"
    return f"[Context: {task} task | tools: {names} | thinking: {thinking}]"


def unfiltered(found: Preflight) -> Preflight:
    """Take the filter out of a decision: what it hides is hidden from nobody, and the hint says so."""
    hint = write_hint(found.categories, None, found.thinking_level) if found.hint is not None else None
    return replace(
        found, tool_allowlist=None, hidden=0, hint=hint, reasons=(*found.reasons, "shadow.no_tool_filtering")
    )


def as_sent(found: Preflight, sent: Collection[str], *, offered: int) -> Preflight:
    """Let the hint speak of the tools that are really sent: some may have had no room.

    Args:
        found: The decision.
        sent: The names of the tools that are sent.
        offered: How many tools there were.
    """
    if found.hint is None:
        return found
    if found.tool_allowlist is None:
        tools: Sequence[str] | str | None = None if len(sent) >= offered else f"{len(sent)} of {offered}"
    else:
        tools = [name for name in found.tool_allowlist if name in sent]
    return replace(found, hint=write_hint(found.categories, tools, found.thinking_level))
