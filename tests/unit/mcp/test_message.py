"""A body that is not one message is refused in our words; whatever passes is one to the protocol as well."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter

from api.mcp.door import fault_of, refusal

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner))
errors = st.fixed_dictionaries({}, optional={"code": scalars, "message": scalars, "data": values})
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | scalars},
    optional={
        "id": scalars,
        "method": st.just("ping") | scalars,
        "params": st.dictionaries(st.text(), values) | values,
        "result": st.dictionaries(st.text(), values) | values,
        "error": errors | values,
    },
)


@given(messages | values)
def test_what_passes_is_a_message_to_the_protocol(message: Any) -> None:
    if fault_of(message) is None:
        jsonrpc_message_adapter.validate_python(message, by_name=False)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"jsonrpc": "1.0"}, "jsonrpc: "),
        ({"method": None}, "method: "),
        ({"id": None}, "id: "),
        ({"id": True}, "id: "),
        ({"id": 1.5}, "id: "),
        ({"params": []}, "params: "),
    ],
)
def test_a_fault_names_its_field(change: dict[str, Any], fault: str) -> None:
    assert (fault_of({**PING, **change}) or "").startswith(fault)


@pytest.mark.parametrize("body", [b"[]", b"5", b'"word"', b"null", b"{}", json.dumps([PING]).encode()])
def test_what_is_no_single_message_is_refused_by_the_protocols_code(body: bytes) -> None:
    answer = refusal(body)
    assert answer is not None
    told = json.loads(bytes(answer.body))
    assert (answer.status_code, told["error"]["code"], told["id"]) == (400, -32600, None)
    assert "validation error" not in told["error"]["message"]


def test_the_answer_to_a_wrong_request_bears_its_id() -> None:
    answer = refusal(json.dumps({**PING, "id": "a", "params": 5}).encode())
    assert answer is not None
    assert json.loads(bytes(answer.body))["id"] == "a"


@pytest.mark.parametrize("body", [json.dumps(PING).encode(), b"{", b"", b"\xff"])
def test_a_message_and_what_is_no_json_go_to_the_protocol(body: bytes) -> None:
    assert refusal(body) is None
