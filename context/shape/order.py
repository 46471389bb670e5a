"""Order of roles: repair of windows refused by chat templates and newer models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from context.shape.rule_names import ShapeRule, parts_of
from context.shape.target import Target
from context.tokens import EMPTY, Count, measure_message
from context.tokens.families import ModelFamily
from context.types import JsonObject
from context.wire.neutral import dump

BEGINNING = "[The conversation begins with the assistant's words.]"
BRIDGE = "[The tool's results were received.]"
GO_ON = "[Go on from here.]"
SHOWN_BELOW = "[shown in the message after the tool results]"
SHOWN_ABOVE = "[media returned by the tool calls above]"
SYSTEM_NOTE = "[Instruction of the platform, given at this point of the conversation]\n"


@dataclass
class Ordered:
    """Items in a valid order for the target.

    Attributes:
        items: Each message as JSON text.
        added: Count of the added text.
        rules: Rules with an effect.
    """

    items: list[str]
    added: Count = EMPTY
    rules: set[ShapeRule] = field(default_factory=set)


def order_roles(items: Sequence[str], target: Target, *, has_system: bool) -> Ordered:
    """Put items into an order accepted by the target's template.

    Args:
        items: The window as JSON texts, pairs whole, without the system prompt.
        target: The target model and format.
        has_system: True if a system prompt precedes the items.

    Returns:
        The items; unchanged items keep their texts.
    """
    ordered = Ordered(list(items))
    if target.form.is_list_of_items or not items:
        return ordered
    if not target.takes_tool_pictures:
        _carry_pictures(ordered)
    if target.is_strict or _may_be_refused(items, target):
        _Walk(target, ordered, has_system=has_system).walk()
    _end(ordered, target)
    return ordered


def _may_be_refused(items: Sequence[str], target: Target) -> bool:
    """Tell quickly whether a rule of a target with few rules may have an effect."""
    signs = ['"system"'] if target.leads_with_system else []
    if target.calls_after_users:
        signs.append('"tool_calls"')
    opens = target.calls_after_users and '"assistant"' in items[0]
    return opens or any(sign in item for item in items for sign in signs)


def _carry_pictures(ordered: Ordered) -> None:
    """Move pictures out of tools' results into a user's message behind them."""
    items: list[str] = []
    carried: list[JsonObject] = []
    for text in ordered.items:
        body = json.loads(text) if '"tool_call_id"' in text else {}
        is_result = body.get("role") == "tool"
        if not is_result:
            _show(ordered, items, carried)
        parts = [part for part in parts_of(body) if is_result and part.get("type") != "text"]
        carried += parts
        if parts:
            ordered.added += measure_message({"role": "tool", "content": SHOWN_BELOW * len(parts)})
        items.append(dump({**body, "content": list(map(_below, parts_of(body)))}) if parts else text)
    _show(ordered, items, carried)
    ordered.items = items


def _below(part: JsonObject) -> JsonObject:
    return part if part.get("type") == "text" else {"type": "text", "text": SHOWN_BELOW}


def _show(ordered: Ordered, items: list[str], carried: list[JsonObject]) -> None:
    """Append a user's message with the carried parts, if any."""
    if carried:
        lead = {"type": "text", "text": SHOWN_ABOVE}
        items.append(dump({"role": "user", "content": [lead, *carried]}))
        ordered.added += measure_message({"role": "user", "content": [lead]})
        ordered.rules.add(ShapeRule.TOOL_PICTURE)
        carried.clear()


