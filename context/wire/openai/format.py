"""The format of OpenAI chat completions, spoken by providers of every family, and its check."""

from collections.abc import Sequence

from context.types import JsonObject, Message, Wire
from context.wire.format import Format, Keep, ToolFormat
from context.wire.neutral import LossKind, has_words, member, says_something
from context.wire.openai.read import LIMITS, PARTS, describe, read, read_part, says_nothing
from context.wire.openai.write import is_empty, write


def check(items: Sequence[JsonObject]) -> list[str]:
    """Check that every call is answered once, by the tool messages directly after the call."""
    faults: list[str] = []
    pending: list[str] = []
    for i, body in enumerate(items):
        facts = describe(body, f"messages[{i}]")
        if facts.answer_ids:
            if facts.answer_ids[0] in pending:
                pending.remove(facts.answer_ids[0])
            else:
                faults.append(f"messages[{i}]: answers no open call of the assistant message before it")
            continue
        faults += [f"messages[{i}]: comes before the answer to {call_id!r}" for call_id in pending]
        pending = list(facts.call_ids)
        if body["role"] == "assistant" and says_nothing(body):
            faults.append(f"messages[{i}]: has neither content nor calls")
    return faults + [f"messages[{len(items)}]: the answer to {call_id!r} is missing" for call_id in pending]


_LEGACY_PREFIX = "function_call:"


def edit(body: JsonObject, keep_call: Keep, keep_answer: Keep) -> JsonObject | None:
    """Keep the chosen calls and results; None if nothing sendable is left."""
    if body.get("role") in {"tool", "function"}:
        return body if keep_answer(_answered_id(body)) else None
    edited = dict(body)
    if isinstance(body.get("tool_calls"), list):
        calls = [call for call in body["tool_calls"] if keep_call(member(call, "id"))]
        edited["tool_calls"] = _signed_first(body["tool_calls"], calls)
        if not calls:
            del edited["tool_calls"]
    if body.get("function_call") and not keep_call(
        f"{_LEGACY_PREFIX}{member(body['function_call'], 'name')}"
    ):
        del edited["function_call"]
    parts = ("tool_calls", "function_call", "refusal", "audio")
    says = says_something(edited.get("content")) or any(edited.get(part) for part in parts)
    return edited if says else None


def _signed_first(calls: list[JsonObject], kept: list[JsonObject]) -> list[JsonObject]:
    """Keep the thought signature of parallel calls: Gemini signs the first call alone."""
    signed = next((call for call in calls if _is_signed(call)), None)
    if not kept or signed is None or any(map(_is_signed, kept)):
        return kept
    return [{**kept[0], "extra_content": signed["extra_content"]}, *kept[1:]]


def _is_signed(call: object) -> bool:
    google = member(member(call, "extra_content"), "google")
    return bool(member(google, "thought_signature"))


def _answered_id(body: JsonObject) -> object:
    if body.get("role") == "function":
        return f"{_LEGACY_PREFIX}{body.get('name')}"
    return body.get("tool_call_id")


def _pairs_by_facts(messages: Sequence[Message]) -> bool:
    """Say by the facts alone whether the messages directly behind each call answer it."""
    pending: set[str] = set()
    for message in messages:
        if message.answer_ids:
            if message.answer_ids[0] not in pending:
                return False
            pending.discard(message.answer_ids[0])
        elif pending:
            return False
        else:
            pending = set(message.call_ids)
    return not pending


def _find_silent(messages: Sequence[Message]) -> set[int]:
    return {place for place, message in enumerate(messages) if is_empty(message)}


def _write_tool(named: JsonObject, schema: JsonObject, strict: bool | None) -> JsonObject:
    function = {**named, "parameters": schema}
    return {"type": "function", "function": function if strict is None else {**function, "strict": strict}}


FORMAT = Format(
    wire=Wire.OPENAI,
    describe=describe,
    read=read,
    read_part=read_part,
    parts=PARTS,
    write=write,
    check=check,
    edit=edit,
    is_told=has_words,
    limits=LIMITS,
    tools=ToolFormat(
        write=_write_tool,
        write_free=lambda tool: {"type": "custom", "custom": tool},
        is_native=lambda tool: isinstance(tool.get(str(tool.get("type"))), dict),
        is_own=lambda _: False,
        own_families=frozenset(),
        has_strict=True,
    ),
    id_keys=("id", "tool_call_id"),
    user_text="text",
    model_text="text",
    result_key="content",
    pairs_by_facts=_pairs_by_facts,
    find_silent=_find_silent,
    silent_loss=(LossKind.EMPTY, "an assistant message that says nothing was left out"),
    is_chat=True,
)
