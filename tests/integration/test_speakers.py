"""Raw turns of a group name who speaks where a request wants it, in every format and once."""

import json

import pytest
from fastapi.testclient import TestClient

from tests.integration.test_context_api import check, post, user, window


@pytest.mark.parametrize("wire", ["openai", "anthropic", "responses"])
def test_raw_turns_of_a_group_name_their_speakers_where_the_request_wants_it(
    client: TestClient, wire: str
) -> None:
    for number, speaker in enumerate(("Ana", "Zo\u00eb", None)):
        post(client, user(f"word {number}"), turn_id=f"t{number}", speaker=speaker)
    plain, named = window(client, wire=wire), window(client, wire=wire, speakers=True)
    check(named, wire)
    assert "Ana" not in json.dumps(plain["messages"])
    told = json.dumps(named["messages"], ensure_ascii=False)
    assert ('"name": "Ana"' if wire == "openai" else "Ana: word 0") in told
    assert "Zo\u00eb: word 1" in told
    if wire != "anthropic":
        assert named["certificate"]["input_tokens"] > plain["certificate"]["input_tokens"]
        for number, message in enumerate(named["messages"][:2]):
            post(client, message, turn_id=f"back{number}", speaker=("Ana", "Zo\u00eb")[number], wire=wire)
        again = window(client, wire=wire, speakers=True)["messages"]
        assert again[3:5] == again[:2] == named["messages"][:2]
