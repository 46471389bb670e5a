"""Stored text that is sealed: nothing of it in the tables, the same answers, and keys that come and go."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.text import app as text_commands
from context.recall.passages import Passage
from models import database as session
from models.artifacts.summary_lookup import load_ready
from models.conversations.history import load_oldest
from models.conversations.summary import find_basis, list_summaries
from models.encryption.keys import TextCipher, TextUnavailableError, forget_keys
from models.recall.index import Progress, RecallKey, add_passages
from models.recall.search import find_passages
from models.rekeying.rotation import change_rows, forget_text_key, rotate_keys
from models.scope import Scope
from tests.integration.artifacts import find_candidates
from tests.integration.erasing import plant_by_our_own_ways, post_turn, talk, tool_turn
from tests.integration.sealing import FIRST, SECOND, WRONG, Environment, tables_with_traces

WORD = "zqxharbour"
SAID = {
    *("message", "turn", "artifact", "artifact_use", "artifact_attachment", "artifact_summary"),
    "served_window",
    *("artifact_plan", "summary", "summary_part", "chat_prefix", "recall_passage", "plan_history"),
}
"""Every table that holds words of people where nothing is sealed."""


def say(client: TestClient, tenant_id: UUID, session_id: str = "s1") -> None:
    """Plant the word in a conversation and in all that is made of one."""
    plant_by_our_own_ways(tenant_id, client, session_id, WORD, turn_id="t1", user_id="anna")
    said = Passage(1, 1, 0, 0, 1, "user", f"{WORD} said so", 0, 5, frozenset(["nobody", "asks"]))
    with session.transaction() as db:
        index = RecallKey(tenant_id, session_id)
        assert add_passages(db, index, [said], base=Progress(), through_seq=1)
    document = {"content": f"{WORD} is open. " * 100, "title": WORD, "source": WORD, "session_id": session_id}
    assert client.post("/v1/attachments", json=document).status_code == 201


def answers(client: TestClient, tenant_id: UUID) -> dict[str, Any]:
    """What a platform gets to see of a conversation, without times and tokens of chance."""
    context = client.post(
        "/v1/sessions/s1/context",
        json={"model": "gpt-4o", "messages": [{"role": "user", "content": f"what of {WORD}?"}]},
    ).json()
    with session.read_transaction() as db:
        scope = Scope(db, tenant_id)
        log = load_oldest(scope, "s1", after_seq=0, up_to_seq=99, most=99)
        summaries = [(one.version, one.text) for one in list_summaries(scope, "s1")]
        ids = [row[0] for row in db.execute(text("select artifact_id from artifact order by 1"))]
        keys = [one.key for one in find_candidates(db, tenant_id, ids)]
        ready = load_ready(scope, keys)
        found = [ready.get(key) for key in keys]
    return {
        "context": context["messages"],
        "certificate": context["certificate"],
        "log": [(one.seq, one.raw, one.speaker) for one in log],
        "summaries": summaries,
        "readings": [(one.focus, tuple(one.terms), one.text) for one in found if one],
        "pages": [turn["messages"] for turn in client.get("/v1/sessions/s1/turns").json()["turns"]],
    }


def without_keys(client: TestClient, tenant_id: UUID, keys: Environment) -> dict[str, Any]:
    """The answers of the same conversation, stored as it is; nothing of it stays."""
    keys.use()
    say(client, tenant_id)
    found = answers(client, tenant_id)
    assert client.delete("/v1/sessions/s1").status_code == 200
    keys.use(FIRST)
    return found


def test_a_planted_word_is_in_no_table_and_every_answer_is_the_same(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    plain = without_keys(client, tenant_id, keys)
    say(client, tenant_id)
    sealed = answers(client, tenant_id)
    for name, answer in plain.items():
        assert sealed[name] == answer, name
    assert WORD in str(sealed["log"])
    assert tables_with_traces(WORD) == set()


def test_recall_finds_by_terms_that_are_hashed_with_the_tenants_key(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    del keys
    talk(client, "s1", 3)
    index = RecallKey(tenant_id, "s1")
    with session.transaction() as db:
        said = Passage(1, 1, 0, 0, 1, "user", f"The {WORD} freezes", 0, 5, frozenset([WORD, "freezes"]))
        assert add_passages(db, index, [said], base=Progress(), through_seq=6)
        found = find_passages(db, index, f"what of {WORD}?", through_seq=6, max_tokens=10_000)
        assert [(one.text, one.speaker) for one in found.passages] == [(said.text, "user")]
        unkeyed = set(index.term_keys(said.terms).values())
        stored = db.execute(text("select keys from recall_passage")).scalars().all()
        assert not unkeyed.intersection(key for row in stored for key in row)


def test_a_turn_that_is_sent_again_is_known_and_another_with_its_id_is_refused(
    client: TestClient, keys: Environment
) -> None:
    keys.use()
    event = tool_turn("t1", WORD)
    post_turn(client, "s1", event)
    keys.use(FIRST)
    post_turn(client, "s1", tool_turn("t2", WORD))
    for turn_id in ("t1", "t2"):
        again = client.post("/v1/sessions/s1/turns", json=tool_turn(turn_id, WORD))
        assert (again.status_code, again.json()["duplicate"]) == (200, True)
        other = client.post("/v1/sessions/s1/turns", json=tool_turn(turn_id, "other"))
        assert other.status_code == 409


@pytest.mark.parametrize("wrong", [SECOND, WRONG], ids=["missing", "wrong"])
def test_a_key_that_is_not_at_hand_is_said_and_nothing_is_changed(
    client: TestClient, tenant_id: UUID, keys: Environment, wrong: str
) -> None:
    post_turn(client, "s1", tool_turn("t1", WORD))
    keys.use(wrong)
    turn = client.post("/v1/sessions/s1/turns", json=tool_turn("t2", WORD))
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "and?"}]}
    context = client.post("/v1/sessions/s1/context", json=asked)
    for answer in (turn, context):
        assert (answer.status_code, answer.json()["type"]) == (503, "text-key-unavailable")
        assert "AFTERTURN_TEXT_KEYS" in answer.json()["detail"]
    keys.use(FIRST)
    with session.read_transaction() as db:
        assert len(load_oldest(Scope(db, tenant_id), "s1", after_seq=0, up_to_seq=99, most=99)) == 4


def test_without_any_key_a_sealed_text_is_not_shown(client: TestClient, keys: Environment) -> None:
    post_turn(client, "s1", tool_turn("t1", WORD))
    keys.use()
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "and?"}]}
    context = client.post("/v1/sessions/s1/context", json=asked)
    assert (context.status_code, context.json()["type"]) == (503, "text-key-unavailable")


def test_a_rotation_wraps_keys_and_touches_no_text(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    post_turn(client, "s1", tool_turn("t1", WORD))
    bodies = text("select body from message order by seq")
    with session.read_transaction() as db:
        before = db.execute(bodies).scalars().all()
    keys.use(SECOND, FIRST)
    assert list(rotate_keys(session.transaction)) == [1]
    keys.use(SECOND)
    with session.read_transaction() as db:
        assert db.execute(bodies).scalars().all() == before
        log = load_oldest(Scope(db, tenant_id), "s1", after_seq=0, up_to_seq=99, most=99)
    assert WORD in log[0].raw


def test_a_rotation_without_the_old_key_changes_nothing(client: TestClient, keys: Environment) -> None:
    post_turn(client, "s1", tool_turn("t1", WORD))
    keys.use(SECOND)
    with pytest.raises(TextUnavailableError):
        list(rotate_keys(session.transaction))
    with session.read_transaction() as db:
        assert db.execute(text("select master_id from text_key")).scalars().all() == ["first"]


def test_a_text_that_was_moved_to_another_row_does_not_open(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    del keys
    post_turn(client, "s1", tool_turn("t1", WORD))
    with session.transaction() as db:
        db.execute(text("update message set body = (select body from message where seq = 1) where seq = 4"))
        with pytest.raises(TextUnavailableError, match="where it stands"):
            load_oldest(Scope(db, tenant_id), "s1", after_seq=3, up_to_seq=4, most=1)


def test_whose_key_is_deleted_is_unreadable(client: TestClient, tenant_id: UUID, keys: Environment) -> None:
    post_turn(client, "s1", tool_turn("t1", WORD))
    with session.transaction() as db:
        assert forget_text_key(Scope(db, tenant_id))
    keys.use(FIRST)
    with session.read_transaction() as db, pytest.raises(TextUnavailableError):
        load_oldest(Scope(db, tenant_id), "s1", after_seq=0, up_to_seq=4, most=1)


def test_a_key_that_was_rolled_back_seals_nothing_later(tenant_id: UUID, keys: Environment) -> None:
    del keys
    with session.engine().connect() as undone:
        TextCipher(undone, tenant_id).seal("message.body", WORD, "s1", 1)
        TextCipher(undone, tenant_id).seal("message.body", WORD, "s1", 2)
        undone.rollback()
    with session.transaction() as db:
        sealed = TextCipher(db, tenant_id).seal("message.body", WORD, "s1", 1)
    forget_keys()
    with session.read_transaction() as db:
        assert TextCipher(db, tenant_id).open("message.body", sealed, "s1", 1) == WORD


def test_old_rows_are_sealed_in_small_steps_and_opened_again(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    keys.use()
    say(client, tenant_id)
    before = answers(client, tenant_id)
    assert tables_with_traces(WORD) == SAID
    keys.use(FIRST)
    steps = list(change_rows(session.transaction, tenant_id, to="sealed", most=3))
    assert sum(count for name, count in steps if name == "message.body") == 12
    assert max(count for _, count in steps) <= 3
    assert tables_with_traces(WORD) == set()
    assert answers(client, tenant_id) == before
    keys.use(FIRST, sealing=False)
    assert list(change_rows(session.transaction, tenant_id, to="plain", most=50))
    with session.transaction() as db:
        assert forget_text_key(Scope(db, tenant_id))
    keys.use()
    assert answers(client, tenant_id) == before
    assert find_summary(tenant_id) is not None


def find_summary(tenant_id: UUID) -> str | None:
    with session.read_transaction() as db:
        found = find_basis(Scope(db, tenant_id), "s1")
    return found.text if found else None


def test_without_a_key_not_a_byte_is_different(client: TestClient, keys: Environment) -> None:
    keys.use()
    post_turn(client, "s1", tool_turn("t1", WORD))
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from text_key")).scalar() == 0
        assert WORD in db.execute(text("select body from message where seq = 1")).scalar_one()


def test_an_operator_sees_which_keys_there_are(client: TestClient, keys: Environment) -> None:
    del keys
    post_turn(client, "s1", tool_turn("t1", WORD))
    shown = CliRunner().invoke(text_commands, ["status", "--tenant", "first"])
    assert shown.exit_code == 0, shown.output
    assert "Master keys: first; new text is sealed." in shown.output
    rotated = CliRunner().invoke(text_commands, ["rotate"])
    assert "0 keys were wrapped anew, 1 were already." in rotated.output
    refused = CliRunner().invoke(text_commands, ["forget", "--tenant", "first"])
    assert refused.exit_code != 0
