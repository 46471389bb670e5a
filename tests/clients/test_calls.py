"""Every other call of the client, typed; refusals with numbers; the handshake of versions."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from afterturn_client import (
    Afterturn,
    AsyncAfterturn,
    ConflictError,
    IncompatibleError,
    NotAllowedError,
    NotFoundError,
    Options,
    RefusedError,
    TooLargeError,
    UnavailableError,
)

from afterturn.stack.stack import Stack
from tests.acceptance.command import afterturn
from tests.clients.door import Door, Way

TOOLS = [
    {"name": "crate.weigh", "description": "Weigh a crate on the scales."},
    {"name": "label.print", "description": "Print a label for a crate."},
]


def test_a_document_is_stored_once_and_read_by_a_turn(client: Afterturn, session_id: str) -> None:
    text = f"# Hall rules of {session_id}\n\nGW-3 is never restarted between 06:00 and 09:00."
    first = client.attachments.upload(text.encode(), title="Rules", media_type="text/markdown")
    again = client.attachments.upload(text.encode(), title="Rules", media_type="text/markdown")
    assert (first.duplicate, again.duplicate) == (False, True)
    assert first.attachment_id == again.attachment_id
    assert client.attachments.get(first.attachment_id).title == "Rules"
    for named in (first, first.attachment_id, {"attachment_id": first.attachment_id}):
        with client.chat(session_id, model="gpt-4o").turn("When?", attachments=[named]) as turn:
            assert any("between 06:00 and 09:00" in str(one) for one in turn.request().messages)
            turn.discard()


def test_contexts_of_many_sessions_are_read_in_one_call(
    client: Afterturn, door: Door, key: str, options: Options, session_id: str
) -> None:
    client.chat(session_id, model="gpt-4o").record(
        [{"role": "user", "content": "Is it up?"}, {"role": "assistant", "content": "It is up."}]
    )
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "And now?"}]}
    requests: list[dict[str, object]] = [{**asked, "session_id": session_id}, {"session_id": session_id}]

    async def read_alike() -> int:
        async with AsyncAfterturn(door.url, key, options=options) as other:
            return len(await other.contexts(requests))

    found, refused = client.contexts(requests)
    assert [one["content"] for one in found.get().messages] == ["Is it up?", "It is up.", "And now?"]
    with pytest.raises(RefusedError, match="model") as raised:
        refused.get()
    assert (raised.value.status, raised.value.field) == (422, "model")
    assert asyncio.run(read_alike()) == 2


def test_a_key_is_made_listed_and_revoked(
    client: Afterturn, door: Door, key: str, options: Options, session_id: str
) -> None:
    made = client.keys.create(session_id, scopes=["read"], days=1)

    async def end_alike() -> str:
        async with AsyncAfterturn(door.url, key, options=options) as other:
            return (await other.keys.revoke(made.key_id)).state

    with Afterturn(door.url, made.key, options=options) as reader:
        reader.usage()
        with pytest.raises(NotAllowedError, match="admin"):
            reader.keys.list()
    page = client.keys.list(limit=200)
    assert next(one for one in page.keys if one.label == session_id).key_id == made.key_id
    assert asyncio.run(end_alike()) == "revoked"
    with pytest.raises(NotFoundError):
        client.keys.revoke("nobody")


def test_catalogs_are_stored_ranked_and_deleted(client: Afterturn, session_id: str) -> None:
    put = client.catalogs.put(session_id, TOOLS)
    assert put.tools == 2
    assert client.catalogs.get(session_id).digest == put.digest
    assert session_id in {one.name for one in client.catalogs.list().catalogs}
    ranked = client.catalogs.rank(session_id, "how heavy is the crate? weigh it", top_n=1)
    assert [entry.id for entry in ranked.entries] == ["crate.weigh"]
    client.catalogs.delete(session_id)
    with pytest.raises(NotFoundError):
        client.catalogs.get(session_id)


def test_a_plan_is_made_and_its_outcome_joined_once(client: Afterturn, session_id: str) -> None:
    client.catalogs.put(session_id, TOOLS)
    plan = client.plans.create(
        "weigh the crate and print its label", catalog=session_id, model="extractive", wait_ms=60_000
    )
    assert plan.status == "ready"
    assert plan.steps is not None
    assert [step.tool for step in plan.steps] == ["crate.weigh", "label.print"]
    for _ in range(2):
        client.plans.outcome(plan.plan_id, ok=[1], errors={2: "no paper"})
    found = client.plans.get(plan.plan_id)
    assert found.steps is not None
    assert [step.outcome for step in found.steps] == ["ok", "error"]
    with pytest.raises(ConflictError):
        client.plans.outcome(plan.plan_id, errors={1: "no scales"})


def test_a_message_is_classified_and_costs_are_read(client: Afterturn) -> None:
    found = client.preflight("fix the bug in this function")
    assert found.categories == ["coding"]
    assert found.thinking_level
    usage = client.usage()
    assert usage.from_ < usage.to
    assert usage.total["calls"] >= 0
    assert client.usage(from_=usage.to, to=usage.to).from_ == usage.to


def test_messages_sessions_and_users_are_erased_with_receipts(client: Afterturn, session_id: str) -> None:
    chat = client.chat(session_id, model="gpt-4o", user_id=f"user-of-{session_id}")
    for number in (1, 2):
        chat.record([{"role": "user", "content": f"Secret {number}"}, {"role": "assistant", "content": "ok"}])
    assert chat.erase_message(1).removed["message"] == 1
    assert [turn.seqs for turn in chat.turns().turns] == [[2], [3, 4]]
    chat.erase_message(2)
    assert [(turn.seqs, turn.wire) for turn in chat.turns().turns] == [([], None), ([3, 4], "openai")]
    assert chat.summaries().summaries == []
    chat.reset()
    assert chat.context([{"role": "user", "content": "Which secret?"}]).messages == [
        {"role": "user", "content": "Which secret?"}
    ]
    assert client.erase_user(f"user-of-{session_id}").removed["session"] == 1

    with pytest.raises(NotFoundError):
        chat.state()
    chat.record([{"role": "user", "content": "Hello"}])
    assert chat.erase().removed["session"] == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_recall_across_sessions_is_switched_and_its_state_is_read(client: Afterturn, enabled: bool) -> None:
    assert client.user_recall(enabled).enabled is enabled
    told = client.user_recall()
    assert told.enabled is enabled
    assert told.status in {"working", "settled"}


def test_a_set_of_priors_is_served_to_a_share_of_sessions_and_taken_back(
    client: Afterturn, stack: Stack, session_id: str, tmp_path: Path
) -> None:
    """Two nights teach two sets: the first is in force, the second is served to a half of the sessions."""
    client.catalogs.put(session_id, TOOLS)
    for night, tool in enumerate(TOOLS):
        rows = [
            {"intent": f"please {n} zorb it", "tools": [tool["name"]], "at": "2026-06-01", "outcome": "ok"}
            for n in range(120 * (night + 1))
        ]
        file = tmp_path / f"{night}.jsonl"
        file.write_text("\n".join(json.dumps({**row, "catalog": session_id}) for row in rows))
        afterturn(stack.at.directory, "plans", "import", str(file))
        afterturn(stack.at.directory, "learn", "--catalog", session_id)
    newest, oldest = client.priors.list(session_id).sets
    afterturn(stack.at.directory, "priors", "activate", str(oldest.version), "--catalog", session_id)
    assert [one.state for one in client.priors.list(session_id).sets] == ["rejected", "active"]
    [served] = client.priors.start_canary(session_id, newest.version, share=0.5, days=3).sets
    assert (served.state, served.canary and served.canary.share) == ("canary", 0.5)
    sessions = [f"session-{number}" for number in range(40)]
    ranked = {client.catalogs.rank(session_id, "zorb it", session_id=one).prior_set for one in sessions}
    assert ranked == {newest.version, oldest.version}
    with pytest.raises(ConflictError):
        client.priors.start_canary(session_id, newest.version, share=0.5)
    assert client.priors.stop_canary(session_id).in_force == oldest.version
    with pytest.raises(NotFoundError):
        client.priors.stop_canary(session_id)
    with pytest.raises(ConflictError):
        client.priors.roll_back(session_id, newest.version)
    assert client.priors.roll_back(session_id, oldest.version).in_force is None
    before = client.priors.share()
    assert client.priors.set_share(0.25).model_dump() == {"share": 0.25, "source": "tenant"}
    assert client.priors.set_share(None).source == "installation" == before.source


def test_refusals_are_typed(client: Afterturn, door: Door, session_id: str, options: Options) -> None:
    chat = client.chat(session_id, model="gpt-4o")
    with pytest.raises(RefusedError) as caught:
        chat.context([{"role": "nobody", "content": "x"}])
    assert (caught.value.status, caught.value.field) == (422, "messages[0].role")
    with pytest.raises(TooLargeError) as large:
        chat.record([{"role": "user", "content": "x"}] * 5_000)
    assert large.value.limit
    with pytest.raises(RefusedError) as other:
        chat.compress("rate limit reached", [{"role": "user", "content": "x"}])
    assert other.value.type == "not-an-overflow"
    with (
        Afterturn(door.url, "aft_wrong", options=options) as stranger,
        pytest.raises(NotAllowedError),
    ):
        stranger.usage()


def test_a_coroutine_makes_the_same_calls(door: Door, key: str, options: Options, session_id: str) -> None:
    async def ask() -> None:
        async with AsyncAfterturn(door.url, key, options=options) as client:
            await client.catalogs.put(session_id, TOOLS)
            ranked = await client.catalogs.rank(session_id, "weigh the crate")
            assert ranked.entries[0].id == "crate.weigh"
            uploaded = await client.attachments.upload(session_id.encode(), title="x")
            assert (await client.attachments.get(uploaded.attachment_id)).title == "x"
            assert (await client.preflight("fix the bug in this function")).categories == ["coding"]
            with pytest.raises(NotFoundError):
                await client.plans.get("b77bb917-db54-41ac-b1ae-1b01e4d8399d")

    asyncio.run(ask())


def test_a_wish_to_wait_is_kept(door: Door, key: str, options: Options) -> None:
    with Afterturn(door.url, key, options=replace(options, timeout_s=30)) as client:
        door.retry_after_s = 31
        with door.set(Way.BUSY), pytest.raises(UnavailableError) as caught:
            client.usage()
        assert (caught.value.attempts, caught.value.retry_after_s) == (1, 31)
        door.retry_after_s = 1
        begun = time.monotonic()
        with door.set(Way.BUSY):
            door.calls.clear()
            with pytest.raises(UnavailableError):
                client.chat("s", model="gpt-4o").context([{"role": "user", "content": "x"}])
        assert door.calls["POST context"] == 3
        assert time.monotonic() - begun >= 2


def test_a_call_that_must_not_come_twice_is_sent_once_unless_it_had_no_effect(
    client: Afterturn, door: Door, session_id: str
) -> None:
    chat = client.chat(session_id, model="gpt-4o")
    chat.record([{"role": "user", "content": "long " * 3_000}, {"role": "assistant", "content": "ok"}])
    door.calls.clear()
    with door.set(Way.LOSES_ANSWERS), pytest.raises(UnavailableError) as caught:
        chat.compress(
            "maximum context length is 2000 tokens",
            [{"role": "user", "content": "x"}],
            context_window=3_000,
            max_tokens=100,
        )
    assert (door.calls["POST compress"], caught.value.outcome) == (1, "unknown")


def test_versions_that_do_not_fit_are_named(door: Door, key: str, options: Options) -> None:
    for told, advice in (("2.0", "install a newer afterturn-client"), ("0.9", "upgrade the service")):
        door.version = told
        with Afterturn(door.url, key, options=options) as client, door.set(Way.MISSPEAKS):
            with pytest.raises(IncompatibleError, match=advice) as caught:
                client.usage()
            assert (caught.value.server, caught.value.client) == (told, "1.0")
    with (
        Afterturn(door.url, key, options=options) as client,
        door.set(Way.STRANGER),
        pytest.raises(IncompatibleError, match="give the base address of an Afterturn API"),
    ):
        client.usage()
    door.version = "1.7"
    with Afterturn(door.url, key, options=options) as client, door.set(Way.MISSPEAKS):
        assert client.usage().total["calls"] >= 0


def test_a_client_without_a_key_is_told_where_keys_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AFTERTURN_API_KEY", raising=False)
    with pytest.raises(ValueError, match="afterturn keys create"):
        Afterturn("http://127.0.0.1:1")
