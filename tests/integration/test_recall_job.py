"""The job that indexes older turns: each once, before a summary hides it, and no text that was erased."""

from collections.abc import Callable
from uuid import UUID

import pytest
from sqlalchemy import text

from context.tokens import count_text
from context.window.emergency import EmergencyCut
from models import database as session
from models.conversations.session import cut_session
from models.conversations.session_notes import reset_session
from models.conversations.summary import NewSummary, activate_version, retire_summaries, store_summary
from models.due_work.queue import DueWork, WorkKind, WorkState, claim, enqueue, find_work
from models.erasure.derived import rewind_index
from models.recall.index import Progress, RecallKey, find_progress
from models.recall.settings import RecallSettings
from models.scope import Scope
from tests.integration.summarizing import SESSION, Model, Room
from workers.jobs import recall
from workers.jobs.lifecycle import LEASE_LOST, LeaseLostError, run_work
from workers.settings import WorkerSettings

LOOK_UP = {"type": "function", "function": {"name": "look_up", "arguments": '{"pallet": "P-1001"}'}}


@pytest.fixture
def room(tenant_id: UUID) -> Room:
    """A session of ten messages, two of which are its newest turn."""
    room = Room(tenant_id)
    room.add_turns(5)
    return room


def index(
    room: Room, settings: RecallSettings | None = None, meanwhile: Callable[[], object] = lambda: None
) -> str:
    """Do the work that is due, as a worker does; something else may happen between its read and its write."""
    happens = iter([meanwhile])

    def count(words: str) -> int:
        next(happens, int)()
        return count_text(words)

    used = settings or RecallSettings()
    ask(room)
    return run_work(
        work_of(room).work_id,
        {WorkKind.RECALL: lambda held: recall.index_session(held, settings=used, count=count)},
        WorkerSettings(backoff_s=60, max_attempts=3),
    )


def work_of(room: Room) -> DueWork:
    with session.read_transaction() as db:
        found = find_work(Scope(db, room.tenant_id), WorkKind.RECALL, SESSION)
    assert found is not None
    return found


def progress_of(room: Room) -> Progress:
    with session.read_transaction() as db:
        return find_progress(db, RecallKey(room.tenant_id, SESSION, room.standing.session.start_seq))


def passages() -> list[tuple[int, int, str]]:
    """Seq, turn and words of every passage there is, in order."""
    with session.read_transaction() as db:
        found = db.execute(text("select seq, turn_index, body from recall_passage order by start_seq, start"))
        return [tuple(row) for row in found]


def seqs() -> list[int]:
    return sorted({seq for seq, _, _ in passages()})


def ask(room: Room) -> None:
    with session.transaction() as db:
        enqueue(Scope(db, room.tenant_id), WorkKind.RECALL, room.session_id)


def test_older_turns_are_indexed_and_the_newest_is_not_for_every_window_shows_it(room: Room) -> None:
    assert index(room) == "indexed through message 8"
    assert seqs() == list(range(1, 9))
    assert work_of(room).state == WorkState.IDLE


def test_messages_are_indexed_before_a_summary_hides_them(room: Room) -> None:
    room.summarize(Model())
    assert room.standing.session.summarized_seq == 8
    assert seqs() == list(range(1, 9))


def test_a_summary_waits_where_recall_does_not_know_its_messages(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "_MOST_RUNS", 0)
    room.summarize(Model())
    assert room.standing.summary is None
    assert room.standing.session.prepared_seq == 8
    monkeypatch.undo()
    index(room)
    room.want()
    room.do(Model())
    assert room.standing.session.summarized_seq == 8


