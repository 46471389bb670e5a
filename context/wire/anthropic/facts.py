"""Facts of an Anthropic message."""

from context.types import JsonObject, Role
from context.wire.facts import (
    Limits,
    MessageFacts,
    need_content,
    need_distinct,
    need_object,
    need_role,
    need_text,
)

LIMITS = Limits(id_chars=64, name_chars=128, has_plain_ids=True)

ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
"""Roles; `system` is a message inside the conversation, since the system prompt stands apart."""

SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls run by the provider itself; the results come in an assistant message."""


def describe(body: JsonObject, path: str) -> MessageFacts:
    """Read the facts of an Anthropic message; see `context.wire.describe`."""
    role = ROLES[need_role(body, ROLES, path)]
    calls: list[str] = []
    answers: list[str] = []
    blocks = need_content(body, path)
    for i, block in enumerate(blocks):
        where = f"{path}.content[{i}]"
        if is_call(block):
            calls.append(need_text(block, "id", where))
            need_text(block, "name", where)
            need_object(block.get("input", {}), f"{where}.input")
        elif is_answer(block):
            answers.append(need_text(block, "tool_use_id", where))
            check_answer(block, where)
    made = need_distinct(calls, f"{path}.content")
    given = need_distinct(answers, f"{path}.content")
    return MessageFacts(
        role,
        call_ids=tuple(i for i in made if i not in given),
        answer_ids=tuple(i for i in given if i not in made),
        compacts=any(map(is_compaction, blocks)),
    )


def is_compaction(block: JsonObject) -> bool:
    """Tell whether a block stands for everything before; without content, the provider failed to make one."""
    texts = (block.get("content"), block.get("encrypted_content"))
    return block.get("type") == "compaction" and any(isinstance(text, str) and text for text in texts)


def is_call(block: JsonObject) -> bool:
    """Tell whether a block calls a tool, of the client or of the provider."""
    return block["type"] == "tool_use" or block["type"] in SERVER_CALLS


def is_answer(block: JsonObject) -> bool:
    """Tell whether a block answers a tool call; every provider tool has its own result type."""
    return str(block["type"]).endswith("tool_result")


def check_answer(block: JsonObject, path: str) -> None:
    """Check a result's content: absent, null, a string or parts; a provider tool's own shape passes.

    Raises:
        InvalidInputError: A client tool's result has content of another type.
    """
    if block["type"] == "tool_result" and block.get("content") is not None:
        need_content(block, path)
