"""Shadow mode at a context read: computed, not used, and recorded in numbers."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import orjson
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.context.full_history import NewPart
from api.context.request import ContextRequest, read_request
from api.context.session_request import load_request
from api.shadow.record import Shadow, record_shadow, try_variant
from context.shadow.verdict import ShadowPart
from models import database as session
from models.conversations.settings import compression_settings
from models.due_work.queue import WorkKind, WorkState, find_work
from models.scope import Scope
from models.shadow.settings import shadow_settings
from tests.integration.activating import Chat
from tests.integration.reading import FACT, Platform, long_report
from tests.integration.shadowing import (
    JUDGE,
    fresh_switches,
    judge_now,
    records,
    summarized,
    switch,
)
from tests.integration.test_tools_context import TOOLS, names
from tests.integration.watching import forget_counts, scrape

__all__ = ["fresh_switches"]

NOTES = "Notes that keep pallet P-1001 and nothing else of the fifty messages that they stand for."
WIDE = {"context_window": 64_000, "max_tokens": 500}


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID) -> Chat:
    """A session over the API."""
    return Chat(client, tenant_id)


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID) -> Platform:
    """A platform with tools."""
    return Platform(client, tenant_id, server=None)  # type: ignore[arg-type]


@pytest.mark.usefixtures("early_summaries")
def test_without_shadow_an_answer_says_nothing_of_it_and_nothing_is_recorded(chat: Chat) -> None:
    summarized(chat, NOTES)
    answer = chat.read(**WIDE)
    assert "shadow" not in answer
    assert answer["certificate"]["summary_covers"] == [1, 50]
    assert records(chat.tenant_id) == []


def test_a_summary_in_shadow_is_not_shown_and_all_of_history_is_raw(chat: Chat) -> None:
    summarized(chat, NOTES)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    answer = chat.read(**WIDE)
    assert answer["shadow"] == {"parts": ["summaries"], "recorded": True}
    assert answer["certificate"]["summary_covers"] is None
    assert answer["certificate"]["tail"] == [1, 70]
    assert answer["freshness"]["summarized_through"] == 50


@pytest.mark.usefixtures("early_summaries")
def test_messages_in_shadow_are_those_of_a_session_that_was_never_summarized(chat: Chat) -> None:
    chat.say(35)
    before = chat.read(**WIDE)["messages"]
    with session.transaction() as db:
        db.execute(text("delete from message"))
        db.execute(text("delete from session"))
    chat.count = 0
    summarized(chat, NOTES)
    assert chat.read(**WIDE)["messages"] != before
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    assert chat.read(**WIDE)["messages"] == before


@pytest.fixture
def by_number(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The number of messages alone calls for a summary, however little of the window they take."""
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_SHARE", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_TOKENS", "0")
    compression_settings.cache_clear()
    yield
    monkeypatch.undo()
    compression_settings.cache_clear()


@pytest.mark.usefixtures("by_number")
def test_a_prepared_summary_takes_effect_in_shadow_and_the_answer_stays_raw(chat: Chat) -> None:
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    chat.say(24)
    chat.pass_by(3_600)
    chat.say()
    assert chat.work_off().startswith("prepared")
    chat.pass_by(3_600)
    answer = chat.read(**WIDE)
    assert answer["freshness"]["summarized_through"] > 0
    assert answer["certificate"]["summary_covers"] is None
    assert answer["utilization"]["cache"]["activation"] is None


@pytest.mark.usefixtures("early_summaries")
def test_a_switch_in_the_middle_of_a_session_loses_nothing_either_way(chat: Chat) -> None:
    summarized(chat, NOTES)
    assert chat.read(**WIDE)["certificate"]["summary_covers"] == [1, 50]
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    chat.say()
    assert chat.read(**WIDE)["certificate"]["tail"] == [1, 72]
    switch(chat.tenant_id)
    answer = chat.read(**WIDE)
    assert (answer["certificate"]["summary_covers"], answer["certificate"]["tail"]) == ([1, 50], [51, 72])
    assert "shadow" not in answer


