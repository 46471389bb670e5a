"""Check a planner's answer against the catalog: ids, names, and pipelines in place of their parts."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context.catalog.types import Catalog, Entry, EntryKind
from context.decode import DecodeCause, Decoded, decode_json
from context.text.cut import clip, one_line
from context.tool_plans.prompt import PlanDraft, PlanMode, ToolStep
from context.types import JsonObject

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


_MARKS = re.compile(r"[\W_]+")
_SERVER = "__"
_CLIENTS = re.compile(r"mcp(?:__\w+)?", re.IGNORECASE)
"""How clients name the tools of servers: `mcp__server__tool`."""


@dataclass(frozen=True)
class NameIndex:
    """Names of a catalog's entries.

    Attributes:
        ids: Every id.
        spelled: Ids by plain spelling; several ids for a shared spelling.
        groups: Plain group by id, for ids with a group.
    """

    ids: frozenset[str]
    spelled: Mapping[str, frozenset[str]]
    groups: Mapping[str, str]


def name_index(catalog: Catalog) -> NameIndex:
    """Index ids and display names by spelling, without case and punctuation."""
    spelled: dict[str, set[str]] = defaultdict(set)
    for entry in catalog.entries:
        for name in (entry.entry_id, entry.name):
            spelled[_plain(name)].add(entry.entry_id)
    return NameIndex(
        frozenset(entry.entry_id for entry in catalog.entries),
        {name: frozenset(ids) for name, ids in spelled.items()},
        {entry.entry_id: _plain(entry.group) for entry in catalog.entries if _plain(entry.group)},
    )


def find_entry(names: NameIndex, name: str) -> str | None:
    """Find the entry id for a name.

    Args:
        names: The catalog's names.
        name: The name written by a planner.

    Returns:
        An exact id first, then the only entry with the same plain spelling, then the only entry with the same
        spelling after a prefix. The prefix must be the entry's group (`server__tool`), or a client's prefix
        (`mcp__server__tool`) if the entry has no group: tools of other servers are different tools. Without a
        match, or with several, None.
    """
    if name in names.ids:
        return name
    found = names.spelled.get(_plain(name), frozenset())
    if len(found) == 1:
        return next(iter(found))
    behind = {
        entry_id
        for mark in re.finditer(_SERVER, name)
        for entry_id in names.spelled.get(_plain(name[mark.end() :]), ())
        if _is_of(names.groups.get(entry_id, ""), name[: mark.start()])
    }
    return behind.pop() if len(behind) == 1 else None


def _is_of(group: str, prefix: str) -> bool:
    if not group:
        return _CLIENTS.fullmatch(prefix) is not None
    plain = _plain(prefix)
    return group in {plain, plain.removeprefix("mcp_")}


def _plain(name: str) -> str:
    return _MARKS.sub("_", name.casefold()).strip("_")


MAX_STEPS = 12
MAX_ARGS_BYTES = 8_192
MAX_RATIONALE_CHARS = 500
MAX_GAP_CHARS = 1_000

_MAX_NAMED = 5
_MAX_NAME_CHARS = 80
_LIST_KEYS = ("steps", "plan")
_TOOL_KEYS = ("tool", "id", "name", "pipeline", "pack")
_STEP_KEYS = frozenset({"args", "arguments", "rationale"})
_NOTHING = frozenset({"", "none", "null", "n/a"})

NOTHING_FITS = "nothing in the catalog serves this intent"


def plan_schema(mode: PlanMode, *, single: bool) -> JsonObject:
    """Build the JSON schema of an answer in strict form: every field required, arguments as JSON text.

    Args:
        mode: Ordered steps, or a single pick.
        single: Ask for the first step only, and for `more_steps_likely`.
    """
    step = _closed(
        {
            **({"order": {"type": "integer"}} if mode is PlanMode.PLAN else {}),
            "tool": {"type": "string"},
            "args": {"type": "string"},
            "rationale": {"type": "string"},
        }
    )
    fields: JsonObject = {"steps": {"type": "array", "items": step}, "gap": {"type": ["string", "null"]}}
    if single:
        fields["more_steps_likely"] = {"type": "boolean"}
    return _closed(fields)


def response_format(schema: JsonObject, name: str) -> JsonObject:
    """Build OpenAI's `response_format` from a schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def _closed(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def is_plan_answer(value: object) -> bool:
    """Tell whether a value is a plan in a form used by models: strict, loose, or a single pick."""
    if isinstance(value, list):
        return bool(value) and all(_is_step(item) for item in value)
    if not isinstance(value, Mapping):
        return False
    listed = _listed(value)
    if listed is not None:
        if not listed and value.get("error"):
            return False  # a failure in the form of an answer
        return all(_is_step(item) or isinstance(item, str) for item in listed)
    return "tool" in value or (_is_step(value) and not value.keys().isdisjoint(_STEP_KEYS))


def _listed(value: Mapping[str, Any]) -> list[Any] | None:
    return next((value[key] for key in _LIST_KEYS if isinstance(value.get(key), list)), None)


def _is_step(item: object) -> bool:
    return isinstance(item, Mapping) and any(isinstance(item.get(key), str) for key in _TOOL_KEYS)


def read_answer(reply: str | None, *, finish_reason: str | None = None) -> Decoded:
    """Decode a planner's reply in any wrapping; one step a line, `[]` and `{}` are plans too."""
    decoded = decode_json(reply, accept=is_plan_answer, finish_reason=finish_reason, part=_lone_step)
    if decoded.cause is not DecodeCause.MALFORMED:
        return decoded
    empty = decode_json(reply, accept=lambda _value: True, finish_reason=finish_reason)
    return empty if empty.ok and _is_empty(empty.value) else decoded


