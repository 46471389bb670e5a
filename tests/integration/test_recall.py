"""The index of recall: found again in long sessions, never across sessions, gone when erased."""

from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from benchmarks.selecting import select_recall
from context.conversation.transcript import render_transcript
from context.recall.passages import Passage, make_passages
from context.tokens.text import count_text
from models.recall.index import Progress, RecallKey, add_passages, erase_passages, find_progress
from models.recall.search import find_passages
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.unit.recall.talk import said

EVERYTHING = 10**9


@pytest.fixture
def tenant(db: Connection) -> UUID:
    tenant_id = ensure_tenant(db, "recall")
    for session_id in ("s1", "s2"):
        db.execute(
            text("insert into session (tenant_id, session_id) values (:tenant_id, :session_id)"),
            {"tenant_id": tenant_id, "session_id": session_id},
        )
    return tenant_id


def index(db: Connection, key: RecallKey, *texts: str) -> Progress:
    base = find_progress(db, key)
    first = base.through_seq + 1
    made = make_passages(
        render_transcript(said(*texts, first=first)),
        turn_of=lambda seq: seq,
        count=count_text,
        start=base.tokens,
    )
    assert add_passages(db, key, made, base=base, through_seq=base.through_seq + len(texts))
    return find_progress(db, key)


def found(db: Connection, key: RecallKey, query: str, through_seq: int = EVERYTHING) -> list[Passage]:
    return find_passages(db, key, query, through_seq=through_seq, max_tokens=500).passages


def test_a_passage_is_found_by_a_word_of_it_and_comes_back_as_it_was(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    index(db, key, "The depot opens at six.", "Trucks are washed on Fridays.")
    search = find_passages(db, key, "When is the depot open?", through_seq=EVERYTHING, max_tokens=500)
    blocks = select_recall(
        "When is the depot open?",
        search.passages,
        max_tokens=500,
        max_facts=5,
        count=count_text,
        stats=search.stats,
    )
    assert "The depot opens at six." in blocks[0].text
    assert (blocks[0].from_seq, blocks[0].from_turn) == (1, 1)


def test_neighbours_that_share_no_word_with_the_query_are_found_too(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    index(db, key, "What is the gate code of the depot?", "It is four seven one one.")
    assert [passage.seq for passage in found(db, key, "depot gate code")] == [1, 2]


def test_another_session_and_another_life_of_the_session_are_never_found(
    db: Connection, tenant: UUID
) -> None:
    index(db, RecallKey(tenant, "s1"), "The depot opens at six.")
    assert found(db, RecallKey(tenant, "s2"), "depot") == []
    assert found(db, RecallKey(tenant, "s1", start_seq=1), "depot") == []


def test_what_the_window_shows_already_is_not_found(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    index(db, key, "The depot opens at six.", "The depot closes at nine.")
    assert [passage.seq for passage in found(db, key, "depot", through_seq=1)] == [1]


def test_two_workers_cannot_index_the_same_messages_twice(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    after = index(db, key, "The depot opens at six.")
    assert not add_passages(db, key, [], base=Progress(), through_seq=1)
    assert find_progress(db, key) == after


def test_the_index_goes_on_where_it_ended(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    index(db, key, "The depot opens at six.")
    after = index(db, key, "The depot closes at nine.")
    assert (after.through_seq, after.passages) == (2, 2)
    assert [passage.seq for passage in found(db, key, "depot")] == [1, 2]


def test_an_erased_message_leaves_no_passage_and_no_count_of_its_words(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    index(db, key, "The depot opens at six.", "The wharf opens at seven.")
    before = db.execute(text("select count(*), sum(passages) from recall_term")).one()
    assert erase_passages(Scope(db, tenant), "s1", from_seq=2, to_seq=2) == 1
    after = db.execute(text("select count(*), sum(passages) from recall_term")).one()
    assert after[0] < before[0]
    assert after[1] < before[1]
    assert found(db, key, "wharf") == []
    assert db.execute(text("select count(*) from recall_passage where body like '%wharf%'")).scalar() == 0
    assert [passage.seq for passage in found(db, key, "when does it open")] == [1]


def test_a_common_word_finds_the_latest_passages_that_have_it(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    index(db, key, *(f"Truck number {n} left the depot." for n in range(1, 601)))
    seqs = [passage.seq for passage in found(db, key, "depot")]
    assert seqs
    assert min(seqs) > 300


def test_two_common_words_find_where_they_meet_however_old(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    apart = ("The depot is open today.", "The wharf is closed today.") * 350
    index(db, key, "A tunnel joins depot and wharf.", *apart)
    assert 1 in [passage.seq for passage in found(db, key, "depot wharf")]


def test_the_search_reads_its_hits_by_the_index_of_keys(db: Connection, tenant: UUID) -> None:
    key = RecallKey(tenant, "s1")
    index(db, key, *(f"Truck number {n} left the depot." for n in range(1, 601)), "The wharf is closed.")
    db.execute(text("set local enable_seqscan = off"))
    keys = list(key.term_keys(["wharf"]).values())
    plan = db.execute(
        text("explain select start from recall_passage where keys && cast(:keys as bigint[]) limit 600"),
        {"keys": keys},
    )
    assert any("ix_recall_passage_keys" in line for (line,) in plan)
