"""Pipelines in place of their parts: no step repeats the work of a planned pipeline."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from context.catalog.types import Catalog, Entry, EntryKind
from context.tool_plans.types import ToolStep

_LEAST_PARTS = 2


def prefer_pipelines(steps: Sequence[ToolStep], catalog: Catalog) -> list[ToolStep]:
    """Drop steps superseded by a planned entry, and plan a pipeline if all of its parts are planned.

    Args:
        steps: Steps with catalog ids as tools, in order.
        catalog: The full catalog.

    Returns:
        The renumbered steps; a pipeline takes the place of its first part.
    """
    by_id = {entry.entry_id: entry for entry in catalog.entries}
    kept = _without_superseded(list(steps), by_id)
    for entry in _pipelines_of(kept, catalog):
        kept = _replaced(kept, entry)
    return [replace(step, order=order) for order, step in enumerate(kept, 1)]


def _without_superseded(steps: list[ToolStep], by_id: dict[str, Entry]) -> list[ToolStep]:
    planned = {step.tool for step in steps}
    gone = {part for tool in planned for part in by_id[tool].supersedes if part != tool}
    left = [step for step in steps if step.tool not in gone]
    return left or steps  # entries that supersede each other: all of them stay


def _pipelines_of(steps: Sequence[ToolStep], catalog: Catalog) -> list[Entry]:
    """List pipelines with all parts planned, the largest first."""
    planned = {step.tool for step in steps}
    found = [
        entry
        for entry in catalog.entries
        if entry.kind is EntryKind.PIPELINE
        and entry.entry_id not in planned
        and len(set(entry.supersedes)) >= _LEAST_PARTS
        and set(entry.supersedes) <= planned
    ]
    return sorted(found, key=lambda entry: (-len(set(entry.supersedes)), entry.entry_id))


def _replaced(steps: Sequence[ToolStep], pipeline: Entry) -> list[ToolStep]:
    parts = set(pipeline.supersedes)
    if not parts <= {step.tool for step in steps}:
        return list(steps)  # a larger pipeline took some of them
    first = next(place for place, step in enumerate(steps) if step.tool in parts)
    mine = [step for step in steps if step.tool in parts]
    args = {key: value for step in mine for key, value in step.args.items() if key in _inputs(pipeline)}
    why = f"{pipeline.entry_id} does {', '.join(step.tool for step in mine)}"
    whole = ToolStep(first + 1, pipeline.entry_id, args, why)
    rest = [step for step in steps if step.tool not in parts]
    before = sum(step.tool not in parts for step in steps[:first])
    return [*rest[:before], whole, *rest[before:]]


def _inputs(entry: Entry) -> Collection[str]:
    """List the names of a pipeline's arguments."""
    schema = entry.input_schema
    if isinstance(schema, dict):
        properties = schema.get("properties")
        return set(properties) if isinstance(properties, dict) else set()
    return set(schema or ()) | set(entry.accepts)