def test_history_in_shadow_that_does_not_fit_is_the_newest_suffix(chat: Chat) -> None:
    summarized(chat, NOTES)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    certificate = chat.read(context_window=4_000, max_tokens=500)["certificate"]
    assert certificate["fits"]
    assert certificate["tail_contiguous"]
    assert 1 < certificate["tail"][0] < certificate["tail"][1] == 70


def test_a_filter_in_shadow_hides_no_tool_and_names_none(platform: Platform) -> None:
    assert names(platform.ask("hey, thanks!", tools=TOOLS)) == ["message"]
    switch(platform.tenant_id, ShadowPart.FILTERING)
    answer = platform.ask("hey, thanks!", tools=TOOLS, hint="block")
    assert answer["tools"] == TOOLS
    assert (answer["preflight"]["tool_allowlist"], answer["preflight"]["hidden"]) == (None, 0)
    assert "tools: all" in answer["preflight"]["hint"]
    hint, words = answer["messages"][-1]["content"]
    assert (hint["text"], words["text"]) == (answer["preflight"]["hint"], "hey, thanks!")


def test_a_catalog_in_shadow_is_sent_as_it_came(platform: Platform) -> None:
    long = "It does a thing, and then another one, with many words about either. " * 20
    many = [tool_of(f"tool_{number}", long) for number in range(60)]
    ask = {"tools": many, "kind": "cron", "model": "some/unknown-model", "context_window": 128_000}
    assert platform.ask("Please do.", **ask)["tools"] != many
    switch(platform.tenant_id, ShadowPart.CATALOG)
    assert platform.ask("Please do.", **ask)["tools"] == many


def test_a_catalog_in_shadow_that_no_window_holds_is_compacted_all_the_same(platform: Platform) -> None:
    many = [tool_of(f"tool_{number}", "It does a thing, with many words. " * 20) for number in range(60)]
    switch(platform.tenant_id, ShadowPart.CATALOG)
    answer = platform.ask("Please do.", tools=many, kind="cron", context_window=8_000, max_tokens=500)
    assert answer["certificate"]["fits"]
    assert answer["tools"] != many


@pytest.mark.usefixtures("no_prompt_cache")
def test_a_large_result_in_shadow_stands_whole_where_it_was(platform: Platform) -> None:
    platform.turn("Read the report.", long_report())
    platform.turn("Thank you.")
    assert FACT not in text_of(platform.ask("Fine."))
    switch(platform.tenant_id, ShadowPart.EXTRACTS)
    assert long_report() in text_of(platform.ask("Fine."))


def test_a_large_result_in_shadow_that_does_not_fit_stays_a_pointer(platform: Platform) -> None:
    platform.turn("Read the report.", long_report())
    platform.turn("Thank you.")
    switch(platform.tenant_id, ShadowPart.EXTRACTS)
    answer = platform.ask("Fine.", context_window=4_000, max_tokens=500)
    assert answer["certificate"]["tail"] == [1, 6]
    assert long_report() not in text_of(answer)


def test_a_record_holds_numbers_and_no_word(chat: Chat) -> None:
    summarized(chat, NOTES)
    switch(chat.tenant_id, *ShadowPart)
    chat.read(**WIDE, tools=TOOLS)
    found = records(chat.tenant_id)
    assert [one["part"] for one in found] == [*sorted(ShadowPart), "together"]
    assert {one["state"] for one in found} == {"waiting"}
    by_part = {one["part"]: one for one in found}
    assert by_part["summaries"]["would_tokens"] < by_part["summaries"]["served_tokens"]
    assert by_part["summaries"]["would"]["summary_covers"] == [1, 50]
    assert by_part["summaries"]["served"]["tail"] == [1, 70]
    said = " ".join(map(str, found)).lower()
    assert not [word for word in ("pallet", "p-1001", "driver", "message_", "web_search") if word in said]
    for part in ("served", "would"):
        assert {type(value) for one in found for value in one[part]["regions"].values()} == {int}


