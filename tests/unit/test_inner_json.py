"""JSON inside a clean text: its escapes bring back nothing that the door took out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.subjects import subject_of
from context.artifacts.types import ContentKind
from context.conversation.tool_calls import render_arguments
from context.extract import PassageIndex, extract
from context.summary.clean_reply import clean_reply
from context.text.sanitize import clean_text, decode_inner
from context.types import JsonObject, Wire
from context.wire import convert
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.wire.windows import window

DIRTY = st.text(st.sampled_from("\0\ud800\udc00a/. ") | st.characters(exclude_categories=()), max_size=12)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "query", "command", "url"]) | DIRTY,
    DIRTY | st.lists(DIRTY, max_size=2) | st.dictionaries(DIRTY, DIRTY, max_size=2),
    max_size=4,
).map(json.dumps)
TOOLS = st.sampled_from(["read_file", "search", "bash", "execute_sql", "fetch", "look"])


def is_clean(text: str) -> bool:
    return clean_text(text) is text


@given(ARGUMENTS)
def test_a_value_that_stands_in_a_text_is_clean(written: str) -> None:
    assert is_clean(json.dumps(decode_inner(written), ensure_ascii=False))


def test_a_clean_value_is_as_any_reader_has_it() -> None:
    written = '{"a": [1, 2.5, null, "\\u00e9\\ud83d\\ude00"]}'
    assert decode_inner(written) == json.loads(written) == {"a": [1, 2.5, None, "é😀"]}


@pytest.mark.parametrize("written", ["", "{", "NaN'", '{"a": 1} x'])
def test_what_is_no_json_is_refused_as_by_any_reader(written: str) -> None:
    with pytest.raises(ValueError, match="line 1 column"):
        decode_inner(written)


@given(TOOLS, ARGUMENTS)
def test_what_a_call_is_about_can_be_stored(tool: str, arguments: str) -> None:
    subject = subject_of(tool, arguments)
    assert is_clean(subject.text)
    assert is_clean(subject.key)


@given(ARGUMENTS)
def test_a_call_is_told_in_words_that_can_be_stored(arguments: str) -> None:
    assert is_clean(render_arguments(arguments, 40, 200))


@given(ARGUMENTS)
def test_a_call_goes_out_in_every_format_as_text_that_can_be_sent(arguments: str) -> None:
    function = {"name": "look", "arguments": arguments}
    called: JsonObject = {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
    answered: JsonObject = {"role": "tool", "tool_call_id": "c", "content": "x"}
    messages = window([{"role": "user", "content": "x"}, called, answered])
    for wire in Wire:
        assert all(is_clean(item) for item in convert(messages, wire).items)


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800"])
def test_an_extract_names_its_places_in_words_that_can_be_stored(escape: str) -> None:
    rows = ", ".join(f'{{"na{escape}me {n}": "row {n} of the harbour in the rain"}}' for n in range(200))
    text = f"[{rows}]"
    index = PassageIndex.build(text, ContentKind.JSON)
    found = extract(text, index, "row 77 of the harbour", budget_tokens=300, count=len).text
    assert "row 77" in found
    assert is_clean(found)


def test_a_reply_of_brackets_alone_is_judged_soon() -> None:
    assert grows_in_proportion(clean_reply, "[".__mul__)
