"""Messages with tool results of any size, in every wire format."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from context.artifacts.positions import write_continuation
from context.artifacts.split import split_results
from context.types import JsonObject, Message, Wire
from tests.unit.histories import make_message

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
LONG = "".join(f"line {number}: the quick brown fox says {number * 7}\n" for number in range(400))
ID = "art_" + "0" * 32


def tool_message(content: Any, *, call_id: str = "call_1", **fields: Any) -> Message:
    """A chat message that answers one call."""
    return make_message({"role": "tool", "tool_call_id": call_id, "content": content, **fields})


def tool_blocks(*contents: Any, before: Sequence[JsonObject] = (), **fields: Any) -> Message:
    """An Anthropic message that answers several calls at once, with words behind the results."""
    results = [
        {"type": "tool_result", "tool_use_id": f"call_{place}", "content": content, **fields}
        for place, content in enumerate(contents)
    ]
    words = [{"type": "text", "text": "and now?"}]
    return make_message({"role": "user", "content": [*before, *results, *words]}, Wire.ANTHROPIC)


def tool_output(output: Any, **fields: Any) -> Message:
    """A Responses item that answers one call."""
    item = {"type": "function_call_output", "call_id": "call_1", "output": output, **fields}
    return make_message(item, Wire.RESPONSES)


def texts() -> st.SearchStrategy[str]:
    """Result texts: short, long, in several scripts, and such as want to pass as pointers."""
    pointer = str(split_results(tool_message(LONG), least_chars=1000).message.body["content"])
    return st.one_of(
        st.text(max_size=80),
        st.text(st.sampled_from('ab \n,{}"<>/é漢👩\u200d🇩🇪'), max_size=400),
        st.integers(1, 60).map(lambda times: "some words that go on " * times),
        st.sampled_from(
            (
                "",
                " ",
                pointer,
                write_continuation(ID, (0, 4)),
                f'<stored_result id="{ID}">',
                "</stored_result>",
            )
        ),
    )


def contents(kind: str = "text") -> st.SearchStrategy[Any]:
    """The content of a result: a text, or parts of which some are media."""
    part = st.one_of(texts().map(lambda text: {"type": kind, "text": text}), st.just(dict(IMAGE)))
    return st.one_of(texts(), st.lists(part, max_size=4))


def result_messages() -> st.SearchStrategy[Message]:
    """Messages with results in any wire format."""
    flags = st.sampled_from(({}, {"is_error": True}, {"cache_control": {"type": "ephemeral"}}))
    return st.one_of(
        contents().map(tool_message),
        st.tuples(st.lists(contents(), min_size=1, max_size=3), flags).map(
            lambda drawn: tool_blocks(*drawn[0], **drawn[1])
        ),
        contents("input_text").map(tool_output),
    )
