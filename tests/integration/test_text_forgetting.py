"""The moment in which a key is forgotten: who holds it still, who lacks it, and what is said of either."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import insert, text
from sqlalchemy.exc import OperationalError
from typer.testing import CliRunner

from afterturn.text import app as text_commands
from models import database as session
from models.encryption import keys as text_keys
from models.encryption.cipher import TextKey, WrappedTextKey, delete_key, find_uncleared
from models.encryption.keys import (
    TextCipher,
    TextForgottenError,
    TextUnavailableError,
    forget_keys,
    wrap,
)
from models.rekeying.purge import shed_unreadable
from models.rekeying.rotation import rotate_keys
from tests.integration.erasing import post_turn, tool_turn
from tests.integration.sealing import FIRST, SECOND, Environment
from tests.waiting import wait_until

WORD = "zqxharbour"
TURNS = "/v1/sessions/s1/turns"


@contextmanager
def another_process(tenant_id: UUID) -> Iterator[None]:
    """What is done inside is not done here: this process keeps the key that it kept before."""
    kept = text_keys._kept[tenant_id]
    forget_keys()
    yield
    text_keys._kept[tenant_id] = kept


def test_a_turn_that_another_process_stored_with_a_later_key_counts_as_the_same_when_sent_again(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    del keys
    for number in range(2):
        post_turn(client, "s1", tool_turn(f"t{number}", "old"))
    with another_process(tenant_id):
        forget_elsewhere(tenant_id)
        post_turn(client, "s2", tool_turn("t1", WORD))
    again = client.post("/v1/sessions/s2/turns", json=tool_turn("t1", WORD))
    assert (again.status_code, again.json()["duplicate"]) == (200, True)


def forget_elsewhere(tenant_id: UUID) -> None:
    """As the command of another process: this one keeps the key that it has read."""
    with session.transaction() as db:
        assert delete_key(db, tenant_id)


def uncleared(tenant_id: UUID) -> int:
    with session.read_transaction() as db:
        return len(find_uncleared(db, tenant_id))


def test_a_turn_that_comes_while_the_old_key_is_still_kept_is_sealed_with_a_new_one_and_stays(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    del keys
    post_turn(client, "s1", tool_turn("t1", "old"))
    forget_elsewhere(tenant_id)
    post_turn(client, "s2", tool_turn("t2", WORD))
    forget_keys()
    assert WORD in client.get("/v1/sessions/s2/turns").text
    assert client.get(TURNS).status_code == 404
    list(shed_unreadable(session.transaction, tenant_id))
    assert WORD in client.get("/v1/sessions/s2/turns").text


def test_a_key_is_not_forgotten_while_a_transaction_seals_with_it(tenant_id: UUID, keys: Environment) -> None:
    del keys
    with session.transaction() as db:
        TextCipher(db, tenant_id).seal("c", WORD)
    with session.transaction() as sealing:
        TextCipher(sealing, tenant_id).seal("c", WORD)
        with session.transaction() as db:
            db.execute(text("set local lock_timeout = 100"))
            with pytest.raises(OperationalError, match="lock timeout"):
                delete_key(db, tenant_id)
            db.rollback()
    forget_elsewhere(tenant_id)
    assert uncleared(tenant_id) == 1


def is_waited_for() -> bool:
    waiting = "select exists (select from pg_locks where relation = 'text_key'::regclass and not granted)"
    with session.read_transaction() as db:
        return bool(db.execute(text(waiting)).scalar())


def test_who_seals_while_a_key_is_being_forgotten_waits_and_gets_another(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    del keys
    for number in range(12):
        post_turn(client, "s1", tool_turn(f"t{number}", "old"))
    with ThreadPoolExecutor(1) as aside:
        with session.transaction() as db:
            assert delete_key(db, tenant_id)
            posted = aside.submit(post_turn, client, "s2", tool_turn("t1", WORD))
            wait_until(is_waited_for, within_s=60, what="the turn at the lock")
        posted.result()
    forget_keys()
    assert WORD in client.get("/v1/sessions/s2/turns").text


def test_no_row_is_locked_by_who_seals(tenant_id: UUID, keys: Environment) -> None:
    del keys
    locks = "select mode from pg_locks where relation = 'text_key'::regclass and pid = pg_backend_pid()"
    for _ in range(12):
        with session.transaction() as db:
            TextCipher(db, tenant_id).seal("c", WORD)
            assert "RowShareLock" in set(db.execute(text(locks)).scalars())
    with session.read_transaction() as db:
        assert db.execute(text("select xmax::text from text_key")).scalar() == "0"


def test_a_rotation_does_not_wait_for_who_seals(tenant_id: UUID, keys: Environment) -> None:
    with session.transaction() as db:
        TextCipher(db, tenant_id).seal("c", WORD)
    keys.use(SECOND, FIRST)
    with session.transaction() as sealing:
        TextCipher(sealing, tenant_id).seal("c", WORD)
        assert list(rotate_keys(session.transaction)) == [1]


def test_a_key_is_looked_for_once_a_transaction(tenant_id: UUID, keys: Environment) -> None:
    del keys
    with session.transaction() as db:
        TextCipher(db, tenant_id).seal("c", WORD)
        db.execute(text("delete from text_key"))
        TextCipher(db, tenant_id).seal("c", WORD)
        assert db.execute(text("select count(*) from text_key")).scalar() == 0
        db.rollback()


def test_what_another_process_seals_with_a_later_key_opens_at_once(
    tenant_id: UUID, keys: Environment
) -> None:
    del keys
    with session.transaction() as db:
        old = TextCipher(db, tenant_id).seal("c", "old")
    with session.read_transaction() as db:
        assert TextCipher(db, tenant_id).open("c", old) == "old"
    forget_elsewhere(tenant_id)
    later = TextKey.new()
    master_id, wrapped = wrap(tenant_id, later)
    with session.transaction() as db:
        db.execute(insert(WrappedTextKey).values(tenant_id=tenant_id, master_id=master_id, wrapped=wrapped))
    with session.read_transaction() as db:
        assert TextCipher(db, tenant_id).open("c", later.seal(WORD, ("c", tenant_id))) == WORD


@pytest.mark.parametrize("at_hand", [(FIRST,), (SECOND,), ()], ids=["its own", "another", "none"])
def test_what_was_forgotten_is_gone_whichever_keys_are_at_hand(
    client: TestClient, tenant_id: UUID, keys: Environment, at_hand: tuple[str, ...]
) -> None:
    post_turn(client, "s1", tool_turn("t1", WORD))
    forget_elsewhere(tenant_id)
    keys.use(*at_hand)
    answer = client.get(TURNS)
    assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
    assert "was forgotten" in answer.json()["detail"]


@pytest.mark.parametrize("at_hand", [(SECOND,), ()], ids=["another", "none"])
def test_a_later_key_that_is_not_at_hand_is_not_taken_for_forgotten(
    client: TestClient, tenant_id: UUID, keys: Environment, at_hand: tuple[str, ...]
) -> None:
    post_turn(client, "s1", tool_turn("t1", "old"))
    forget_elsewhere(tenant_id)
    post_turn(client, "s1", tool_turn("t2", WORD))
    keys.use(*at_hand)
    answer = client.get(TURNS)
    assert (answer.status_code, answer.json()["type"]) == (503, "text-key-unavailable")


def shown(*more: str) -> str:
    told = CliRunner().invoke(text_commands, ["status", "--tenant", "first", *more])
    assert told.exit_code == 0, told.output
    return told.output


def of_messages(told: str) -> list[str]:
    """The heads of the columns of numbers, and the numbers of the messages, as they are shown."""
    heads = next(line for line in told.splitlines() if "as it is" in line)
    numbers = next(line for line in told.splitlines() if "message.body" in line)
    cells = [[cell.strip() for cell in line.split("│")[1:]] for line in (heads, numbers)]
    return [f"{head}: {number}" for head, number in zip(*cells, strict=True)]


def test_the_status_tells_what_nobody_can_read_from_what_is_sealed(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    post_turn(client, "s1", tool_turn("t1", WORD))
    assert of_messages(shown()) == of_messages(shown("--open")) == ["sealed: 4", "as it is: 0"]
    keys.use(SECOND)
    assert of_messages(shown()) == ["sealed: 0", "key not here: 4", "as it is: 0"]
    keys.use(FIRST)
    forget_elsewhere(tenant_id)
    forget_keys()
    assert of_messages(shown()) == ["sealed: 0", "key forgotten: 4", "as it is: 0"]
    post_turn(client, "s2", tool_turn("t2", WORD))
    told = shown()
    assert of_messages(told) == ["sealed: 4", "key forgotten: 4", "as it is: 0"]
    assert "`afterturn text clear --tenant first --for-ever` removes" in told
    list(shed_unreadable(session.transaction, tenant_id))
    assert of_messages(shown()) == ["sealed: 4", "as it is: 0"]
    with session.transaction() as db:
        db.execute(text("update message set body = (select max(body) from message where seq = 2)"))
    assert of_messages(shown("--open")) == ["sealed: 1", "does not open: 3", "as it is: 0"]


def test_forgetting_a_key_that_seals_nothing_leaves_nothing_to_clear(
    tenant_id: UUID, keys: Environment
) -> None:
    del keys
    with session.transaction() as db:
        TextCipher(db, tenant_id).seal("c", WORD)
    told = CliRunner().invoke(text_commands, ["forget", "--tenant", "first"])
    assert (told.exit_code, told.output.strip()) == (0, "The key of first is gone.")
    assert uncleared(tenant_id) == 0


def test_what_does_not_open_once_all_was_removed_is_broken_and_not_forgotten(
    tenant_id: UUID, keys: Environment
) -> None:
    del keys
    with session.transaction() as db:
        sealed = TextCipher(db, tenant_id).seal("c", WORD)
    forget_elsewhere(tenant_id)
    with session.transaction() as db:
        TextCipher(db, tenant_id).seal("c", WORD)
    forget_keys()
    for expected in (TextForgottenError, TextUnavailableError):
        with session.read_transaction() as db, pytest.raises(TextUnavailableError) as raised:
            TextCipher(db, tenant_id).open("c", sealed)
        assert raised.type is expected
        list(shed_unreadable(session.transaction, tenant_id))
    assert uncleared(tenant_id) == 0
