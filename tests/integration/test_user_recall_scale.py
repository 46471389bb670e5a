"""The search of a user's sessions reads a bounded number of index rows, however much the user has said."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, text

from context.text.terms import query_terms
from models import database as session
from models.recall import user_search
from models.recall.index import RecallKey, RecallPassage
from models.recall.user import SAMPLES, UserKey
from models.recall.user_search import MOST_COUNTED, find_user_passages

USER = "anna"
QUESTION = "Where does the kayak hang?"
KAYAK, HANG = query_terms(QUESTION)
MOST_INDEX_ROWS = 1_000


def fill(tenant_id: UUID, passages: int, *, start: int = 0, terms: tuple[str, ...] = (KAYAK,)) -> None:
    """Store passages of the user, ten to a session, each with the terms."""
    user = UserKey(tenant_id, USER)
    rows = []
    for number in range(start, start + passages):
        index, place = RecallKey(tenant_id, f"s{number // 10}"), 20 * (number % 10)
        keys = sorted(index.term_keys(terms).values())
        rows.append(
            {
                **index.columns(),
                **dict.fromkeys(("seq", "turn_index", "tokens", "parts"), 1),
                **dict.fromkeys(("line", "part"), 0),
                "start": place,
                "speaker": "user",
                "body": "The kayak.",
                "keys": keys,
                "user_keys": user.keys_of(keys, start=place),
            }
        )
    with session.transaction() as db:
        names = sorted({row["session_id"] for row in rows})
        db.execute(
            text(
                "insert into session (tenant_id, session_id) "
                "select :tenant_id, unnest(cast(:names as text[])) on conflict do nothing"
            ),
            {"tenant_id": tenant_id, "names": names},
        )
        db.execute(insert(RecallPassage), rows)


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of index rows that the counts walk, from the server's own account of the plan."""
    found: list[int] = []
    run = user_search._UserSearch._run

    def explained(self: Any, statement: Any, **parameters: Any) -> list[Any]:
        if statement is user_search._COUNTS:
            self._db.execute(text("set local enable_seqscan = off"))
            plan = self._db.execute(
                text(f"explain (analyze, format json) {statement.text}"), {**self._values, **parameters}
            ).scalar()
            found.append(sum(index_rows(plan if isinstance(plan, list) else json.loads(plan))))
        return run(self, statement, **parameters)

    monkeypatch.setattr(user_search._UserSearch, "_run", explained)
    return found


def index_rows(node: Any) -> Iterator[int]:
    """Rows of each scan of the index of user keys in a plan."""
    for part in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        yield from index_rows(part)
    if isinstance(node, dict) and node.get("Index Name") == "ix_recall_passage_user_keys":
        yield int(node["Actual Rows"] * node["Actual Loops"])


def frequencies(tenant_id: UUID) -> dict[str, int]:
    with session.transaction() as db:
        found = find_user_passages(db, UserKey(tenant_id, USER), QUESTION, beside="now", max_tokens=400)
    return dict(found.stats.frequencies)


def test_a_rare_word_is_counted_exactly_and_a_common_one_is_common(tenant_id: UUID) -> None:
    fill(tenant_id, 60)
    fill(tenant_id, 40, start=60, terms=(KAYAK, HANG))
    assert frequencies(tenant_id) == {KAYAK: MOST_COUNTED, HANG: 40}
    fill(tenant_id, 1, start=100)
    assert frequencies(tenant_id) == {KAYAK: MOST_COUNTED + 1, HANG: 40}


def test_the_counts_walk_no_more_of_the_index_for_ten_times_the_passages(
    tenant_id: UUID, walked: list[int]
) -> None:
    fill(tenant_id, 8_000, terms=(KAYAK, HANG))
    assert frequencies(tenant_id) == {KAYAK: MOST_COUNTED + 1, HANG: MOST_COUNTED + 1}
    assert 0 < walked[-1] <= MOST_INDEX_ROWS


def test_a_sample_holds_its_share_of_each_words_passages_also_of_first_ones_alone() -> None:
    user = UserKey(UUID(int=7), USER)
    for place in (0, 20, 140):
        found = [0] * len(SAMPLES)
        for number in range(20_000):
            [key] = RecallKey(user.tenant_id, f"s{number}").term_keys([KAYAK]).values()
            taken = user.keys_of([key], start=place)
            for at, one_in in enumerate(SAMPLES):
                found[at] += user.key_of(key, one_in) in taken
        assert found[0] == pytest.approx(20_000 / SAMPLES[0], rel=0.15)
        assert found[1] == pytest.approx(20_000 / SAMPLES[1], rel=0.5)


def test_passages_from_before_the_samples_are_counted_all_the_same(tenant_id: UUID) -> None:
    fill(tenant_id, 300)
    halves = [UserKey(tenant_id, USER).half(one_in) for one_in in SAMPLES]
    with session.transaction() as db:
        db.execute(
            text(
                "update recall_passage set user_keys = array("
                "select key from unnest(user_keys) key where key >> 32 <> all(cast(:halves as bigint[])))"
            ),
            {"halves": halves},
        )
    assert frequencies(tenant_id)[KAYAK] == MOST_COUNTED + 1