def test_a_read_after_an_emergency_is_no_raw_window_to_compare_a_summary_with(chat: Chat) -> None:
    summarized(chat, NOTES)
    switch(chat.tenant_id, ShadowPart.SUMMARIES, ShadowPart.FILTERING)
    chat.read(**WIDE, tools=TOOLS)
    before = [one["part"] for one in records(chat.tenant_id)]
    asked = {"model": "gpt-4o", **WIDE, "messages": [{"role": "user", "content": "And now?"}]}
    path = f"/v1/sessions/{chat.session_id}/compress"
    refused = chat.client.post(path, json={**asked, "observed_limit": 3_000})
    assert refused.status_code == 200, refused.text
    answer = chat.read(**WIDE, tools=TOOLS)
    assert "emergency-cut" in {one["why"] for one in answer["certificate"]["excluded"]}
    after = [one["part"] for one in records(chat.tenant_id)]
    assert (before, after) == (["filtering", "summaries", "together"], [*before, "filtering"])


def test_what_the_next_turn_needs_and_the_summary_lacks_is_lost(chat: Chat) -> None:
    forget_counts()
    chat.say(messages=said("Remember WB-1001, WB-1002, WB-1003 and WB-1004.", "I shall."))
    summarized(chat, "Notes that keep WB-1001 alone.")
    chat.say(messages=said("And WB-1035.", "That too."))
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    asked = "What of WB-1001 and of WB-1002, and of WB-1035?"
    chat.read(**WIDE, messages=[{"role": "user", "content": asked}])
    assert judge_now(chat.tenant_id) == "0 records judged, 0 given up"
    chat.say(messages=said(asked, "WB-1003 came first; WB-9999 is news to me."))
    assert judge_now(chat.tenant_id) == "1 records judged, 0 given up"
    (found,) = records(chat.tenant_id)
    # 1001 is in the notes, 1035 in the raw tail, 1002 and 1003 in neither; 9999 was nowhere.
    assert (found["needed"], found["lost"]) == (4, 2)
    assert (found["state"], found["salt"], found["held"], found["lacking"]) == ("judged", None, None, None)
    page = scrape(chat.client.app)
    facts = {way: page.value("shadow_facts_total", part="summaries", outcome=way) for way in ("kept", "lost")}
    assert facts == {"kept": 2, "lost": 2}
    tokens = [page.value("shadow_tokens_total", part="summaries", window=way) for way in ("sent", "would")]
    assert tokens == [found["served_tokens"], found["would_tokens"]]
    assert tokens[0] > tokens[1] > 0


def said(question: str, answer: str) -> list[dict[str, Any]]:
    """A turn in these words."""
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def test_a_call_of_a_tool_that_would_have_been_hidden_is_counted(platform: Platform) -> None:
    forget_counts()
    switch(platform.tenant_id, ShadowPart.FILTERING)
    platform.turn("Hello.")
    platform.ask("hey, thanks!", tools=TOOLS)
    platform.turn("hey, thanks!", "a page", tool="web_fetch")
    judge_now(platform.tenant_id)
    (found,) = records(platform.tenant_id)
    assert (found["calls"], found["blocked"], found["hidden_tools"]) == (1, 1, len(TOOLS) - 1)
    page = scrape(platform.client.app)
    (blocked,) = records(platform.tenant_id)
    assert (
        page.value("shadow_tool_calls_total", part="filtering", outcome="blocked") == blocked["blocked"] > 0
    )


def test_the_first_read_of_a_session_is_judged_too(platform: Platform) -> None:
    switch(platform.tenant_id, ShadowPart.FILTERING)
    platform.ask("hey, thanks!", tools=TOOLS)
    platform.turn("hey, thanks!", "sent", tool="message")
    judge_now(platform.tenant_id)
    (found,) = records(platform.tenant_id)
    assert (found["state"], found["calls"], found["blocked"]) == ("judged", 1, 0)