def test_passages_know_their_turns(room: Room) -> None:
    index(room)
    assert {(seq, turn) for seq, turn, _ in passages()} == {(seq, (seq + 1) // 2) for seq in range(1, 9)}


def test_later_turns_are_added_and_nothing_twice(room: Room) -> None:
    index(room)
    first = passages()
    room.add_turns(4)
    assert index(room) == "indexed through message 16"
    assert passages()[: len(first)] == first
    assert seqs() == list(range(1, 17))
    assert progress_of(room).passages == len(passages())


def test_work_that_is_asked_for_again_finds_nothing_to_do(room: Room) -> None:
    index(room)
    before = passages()
    ask(room)
    assert index(room) == "nothing to do"
    assert passages() == before


def test_a_rollback_keeps_the_index_that_is_there(room: Room) -> None:
    room.summarize(Model())
    room.add_turns(4)
    room.summarize(Model())
    index(room)
    before = passages()
    with session.transaction() as db:
        assert activate_version(Scope(db, room.tenant_id), SESSION, 1)
    assert index(room) == "nothing to do"
    assert passages() == before


def test_a_long_stretch_is_indexed_in_several_runs_of_whole_turns(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(room)
    whole = passages()
    with session.transaction() as db:
        for table in ("passage", "term", "progress"):
            db.execute(text(f"delete from recall_{table}"))  # noqa: S608 (a name of ours)
    monkeypatch.setattr(recall, "MOST_MESSAGES", 3)
    monkeypatch.setattr(recall, "SLICE_PASSAGES", 1)
    ask(room)
    outcomes = []
    while "nothing to do" not in outcomes:
        outcomes.append(index(room))
    assert outcomes[:4] == [f"indexed through message {seq}" for seq in (2, 4, 6, 8)]
    assert passages() == whole


def test_a_turn_that_is_longer_than_one_run_is_indexed_too(
    tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "MOST_MESSAGES", 2)
    room = Room(tenant_id)
    steps = [
        message
        for number in range(4)
        for message in (
            {"role": "assistant", "tool_calls": [{**LOOK_UP, "id": f"c{number}"}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"Shelf {number} holds the pallet."},
        )
    ]
    room.add({"role": "user", "content": "Where is it?"}, *steps, {"role": "assistant", "content": "There."})
    room.add_turns(4)
    while index(room) != recall.NOTHING:
        pass
    assert seqs() == list(range(1, room.standing.session.last_seq - 1))


def test_a_newest_turn_that_a_prepared_summary_covers_is_indexed_too(room: Room) -> None:
    """It takes effect at a read, and that very read may recall the turn."""
    room.summarize(Model())
    basis = room.standing.summary
    assert basis is not None
    with session.transaction() as db:
        new = NewSummary(1, basis.version, 1, 10, "Notes.", 9, 900, "m", "normal", "p1", "en")
        assert store_summary(Scope(db, room.tenant_id), SESSION, new, activate=False) == 2
    assert room.standing.session.summarized_seq == 8
    assert index(room) == "indexed through message 10"


def test_what_an_emergency_left_out_is_indexed(tenant_id: UUID) -> None:
    room = Room(tenant_id)
    room.add_turns(3)
    with session.transaction() as db:
        assert cut_session(
            Scope(db, tenant_id), room.standing.session, EmergencyCut(cut_seq=4, kept_seq=None)
        )
    assert index(room) == "indexed through message 4"


def test_a_session_of_one_turn_is_not_indexed(tenant_id: UUID) -> None:
    room = Room(tenant_id)
    room.add_turns(1)
    assert index(room) == "nothing to do"
    assert passages() == []


def test_after_a_reset_nothing_from_before_it_is_indexed(room: Room) -> None:
    index(room)
    with session.transaction() as db:
        scope = Scope(db, room.tenant_id)
        after = reset_session(scope, SESSION)
        assert after is not None
        retire_summaries(scope, after)
    ask(room)
    assert index(room) == "nothing to do"
    room.add_turns(5)
    assert index(room) == "indexed through message 18"
    with session.read_transaction() as db:
        found = db.execute(text("select min(seq) from recall_passage where start_seq = 10")).scalar_one()
    assert found == 11


def test_what_a_reset_or_an_erase_overtakes_is_not_added(room: Room) -> None:
    """Between the read and the write the text may be erased: adding it would bring it back."""

    def erase() -> None:
        with session.transaction() as db:
            db.execute(text("update session set generation = generation + 1"))

    assert index(room, meanwhile=erase) == "discarded: the session or its index changed meanwhile"
    assert passages() == []
    assert work_of(room).state == WorkState.READY
    assert index(room) == "indexed through message 8"


def test_a_worker_that_another_overtook_adds_nothing(room: Room) -> None:
    def overtake() -> None:
        room.expire_lease()
        assert index(room) == "indexed through message 8"

    assert index(room, meanwhile=overtake) == LEASE_LOST
    assert progress_of(room).passages == len(passages())
    assert seqs() == list(range(1, 9))


def test_a_session_that_is_gone_ends_the_work(room: Room) -> None:
    with session.transaction() as db:
        db.execute(text("delete from session"))
    assert index(room) == "the session is gone"


@pytest.mark.parametrize("off", [RecallSettings(recall_max_facts=0), RecallSettings(recall_max_tokens=0)])
def test_nothing_is_indexed_where_recall_is_off_and_all_of_it_once_it_is_on(
    room: Room, off: RecallSettings
) -> None:
    assert index(room, off) == "recall is off"
    assert passages() == []
    ask(room)
    assert index(room) == "indexed through message 8"
    assert seqs() == list(range(1, 9))


def test_a_lease_that_was_lost_before_the_end_is_said(room: Room) -> None:
    ask(room)
    with session.transaction() as db:
        held = claim(db, work_of(room).work_id, lease_s=60, max_crashes=9)
        assert held is not None
        db.execute(text("update due_work set lease = gen_random_uuid() where kind = 'recall'"))
    with pytest.raises(LeaseLostError):
        recall.index_session(held, settings=RecallSettings())


def test_an_index_that_was_taken_back_to_its_first_message_grows_again(room: Room) -> None:
    """Its row is there, and says the same as one that was never written."""
    index(room)
    before = passages()
    with session.transaction() as db:
        rewind_index(Scope(db, room.tenant_id), SESSION, from_seq=1)
    assert passages() == []
    ask(room)
    assert index(room) == "indexed through message 8"
    assert passages() == before