def _lone_step(value: object) -> object | None:
    """Return a lone step, bare or alone in a list or wrapper; None for a plan with a list of steps."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    elif isinstance(value, Mapping) and len(value) == 1 and value.keys().isdisjoint(_LIST_KEYS):
        inner = next(iter(value.values()))
        value = inner if isinstance(inner, Mapping) else value
    is_step = isinstance(value, Mapping) and _is_step(value) and _listed(value) is None
    return value if is_step else None


def _is_empty(value: object) -> bool:
    """Tell whether an empty answer means "nothing fits": `[]` or `{}`, but not null."""
    if isinstance(value, Mapping) and len(value) == 1 and not value.keys().isdisjoint(_LIST_KEYS):
        value = next(iter(value.values()))
        return value == {}
    return value in ([], {})


def draft_plan(answer: object, catalog: Catalog, mode: PlanMode) -> PlanDraft:
    """Build a plan from a decoded answer.

    A tool missing from the full catalog becomes a gap, without guessing. Steps covered by a planned pipeline
    are dropped. Arguments stay as given, up to `MAX_ARGS_BYTES` a step.

    Args:
        answer: A value accepted by `is_plan_answer`.
        catalog: The full catalog.
        mode: In `route` the first fitting step is the plan.

    Returns:
        The draft; a draft without steps always has a gap warning.
    """
    head = answer if isinstance(answer, Mapping) else {}
    items = _ordered(_items(answer))
    names = name_index(catalog)
    notes = _gap_words(head)
    steps: list[ToolStep] = []
    unknown: list[str] = []
    for tool, item in items:
        entry_id = find_entry(names, tool)
        if entry_id is None:
            unknown.append(tool)
            continue
        args = bounded_args(item.get("args", item.get("arguments")))
        if args is None:
            notes.append(
                f"the arguments of {entry_id} were larger than {MAX_ARGS_BYTES} bytes and are left out"
            )
        steps.append(ToolStep(len(steps) + 1, entry_id, args or {}, _rationale(item)))
    if unknown:
        notes.append(f"the catalog has no {_quoted(unknown)}")
    most = 1 if mode is PlanMode.ROUTE else MAX_STEPS
    kept = prefer_pipelines(steps, catalog)
    if len(kept) > most and mode is PlanMode.PLAN:
        notes.append(f"only the first {most} of {len(kept)} steps are kept")
    if not kept and not notes:
        notes.append(NOTHING_FITS)
    more = head.get("more_steps_likely")
    return PlanDraft(
        steps=tuple(kept[:most]),
        gap_warning=clip("; ".join(notes), MAX_GAP_CHARS) if notes else None,
        more_steps_likely=more if isinstance(more, bool) else None,
    )


def _items(answer: object) -> list[Any]:
    if isinstance(answer, list):
        return answer
    if not isinstance(answer, Mapping):
        return []
    listed = _listed(answer)
    return [answer] if listed is None else listed


def _ordered(items: Sequence[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Pair steps with their tools; sort by the steps' own order if every step has a number."""
    named = [(_tool_of(item), item if isinstance(item, Mapping) else {}) for item in items]
    found = [(tool, item) for tool, item in named if tool.casefold() not in _NOTHING]
    orders = [item.get("order") for _, item in found]
    if all(isinstance(order, int) and not isinstance(order, bool) for order in orders):
        found.sort(key=lambda pair: int(pair[1]["order"]))
    return found


def _tool_of(item: object) -> str:
    if isinstance(item, str):
        return item.strip()
    if not isinstance(item, Mapping):
        return ""
    return next((item[key].strip() for key in _TOOL_KEYS if isinstance(item.get(key), str)), "")


def _gap_words(head: Mapping[str, Any]) -> list[str]:
    words = next((head[key] for key in ("gap", "gap_warning") if isinstance(head.get(key), str)), "")
    said = one_line(words, MAX_GAP_CHARS)
    return [said] if said.casefold() not in _NOTHING else []


def _rationale(item: Mapping[str, Any]) -> str:
    words = next((item[key] for key in ("rationale", "reason", "why") if isinstance(item.get(key), str)), "")
    return clip(words.strip(), MAX_RATIONALE_CHARS)


def _quoted(names: Sequence[str]) -> str:
    shown = [f"'{one_line(name, _MAX_NAME_CHARS)}'" for name in dict.fromkeys(names)]
    return ", ".join(shown[:_MAX_NAMED]) + (
        f" and {len(shown) - _MAX_NAMED} more" if len(shown) > _MAX_NAMED else ""
    )


def bounded_args(args: object) -> JsonObject | None:
    """Read a step's arguments: an object, or an object as JSON text.

    Args:
        args: The planner's value.

    Returns:
        The object as given; any other value under `value`; None if too large to keep.
    """
    if isinstance(args, str) and args.strip():
        inner = decode_json(args, accept=lambda value: isinstance(value, dict))
        args = inner.value if inner.ok else args
    if args is None or args in ("", [], {}):
        return {}
    read: JsonObject = dict(args) if isinstance(args, Mapping) else {"value": args}
    size = len(json.dumps(read, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return read if size <= MAX_ARGS_BYTES else None


ANSWER_CAUSES: Mapping[DecodeCause, str] = {
    DecodeCause.SAFETY: "refused",
    DecodeCause.TRUNCATED: "truncated",
    DecodeCause.EMPTY: "empty",
    DecodeCause.MALFORMED: "malformed",
}
"""Cause in a plan's row for an answer without a plan."""