def test_a_record_whose_turn_never_comes_is_given_up_with_its_digests(chat: Chat) -> None:
    chat.say(2)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    chat.read()
    with session.transaction() as db:
        db.execute(text("update shadow_read set made_at = made_at - interval '2 hours'"))
    assert judge_now(chat.tenant_id, shadow_wait_s=3_600) == "0 records judged, 1 given up"
    assert [one["state"] for one in records(chat.tenant_id)] == ["lapsed"]
    with session.read_transaction() as db:
        work = find_work(Scope(db, chat.tenant_id), WorkKind.SHADOW, JUDGE)
    assert work is not None
    assert work.state == WorkState.IDLE


def test_a_session_that_began_anew_is_not_judged_by_what_it_was(chat: Chat) -> None:
    chat.say(2)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    chat.read()
    assert chat.client.post("/v1/sessions/s1/reset").status_code == 200
    chat.say()
    assert judge_now(chat.tenant_id) == "0 records judged, 1 given up"


def test_only_a_share_of_the_reads_is_recorded_where_that_is_set(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_SHADOW_SHARE", "0")
    shadow_settings.cache_clear()
    chat.say(2)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    answer = chat.read()
    monkeypatch.undo()
    shadow_settings.cache_clear()
    assert answer["shadow"] == {"parts": ["summaries"], "recorded": False}
    assert records(chat.tenant_id) == []


def test_what_the_settings_say_holds_for_tenants_without_a_switch(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_SHADOW_PARTS", '["summaries", "extracts"]')
    shadow_settings.cache_clear()
    chat.say()
    by_settings = chat.read()
    switch(chat.tenant_id)
    by_its_own = chat.read()
    monkeypatch.undo()
    shadow_settings.cache_clear()
    assert by_settings["shadow"]["parts"] == ["summaries", "extracts"]
    assert "shadow" not in by_its_own


def test_erasing_a_session_leaves_numbers_that_name_nobody(chat: Chat) -> None:
    chat.say(2)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    chat.read()
    receipt = chat.client.delete("/v1/sessions/s1").json()
    assert receipt["invalidated"]["shadow_read"] == 1
    (found,) = records(chat.tenant_id)
    assert (found["session_id"], found["state"], found["held"], found["salt"]) == (None, "lapsed", None, None)
    assert found["served_tokens"] > 0


def test_however_a_session_goes_its_name_goes_from_the_record(chat: Chat) -> None:
    chat.say(2)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    chat.read()
    with session.transaction() as db:
        db.execute(text("delete from message"))
        db.execute(text("delete from session"))
    (found,) = records(chat.tenant_id)
    assert (found["session_id"], found["state"], found["lacking"]) == (None, "lapsed", None)


def test_nothing_is_recorded_of_a_session_that_changed_meanwhile(chat: Chat) -> None:
    chat.say(2)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    request = ContextRequest(model="gpt-4o", messages=[{"role": "user", "content": "And now?"}])
    loaded = load_request(chat.tenant_id, chat.session_id, NewPart(request), read_request(request))
    with session.transaction() as db:
        db.execute(text("update session set generation = generation + 1"))
    shadow = Shadow(frozenset({ShadowPart.SUMMARIES}), is_recorded=True)
    record_shadow(try_variant(loaded, shadow.applied), shadow)
    assert records(chat.tenant_id) == []


def test_editing_a_message_forgets_the_digests_of_its_session(chat: Chat) -> None:
    chat.say(2)
    switch(chat.tenant_id, ShadowPart.SUMMARIES)
    chat.read()
    edit = {"message": {"role": "user", "content": "Something else."}}
    answer = chat.client.patch("/v1/sessions/s1/messages/1", json=edit)
    assert answer.json()["invalidated"]["shadow_read"] == 1
    assert [one["state"] for one in records(chat.tenant_id)] == ["lapsed"]


def tool_of(name: str, description: str) -> dict[str, Any]:
    """A tool of many words."""
    schema = {"type": "object", "properties": {"what": {"type": "string", "description": description}}}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema},
    }


def text_of(answer: dict[str, Any]) -> str:
    """All that an answer's messages say."""
    return orjson.dumps([message["content"] for message in answer["messages"]]).decode().replace("\\n", "\n")