class _Walk:
    """A single walk over the items, merging or appending each."""

    def __init__(self, target: Target, ordered: Ordered, *, has_system: bool) -> None:
        self.target = target
        self.ordered = ordered
        self.has_system = has_system
        self.bodies: list[JsonObject] = []
        self.texts: list[str | None] = []

    def walk(self) -> None:
        for text in self.ordered.items:
            body: JsonObject = json.loads(text)
            is_system = self.target.leads_with_system and body.get("role") == "system"
            if is_system and (self.bodies or self.has_system):
                self._take(self._as_user(body), None)
            else:
                self._take(body, text)
        self.ordered.items = [
            dump(body) if text is None else text for body, text in zip(self.bodies, self.texts, strict=True)
        ]

    def _as_user(self, body: JsonObject) -> JsonObject:
        """Write a later instruction as a user's message, with a note on its origin."""
        self.ordered.rules.add(ShapeRule.SYSTEM_ITEM)
        self.ordered.added += measure_message({"role": "user", "content": SYSTEM_NOTE})
        content = body.get("content")
        if isinstance(content, str):
            return {"role": "user", "content": SYSTEM_NOTE + content}
        return {"role": "user", "content": [{"type": "text", "text": SYSTEM_NOTE}, *(content or ())]}

    def _take(self, body: JsonObject, text: str | None) -> None:
        role = body.get("role")
        at = next((at for at in reversed(range(len(self.bodies))) if not _is_apart(self.bodies[at])), -1)
        last = self.bodies[at].get("role") if at >= 0 else "system"
        if not (self.target.is_strict or (self.target.calls_after_users and role == "assistant")):
            self._append(body, text)
        elif role == "user" and last in {"tool", "function"}:
            self._add({"role": "assistant", "content": BRIDGE}, ShapeRule.USER_AFTER_TOOL)
            self._append(body, text)
        elif role == last and role in {"user", "assistant"}:
            self.bodies[at], self.texts[at] = _merged(self.bodies[at], body), None
            self.ordered.rules.add(ShapeRule.ALTERNATING_ROLES)
        elif role == "assistant" and last == "system":
            self._add({"role": "user", "content": BEGINNING}, ShapeRule.ALTERNATING_ROLES)
            self._append(body, text)
        else:
            self._append(body, text)

    def _append(self, body: JsonObject, text: str | None) -> None:
        self.bodies.append(body)
        self.texts.append(text)

    def _add(self, body: JsonObject, rule: ShapeRule) -> None:
        self._append(body, None)
        self.ordered.rules.add(rule)
        self.ordered.added += measure_message(body)


def _is_apart(body: JsonObject) -> bool:
    """Tell whether a provider takes a message out of the conversation."""
    return body.get("role") in {"system", "developer"}


def _merged(first: JsonObject, second: JsonObject) -> JsonObject:
    """Join two messages of the same role: words after words, calls after calls."""
    body = {**first, **second, "content": _joined(first.get("content"), second.get("content"))}
    calls = [*(first.get("tool_calls") or ()), *(second.get("tool_calls") or ())]
    return {**body, "tool_calls": calls} if calls else body


def _joined(first: object, second: object) -> object:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_as_parts(first), *_as_parts(second)]


def _as_parts(content: object) -> list[object]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _end(ordered: Ordered, target: Target) -> None:
    """Adapt a window's end after the assistant's words, so that the model can continue."""
    body: JsonObject = json.loads(ordered.items[-1])
    if body.get("role") != "assistant" or body.get("tool_calls"):
        return
    if target.family is ModelFamily.MISTRAL and target.form.is_chat:
        if body.get("prefix") is not True:
            ordered.items[-1] = dump({**body, "prefix": True})
            ordered.rules.add(ShapeRule.TRAILING_ASSISTANT)
    elif target.refuses_prefill or target.is_strict:
        user = {"role": "user", "content": GO_ON}
        ordered.items.append(dump(user))
        ordered.added += measure_message(user)
        ordered.rules.add(ShapeRule.TRAILING_ASSISTANT)
    elif target.family is ModelFamily.ANTHROPIC and (bare := _without_last_blank(body)) is not body:
        ordered.items[-1] = dump(bare)
        ordered.rules.add(ShapeRule.TRAILING_ASSISTANT)


def _without_last_blank(body: JsonObject) -> JsonObject:
    content = body.get("content")
    if isinstance(content, str) and content != content.rstrip():
        return {**body, "content": content.rstrip()}
    last = content[-1] if isinstance(content, list) and content else None
    text = last.get("text") if isinstance(last, dict) and last.get("type") == "text" else None
    if isinstance(content, list) and isinstance(text, str) and text != text.rstrip():
        return {**body, "content": [*content[:-1], {**(last or {}), "text": text.rstrip()}]}
    return body
