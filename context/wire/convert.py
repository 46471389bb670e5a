"""Conversion of a window of stored messages to the caller's format, with calls and answers paired."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from context.types import Message, Role, Wire
from context.wire.format import Format
from context.wire.formats import format_of
from context.wire.neutral import ConvertedWindow, Loss, LossKind, NeutralCall, NeutralEntry, Part, ToolAnswer


@dataclass(frozen=True)
class Link:
    """A call, by entry and id, and the entry with its answer; None without an answer."""

    caller: int
    call_id: str
    answerer: int | None


FitId = Callable[[str], str]


def pair(
    entries: Sequence[NeutralEntry], form: Format, fit_id: FitId | None = None
) -> tuple[list[NeutralEntry], list[Loss]]:
    """Give every call a valid id for the target, and move its answer to the required place.

    Args:
        entries: The window in its order.
        form: The target format.
        fit_id: Adapts a call's id; None for what the format alone asks.

    Returns:
        The renamed entries in a valid order for the target, and the changes.
    """
    links = link(entries)
    named, losses = rename(entries, links, form, fit_id or form.fit_id)
    if form.is_list_of_items:
        return named, losses
    order = settle(entries, links, form)
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
    entries: Sequence[NeutralEntry], links: Sequence[Link], form: Format, fit_id: FitId
) -> tuple[list[NeutralEntry], list[Loss]]:
    """Give every call a unique id: some platforms count from `call_0` again in every turn."""
    names = _call_names(entries, links, form, fit_id)
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
    named = [_renamed(entry, renames.get(i, {}), fit_id) for i, entry in enumerate(entries)]
    return named, losses


def settle(entries: Sequence[NeutralEntry], links: Sequence[Link], form: Format) -> list[int]:
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
        group = _together(entries, i, placed, form)
        group += sorted({answer for caller in group for answer in answers.get(caller, [])} - placed)
        order += group
        placed.update(group)
    return order


def _call_names(
    entries: Sequence[NeutralEntry], links: Sequence[Link], form: Format, fit_id: FitId
) -> list[str]:
    """Choose the ids; native messages come first, to stay as stored."""
    names = [one.call_id for one in links]
    used: set[str] = set()
    tried: dict[str, int] = {}
    fixed = [_is_fixed(entries, one, form) for one in links]
    native = [n for n, is_native in enumerate(fixed) if is_native]
    foreign = [n for n, is_native in enumerate(fixed) if not is_native]
    for n in native:
        if form.has_unique_ids:
            names[n] = _free(names[n], used, tried, fit_id) if names[n] in used else names[n]
        used.add(names[n])
    for n in foreign:
        names[n] = _free(names[n], used, tried, fit_id)
        used.add(names[n])
    return names


def _is_fixed(entries: Sequence[NeutralEntry], one: Link, form: Format) -> bool:
    """Tell whether the id is part of an unmodified stored message, as a call or as an answer."""
    answer = None if form.has_unique_ids or one.answerer is None else entries[one.answerer].native
    return entries[one.caller].native is not None or answer is not None


def _free(call_id: str, used: set[str], tried: dict[str, int], fit_id: FitId) -> str:
    """Find an unused name for an id; `tried` remembers how many names of each id are used."""
    times = tried.get(call_id, 1)
    name = fit_id(call_id if times == 1 else f"{call_id}#{times}")
    while name in used:
        times += 1
        name = fit_id(f"{call_id}#{times}")
    tried[call_id] = times
    return name


def _renamed(entry: NeutralEntry, names: dict[tuple[bool, str], str], fit_id: FitId) -> NeutralEntry:
    if entry.native is not None:
        changed = {old: new for (_, old), new in names.items() if old != new}
        return replace(entry, renames=tuple(changed.items())) if changed else entry
    return replace(entry, parts=tuple(_renamed_part(part, names, fit_id) for part in entry.parts))


def _renamed_part(part: Part, names: dict[tuple[bool, str], str], fit_id: FitId) -> Part:
    if isinstance(part, NeutralCall | ToolAnswer):
        key = (isinstance(part, NeutralCall), part.call_id)
        return replace(part, call_id=names.get(key, fit_id(part.call_id)))
    return part


def _together(entries: Sequence[NeutralEntry], start: int, placed: set[int], form: Format) -> list[int]:
    """List the assistant entries merged into a single message, to stand before their answers."""
    group = [start]
    if entries[start].role is not Role.ASSISTANT:
        return group
    for i in range(start + 1, len(entries)):
        joins = form.merges_roles or (entries[start].native is None and entries[i].native is None)
        if i in placed or entries[i].role is not Role.ASSISTANT or not joins:
            break
        group.append(i)
    return group


def convert(
    messages: Sequence[Message], to: Wire, *, keeps_system: bool = True, fit_id: FitId | None = None
) -> ConvertedWindow:
    """Write a window in a single format, from messages stored in any format.

    A message stored in the target format passes as its stored text, byte for byte. Such a message is
    rewritten only if the format would refuse the stored text: merging with a neighbour of the same role
    (Anthropic), unique call ids, removal of fields beside role and content, and of blank texts (Anthropic).

    Args:
        messages: The window in order, each message valid (`context.wire.describe`), pairs whole.
        to: The target format.
        keeps_system: True if a later system message may stay among the messages (Anthropic, some models).
        fit_id: Adapts a call's id to the target; None for what the format alone asks.

    Returns:
        The items, the system prompt if kept apart, and a record of all losses.
    """
    entries = [entry for message in messages for entry in _read(message, to, keeps_system=keeps_system)]
    paired, changes = pair(entries, format_of(to), fit_id)
    window = format_of(to).write(paired)
    return ConvertedWindow(window.items, window.system, (*changes, *window.dropped))


def _read(message: Message, to: Wire, *, keeps_system: bool) -> list[NeutralEntry]:
    joins_prompt = format_of(to).has_system_apart and message.role is Role.SYSTEM and not keeps_system
    if message.wire is to and not joins_prompt:
        return [NeutralEntry(message.seq, message.role, native=message)]
    return format_of(message.wire).read(message)
