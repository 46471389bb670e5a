"""Hint line with preflight's decision, for the model."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from context.preflight.types import Category, Preflight, ThinkingLevel


def write_hint(
    categories: Sequence[Category], tools: Sequence[str] | str | None, thinking: ThinkingLevel
) -> str:
    """Write the hint.

    Args:
        categories: The subject of the message; empty if not recognized.
        tools: The tools that stay, or their number of a total; None for all.
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


SHADOWED, KEPT = "shadow.no_tool_filtering", "cache.keeps_the_list_of_tools"
"""Why a decision has no filter."""


def unfiltered(found: Preflight, reason: str = SHADOWED) -> Preflight:
    """Remove the filter from a decision: no tool is hidden, the hint says so, and a reason is added."""
    hint = write_hint(found.categories, None, found.thinking_level) if found.hint is not None else None
    return replace(found, tool_allowlist=None, hidden=0, hint=hint, reasons=(*found.reasons, reason))


def as_sent(found: Preflight, sent: Collection[str], *, offered: int) -> Preflight:
    """Adapt the hint to the tools really sent, since some may have had no room.

    Args:
        found: The decision.
        sent: The names of the sent tools.
        offered: The number of tools offered.
    """
    if found.hint is None:
        return found
    if found.tool_allowlist is None:
        tools: Sequence[str] | str | None = None if len(sent) >= offered else f"{len(sent)} of {offered}"
    else:
        tools = [name for name in found.tool_allowlist if name in sent]
    return replace(found, hint=write_hint(found.categories, tools, found.thinking_level))
