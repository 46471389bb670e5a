"""Fields of parts, blocks, calls and items, where a provider refuses all others."""

from collections.abc import Mapping

from context.shape.rule_names import Fitting, ShapeRule, without
from context.tokens.families import ModelFamily
from context.types import JsonObject
from context.wire.neutral import LossKind


def _table(rows: Mapping[str, str], *everywhere: str) -> dict[str, frozenset[str]]:
    return {
        kind: frozenset({"type", *everywhere, *fields.split()})
        for kinds, fields in rows.items()
        for kind in kinds.split()
    }


BLOCKS = _table(
    {
        "text": "text citations",
        "image": "source",
        "document": "source title context citations",
        "search_result": "source title content citations",
        "container_upload": "file_id",
        "tool_use server_tool_use": "id name input caller",
        "tool_result": "tool_use_id content is_error",
        "web_search_tool_result web_fetch_tool_result": "tool_use_id content caller",
        "code_execution_tool_result bash_code_execution_tool_result": "tool_use_id content",
        "text_editor_code_execution_tool_result tool_search_tool_result": "tool_use_id content",
        "mcp_tool_use": "id name input server_name",
        "mcp_tool_result": "tool_use_id content is_error",
        "thinking": "thinking signature",
        "redacted_thinking": "data",
    },
    "cache_control",
)
"""Fields of Anthropic's blocks."""

CHAT = _table(
    {
        "text": "text",
        "image_url": "image_url",
        "input_audio": "input_audio",
        "file": "file",
        "refusal": "refusal",
    },
    "cache_control",
    "prompt_cache_breakpoint",
)
"""Fields of parts of a chat message."""

CALLS = {
    "": frozenset({"id", "type", "function", "custom", "extra_content"}),
    "function": frozenset({"name", "arguments"}),
    "custom": frozenset({"name", "input"}),
}
"""Fields of a call of a chat message, where a gateway may keep a signature, and of the called tool."""

_OF_CALL = "id call_id name namespace caller async status"
ITEMS = _table(
    {
        "message": "id role content status phase",
        "reasoning": "id summary content encrypted_content status",
        "function_call": f"{_OF_CALL} arguments",
        "custom_tool_call": f"{_OF_CALL} input",
        "function_call_output custom_tool_call_output": f"{_OF_CALL} output",
        "input_text": "text prompt_cache_breakpoint",
        "output_text": "text annotations logprobs",
        "refusal": "refusal",
        "input_image": "detail file_id image_url prompt_cache_breakpoint",
        "input_file": "detail file_data file_id file_url filename prompt_cache_breakpoint",
    }
)
"""Fields of items of the Responses API and of their parts; none of them has to be there as null."""


OWN = "x_"
"""Beginning of fields that a platform sends on purpose: a gateway before the models of OpenAI reads them."""


def keep_known(body: JsonObject, known: frozenset[str] | None, fit: Fitting) -> JsonObject:
    """Leave out fields that the provider does not know; OpenAI's get those that a platform marks as its own.

    Args:
        body: A part, a block, a call or an item.
        known: Its fields; None if any field may be there.
        fit: Facts about the message, and record of the changes.

    Returns:
        The rest; the same object if unchanged.
    """
    if known is None:
        return body
    own = OWN if fit.target.family is ModelFamily.OPENAI else "\0"
    extra = [key for key in body if key not in known and not key.startswith(own)]
    if not extra:
        return body
    is_loss = any(body[key] for key in extra)
    why = "fields that the provider does not know were left out"
    fit.apply(ShapeRule.KNOWN_FIELDS, *((LossKind.FIELDS, why) if is_loss else ()))
    return without(body, extra)
