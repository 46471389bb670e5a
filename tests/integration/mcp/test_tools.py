"""The tools of the Model Context Protocol: each answers as the HTTP API does, and refuses as it does."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, text

from context.text.sanitize import CLEANED
from models import database as session
from tests.integration.agents import ERAS, Agent, request
from tests.integration.learned import learn_often
from tests.integration.test_artifacts_api import ANSWER, FOCUS, REPORT, fulfil
from tests.waiting import wait_until

MAIL = {
    "name": "mail.send",
    "description": "Sends a mail to somebody, e.g. a customer. Takes a while.",
    "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
}
DRAW = {"name": "image.draw", "description": "画像を描く。とても遅い。"}
DECK = {"id": "deck", "name": "Deck", "description": "Makes slides.", "steps": [{"pack": "image.draw"}]}
CATALOG = {"tools": [MAIL, DRAW], "pipelines": [DECK]}
WINDOW = {"session_id": "s", "model": "gpt-4o", "context_window": 8_000, "max_tokens": 500}


@pytest.fixture
def catalog(writer: Agent) -> str:
    """A stored catalog."""
    assert writer.http("PUT", "/v1/catalogs/main", json=CATALOG).status_code == 200
    return "main"


@pytest.fixture
def document(writer: Agent) -> str:
    """A stored document."""
    answer = writer.http("POST", "/v1/attachments", json={"content": REPORT, "title": "Report"})
    return str(answer.json()["artifact_id"])


def post(writer: Agent, turn_id: str, *messages: dict[str, Any]) -> None:
    event = {"turn_id": turn_id, "messages": list(messages)}
    answer = writer.http("POST", "/v1/sessions/s/turns", json=event)
    assert answer.status_code == 202, answer.text


def exchange(said: str, answered: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]


@pytest.mark.parametrize("era", ERAS)
def test_a_catalog_is_ranked_as_over_http(agent: Agent, catalog: str, era: str) -> None:
    wanted = {"intent": "send somebody a mail"}
    ranked = agent.call("rank_catalog", era, catalog=catalog, **wanted).structured_content
    assert ranked == agent.http("POST", "/v1/catalogs/main/rank", json=wanted).json()
    assert ranked["entries"][0]["id"] == "mail.send"


def test_a_ranking_holds_as_many_entries_as_are_wanted(agent: Agent, catalog: str) -> None:
    ranked = agent.answer("rank_catalog", catalog=catalog, intent="画像", top_n=1)
    assert ([entry["id"] for entry in ranked["entries"]], ranked["hidden"]) == (["image.draw"], 2)


def test_a_found_tool_says_in_a_sentence_what_it_does_and_how_it_is_called(
    agent: Agent, catalog: str
) -> None:
    found = agent.answer("find_tools", catalog=catalog, query="mail to a customer", limit=1)
    assert found["tools"] == [
        {
            "name": "mail.send",
            "kind": "pack",
            "does": "Sends a mail to somebody, e.g. a customer.",
            "arguments": MAIL["inputSchema"],
        }
    ]
    assert (found["hidden"], found["gap_warning"]) == (2, None)


def test_a_found_pipeline_shows_its_steps(agent: Agent, catalog: str) -> None:
    [deck] = agent.answer("find_tools", catalog=catalog, query="slides")["tools"]
    assert (deck["name"], deck["kind"], deck["steps"]) == ("deck", "pipeline", DECK["steps"])


def test_where_no_tool_fits_none_is_found_and_the_gap_is_named(agent: Agent, catalog: str) -> None:
    found = agent.answer("find_tools", catalog=catalog, query="refund the invoice")
    assert (found["tools"], found["hidden"]) == ([], 3)
    assert "invoice" in found["gap_warning"]


def test_what_served_a_query_before_is_found_without_a_warning(
    agent: Agent, catalog: str, tenant_id: UUID
) -> None:
    others = {f"please do {tool}": tool for tool in ("mail.send", "repo.clone", "web.search", "audio.mix")}
    learn_often(tenant_id, catalog, {"zork the frobnicator": "image.draw", **others})
    found = agent.answer("find_tools", catalog=catalog, query="zork the frobnicator", limit=1)
    assert ([tool["name"] for tool in found["tools"]], found["gap_warning"]) == (["image.draw"], None)


@pytest.mark.parametrize("era", ERAS)
def test_a_context_is_the_one_of_the_http_api(agent: Agent, writer: Agent, era: str) -> None:
    post(writer, "t1", *exchange("Where is pallet 7?", "In hall 3."))
    window = agent.call("read_context", era, message="And now?", **WINDOW).structured_content
    assert [message["content"] for message in window["messages"]] == [
        "Where is pallet 7?",
        "In hall 3.",
        "And now?",
    ]
    asked = {name: value for name, value in WINDOW.items() if name != "session_id"}
    body = {**asked, "messages": [{"role": "user", "content": "And now?"}]}
    over_http = agent.http("POST", "/v1/sessions/s/context", json=body).json()
    assert (window["messages"], window["certificate"]) == (over_http["messages"], over_http["certificate"])


def test_text_of_a_message_that_was_cleaned_is_named(agent: Agent) -> None:
    window = agent.answer("read_context", message="a\0b", **WINDOW)
    assert window["certificate"]["repairs"] == [f"request: {CLEANED}"]
    assert window["messages"][-1]["content"] == "ab"


def test_what_preflight_leaves_for_later_is_done(agent: Agent, writer: Agent) -> None:
    post(writer, "t1", *exchange("Where is pallet 7?", "In hall 3."))
    agent.answer("read_context", message="Fix the failing unit test in parser.py, please", **WINDOW)

    def is_remembered() -> bool:
        with session.read_transaction() as db:
            return db.execute(text("select count(*) from preflight_session")).scalar() == 1

    assert wait_until(is_remembered, within_s=60, what="the session's topic is remembered")


def test_a_context_that_cannot_fit_is_refused_with_the_tokens_of_each_part(agent: Agent) -> None:
    window = {**WINDOW, "context_window": 600}
    problem = agent.refusal("read_context", message="The pallet waits. " * 500, **window)
    assert (problem["type"], problem["status"]) == ("context-over-budget", 422)
    assert problem["over_by"] > 0
    assert sum(problem["parts"].values()) == problem["budget_tokens"] + problem["over_by"]


def test_an_expanded_summary_holds_the_turns_as_sent_with_large_results(agent: Agent, writer: Agent) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": REPORT * 12}
    turn: list[dict[str, Any]] = [
        {"role": "user", "content": "look", "x-platform": {"kept": 2**70}},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        result,
        {"role": "assistant", "content": "It was the wind."},
    ]
    post(writer, "t1", *turn)
    post(writer, "t2", *exchange("thanks", "welcome"))
    expanded = agent.answer("expand_summary", session_id="s", **{"from": 1, "to": 4})
    assert [each["turn_id"] for each in expanded["turns"]] == ["t1"]
    assert expanded["turns"][0]["messages"] == turn
    assert expanded["next"] is None


@pytest.mark.parametrize("era", ERAS)
def test_an_artifact_is_known_by_its_facts_and_read_by_ranges(agent: Agent, document: str, era: str) -> None:
    facts = agent.call("read_artifact", era, artifact_id=document).structured_content
    assert facts == agent.http("GET", f"/v1/artifacts/{document}").json()
    part = agent.call("read_artifact", era, artifact_id=document, **{"from": 4, "to": 9}).structured_content
    assert part["slice"] == {"from": 4, "to": 9, "text": REPORT[4:9], "next_from": None}


def test_an_artifact_is_read_by_a_question_that_was_prepared(
    agent: Agent, writer: Agent, tenant_id: UUID, document: str
) -> None:
    missing = agent.refusal("read_artifact", artifact_id=document, focus=FOCUS)
    assert missing["type"] == "not-found"
    assert f"/v1/artifacts/{document}/summaries" in missing["detail"]
    writer.http("PUT", f"/v1/artifacts/{document}/summaries", json={"focus": FOCUS})
    fulfil(tenant_id, document)
    found = agent.answer("read_artifact", artifact_id=document, focus=FOCUS)
    assert (found["match"], found["text"], found["artifact_id"]) == ("exact", ANSWER, document)


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        pytest.param("rank_catalog", {"catalog": "main"}, "intent", id="missing"),
        pytest.param("rank_catalog", {"catalog": "main", "intent": "x", "top": 3}, "top", id="unknown"),
        pytest.param("rank_catalog", {"catalog": "a/b", "intent": "x"}, "catalog", id="no name"),
        pytest.param("find_tools", {"catalog": "main", "query": "x", "limit": 0}, "limit", id="too few"),
        pytest.param("expand_summary", {"session_id": "s", "from": 3, "to": 1}, "from", id="no range"),
        pytest.param("expand_summary", {"session_id": "s/t", "from": 1, "to": 3}, "session_id", id="no id"),
        pytest.param("read_context", {**WINDOW, "message": "x", "max_tokens": 9_000}, "max_tokens", id="big"),
        pytest.param("rank_catalog", {"catalog": "main", "intent": [1]}, "intent", id="no text"),
    ],
)
def test_wrong_arguments_are_refused_with_their_field(
    agent: Agent, catalog: str, tool: str, arguments: dict[str, Any], field: str
) -> None:
    del catalog
    problem = agent.refusal(tool, **arguments)
    assert (problem["type"], problem["field"]) == ("invalid-input", field)


def test_a_range_and_a_focus_do_not_go_together(agent: Agent, document: str) -> None:
    problem = agent.refusal("read_artifact", artifact_id=document, focus=FOCUS, **{"from": 0})
    assert problem["field"] == "focus"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("rank_catalog", {"catalog": "none", "intent": "x"}),
        ("find_tools", {"catalog": "none", "query": "x"}),
        ("expand_summary", {"session_id": "none", "from": 1, "to": 2}),
        ("read_artifact", {"artifact_id": "none"}),
        ("read_artifact", {"artifact_id": "art_" + "0" * 64}),
    ],
)
def test_what_does_not_exist_is_not_found(agent: Agent, tool: str, arguments: dict[str, Any]) -> None:
    problem = agent.refusal(tool, **arguments)
    assert (problem["type"], problem["status"]) == ("not-found", 404)


def call_raw(agent: Agent, arguments: str, version: str) -> Any:
    """A call whose arguments no client would write."""
    message = request("tools/call", name="read_context", arguments="HERE")
    headers = {"mcp-protocol-version": version}
    if version == ERAS[0]:
        meta = "io.modelcontextprotocol/"
        message["params"]["_meta"] = {
            f"{meta}protocolVersion": version,
            f"{meta}clientInfo": {"name": "x", "version": "1"},
            f"{meta}clientCapabilities": {},
        }
        headers |= {"mcp-method": "tools/call", "mcp-name": "read_context"}
    body = str(message).replace("'", '"').replace('"HERE"', arguments)
    answer = agent.send(body.encode(), **headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def test_text_that_no_database_holds_is_cleaned_at_the_door(agent: Agent) -> None:
    arguments = r'{"session_id": "s", "model": "m", "message": "a\u0000b\ud800c"}'
    result = call_raw(agent, arguments, ERAS[0])
    assert result["structuredContent"]["messages"][0]["content"] == "ab\ufffdc"


@pytest.mark.parametrize("version", [ERAS[0], "2025-11-25"])
def test_arguments_nested_too_deeply_are_refused(agent: Agent, version: str) -> None:
    deep = "[" * 150 + "]" * 150
    result = call_raw(agent, f'{{"session_id": "s", "model": "m", "message": {deep}}}', version)
    assert result["isError"]
    assert result["structuredContent"]["type"] == "invalid-input"


def test_a_fault_of_ours_shows_nothing_of_itself(agent: Agent, catalog: str, empty_db: Engine) -> None:
    with empty_db.begin() as db:
        db.execute(text("alter table catalog rename to catalog_away"))
    try:
        problem = agent.refusal("rank_catalog", catalog=catalog, intent="mail")
    finally:
        with empty_db.begin() as db:
            db.execute(text("alter table catalog_away rename to catalog"))
    assert problem == {
        "type": "internal-error",
        "status": 500,
        "detail": "this is a fault of ours; nothing was changed",
        "outcome": "none",
    }
