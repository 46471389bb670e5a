"""Pairing of calls and answers in outgoing messages: valid ids, answers directly after their calls."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from context.types import Role, Wire
from context.wire.neutral import Call, Loss, LossKind, NeutralEntry, Part, ToolAnswer

_ID_LENGTHS = {Wire.OPENAI: 40, Wire.ANTHROPIC: 64, Wire.RESPONSES: 64}
_NAME_LENGTHS = {Wire.OPENAI: 64, Wire.ANTHROPIC: 128, Wire.RESPONSES: 64}
_FOREIGN_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_LENGTH = 8


@dataclass(frozen=True)
class Link:
    """A call, by entry and id, and the entry with its answer; None without an answer."""

    caller: int
    call_id: str
    answerer: int | None


def pair(entries: Sequence[NeutralEntry], wire: Wire) -> tuple[list[NeutralEntry], list[Loss]]:
    """Give every call a valid id for the target, and move its answer to the required place.

    Args:
        entries: The window in its order.
        wire: The target format.

    Returns:
        The renamed entries in a valid order for the target, and the changes.
    """
    links = link(entries)
    named, losses = rename(entries, links, wire)
    if wire is Wire.RESPONSES:
        return named, losses
    order = settle(entries, links, wire)
    moved = [
        Loss(entries[i].seq, LossKind.ORDER, "the answer was moved behind its call")
        for place, i in enumerate(order)
        if place < i and entries[i].answer_ids
    ]
    return [named[i] for i in order], losses + moved


def link(entries: Sequence[NeutralEntry]) -> list[Link]:
    """Join each call to its answer: the next answer with the same id, before the id is used again."""
    calls: list[tuple[int, str]] = []
    answerers: dict[int, int] = {}
    waiting: dict[str, int] = {}
    for i, entry in enumerate(entries):
        for answer_id in entry.answer_ids:
            at = waiting.pop(answer_id, None)
            if at is not None:
                answerers[at] = i
        for call_id in entry.call_ids:
            waiting[call_id] = len(calls)
            calls.append((i, call_id))
    return [Link(caller, call_id, answerers.get(n)) for n, (caller, call_id) in enumerate(calls)]


def rename(
    entries: Sequence[NeutralEntry], links: Sequence[Link], wire: Wire
) -> tuple[list[NeutralEntry], list[Loss]]:
    """Give every call a unique id: some platforms count from `call_0` again in every turn."""
    names = _call_names(entries, links, wire)
    losses: list[Loss] = []
    renames: dict[int, dict[tuple[bool, str], str]] = {}
    for one, name in zip(links, names, strict=True):
        renames.setdefault(one.caller, {})[True, one.call_id] = name
        if one.answerer is not None:
            renames.setdefault(one.answerer, {})[False, one.call_id] = name
        if name != one.call_id:
            losses.append(
                Loss(entries[one.caller].seq, LossKind.CALL_ID, "the call and its answer got a new id")
            )
    named = [_renamed(entry, renames.get(i, {}), wire) for i, entry in enumerate(entries)]
    return named, losses


def settle(entries: Sequence[NeutralEntry], links: Sequence[Link], wire: Wire) -> list[int]:
    """Order the entries so that answers directly follow the assistant's calls."""
    answers: dict[int, list[int]] = {}
    for one in links:
        if one.answerer is not None and entries[one.answerer].role in {Role.TOOL, Role.USER}:
            answers.setdefault(one.caller, []).append(one.answerer)
    order: list[int] = []
    placed: set[int] = set()
    for i in range(len(entries)):
        if i in placed:
            continue
        group = _together(entries, i, placed, wire)
        group += sorted({answer for caller in group for answer in answers.get(caller, [])} - placed)
        order += group
        placed.update(group)
    return order


def fit_name(name: str, wire: Wire) -> str:
    """Adapt a tool's name to a format; a valid name stays."""
    return shape_name(name, _NAME_LENGTHS[wire])


def fit_id(call_id: str, wire: Wire) -> str:
    """Adapt a call's id to a format; a valid id stays."""
    return shape_name(call_id, _ID_LENGTHS[wire])


def shape_name(name: str, length: int) -> str:
    """Adapt a name or an id: letters, digits, `_` and `-`, limited in length; a valid name stays."""
    clean = _FOREIGN_CHARACTER.sub("_", name)
    if clean == name and 0 < len(name) <= length:
        return name
    # The digest keeps two names apart that differ in the replaced characters only.
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{clean[: length - _DIGEST_LENGTH - 1]}_{digest}"


def _call_names(entries: Sequence[NeutralEntry], links: Sequence[Link], wire: Wire) -> list[str]:
    """Choose the ids; native messages come first, to stay as stored."""
    names = [one.call_id for one in links]
    used: set[str] = set()
    fixed = [_is_fixed(entries, one, wire) for one in links]
    native = [n for n, is_native in enumerate(fixed) if is_native]
    foreign = [n for n, is_native in enumerate(fixed) if not is_native]
    for n in native:
        if wire is Wire.ANTHROPIC:
            names[n] = _free(names[n], used, wire) if names[n] in used else names[n]
        used.add(names[n])
    for n in foreign:
        names[n] = _free(names[n], used, wire)
        used.add(names[n])
    return names


def _is_fixed(entries: Sequence[NeutralEntry], one: Link, wire: Wire) -> bool:
    """Tell whether the id is part of an unmodified stored message, as a call or as an answer."""
    answer = None if wire is Wire.ANTHROPIC or one.answerer is None else entries[one.answerer].native
    return entries[one.caller].native is not None or answer is not None


def _free(call_id: str, used: set[str], wire: Wire) -> str:
    name, times = fit_id(call_id, wire), 1
    while name in used:
        times += 1
        name = fit_id(f"{call_id}#{times}", wire)
    return name


def _renamed(entry: NeutralEntry, names: dict[tuple[bool, str], str], wire: Wire) -> NeutralEntry:
    if entry.native is not None:
        changed = {old: new for (_, old), new in names.items() if old != new}
        return replace(entry, renames=tuple(changed.items())) if changed else entry
    return replace(entry, parts=tuple(_renamed_part(part, names, wire) for part in entry.parts))


def _renamed_part(part: Part, names: dict[tuple[bool, str], str], wire: Wire) -> Part:
    if isinstance(part, Call | ToolAnswer):
        key = (isinstance(part, Call), part.call_id)
        return replace(part, call_id=names.get(key, fit_id(part.call_id, wire)))
    return part


def _together(entries: Sequence[NeutralEntry], start: int, placed: set[int], wire: Wire) -> list[int]:
    """List the assistant entries merged into a single message, to stand before their answers."""
    group = [start]
    if entries[start].role is not Role.ASSISTANT:
        return group
    for i in range(start + 1, len(entries)):
        joins = wire is Wire.ANTHROPIC or (entries[start].native is None and entries[i].native is None)
        if i in placed or entries[i].role is not Role.ASSISTANT or not joins:
            break
        group.append(i)
    return group
