"""An answer is of one moment: whatever others commit between two of its statements, its parts agree."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event
from sqlalchemy.exc import SQLAlchemyError

from api.turns.intake import TurnCompleted, read_turn, store_turns
from models import database as session
from models.artifacts.settings import planning_settings
from models.conversations.settings import compression_settings
from models.conversations.summary import activate_prepared
from models.scope import Scope
from tests.integration.activating import Chat
from tests.integration.summarizing import dialogue

MOST_STATEMENTS = 60


@pytest.fixture
def chats(
    client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Chat]]:
    """A session of two turns with a pause between; its summary waits for a good moment: the next request."""
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_MESSAGE_COUNT", "5")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_SHARE", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_TOKENS", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_KEEP_MESSAGES", "2")
    monkeypatch.setenv("AFTERTURN_ARTIFACT_PRICE_SHARE", "0.003")
    compression_settings.cache_clear()
    planning_settings.cache_clear()

    talk = Chat(client, tenant_id)

    def begin() -> Chat:
        if talk.count:
            reset = client.post("/v1/sessions/s1/reset")
            assert reset.status_code == 200, reset.text
        talk.say()
        talk.pass_by(301)
        talk.say()
        assert talk.work_off().startswith("prepared version")
        talk.pass_by(301)
        return talk

    yield begin
    compression_settings.cache_clear()
    planning_settings.cache_clear()


@contextmanager
def before_statement(number: int, act: Callable[[], None]) -> Iterator[list[str]]:
    """Act over another connection before one statement of all that are sent meanwhile; list these."""
    sent: list[str] = []
    within = threading.local()

    def look(_db: Any, _cursor: Any, statement: str, *_: Any) -> None:
        # Threads that tell of the process send statements, too, and none of the answer.
        if getattr(within, "acts", False) or not threading.current_thread().name.startswith("AnyIO"):
            return
        sent.append(statement)
        if len(sent) == number:
            within.acts = True
            act()
            within.acts = False

    event.listen(Engine, "before_cursor_execute", look)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", look)


def activate(talk: Chat) -> None:
    """Put the summary in force as a worker does, unless this very request holds the session."""
    generation = talk.standing.session.generation
    with suppress(SQLAlchemyError), session.best_effort_transaction() as db:
        activate_prepared(Scope(db, talk.tenant_id), talk.session_id, generation=generation)


def add_turn(talk: Chat) -> None:
    """Store a turn that just came in, unless this very request holds the session."""
    new = TurnCompleted(turn_id=f"new-{talk.count}", messages=dialogue(9))
    with suppress(SQLAlchemyError), session.best_effort_transaction() as db:
        store_turns(Scope(db, talk.tenant_id), [read_turn(talk.session_id, new).turn])


def both(talk: Chat) -> None:
    """Do one after the other."""
    activate(talk)
    add_turn(talk)


def check_agrees(answer: Any) -> None:
    """Check that the window and what is said of the session are of one state."""
    certificate, freshness = answer["certificate"], answer["freshness"]
    assert freshness["last_seq"] == certificate["tail"][1]
    left_out = [each["what"] for each in certificate["excluded"] if each["what"].startswith("summary of")]
    covers = certificate["summary_covers"]
    if freshness["summary_by"] is None:
        assert covers is None
        assert not left_out
    else:
        through = freshness["summarized_through"]
        assert covers[1] == through if covers else left_out[0].endswith(f"-{through}")


@pytest.mark.parametrize(("door", "more"), [("context", {}), ("compress", {"observed_limit": 2_000})])
def test_what_is_committed_between_two_statements_makes_no_answer_disagree(
    client: TestClient, chats: Callable[[], Chat], door: str, more: Any
) -> None:
    request = {
        "model": "gpt-4o",
        "max_tokens": 100,
        "context_window": 30_000,
        "messages": [{"role": "user", "content": "And now?"}],
        **more,
    }
    for number in range(1, MOST_STATEMENTS):
        talk = chats()
        with before_statement(number, partial(both, talk)) as sent:
            answer = client.post(f"/v1/sessions/s1/{door}", json=request)
        assert answer.status_code == 200, answer.text
        check_agrees(answer.json())
        if len(sent) < number:
            break
    assert 5 < number < MOST_STATEMENTS
