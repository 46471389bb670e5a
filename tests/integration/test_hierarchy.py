"""From the newest summary down to the raw turns: nothing protected is lost, nothing is left between."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.summary.gate import Fault
from context.summary.sections import PROTECTED, Section, SummaryDocument, write_sections
from context.summary.trigger import KEEP_ALL
from context.window.types import ActiveSummary, notes_message
from llm.requests import CompletionRequest
from models import database as session
from models.conversations.kept_summaries import added_ranges, thin_summaries
from models.conversations.summary import (
    NewSummary,
    Summary,
    SummaryState,
    activate_version,
    find_basis,
    store_summary,
)
from models.scope import Scope
from tests.integration.summarizing import SESSION, Model, Room, notes_of

RULE = "never restart GW-3 between 06:00 and 09:00"
TASK = "Renew the certificate of mx-edge-7.example.org"
NAME = "KX-77-4102-B"


@pytest.fixture
def room(tenant_id: UUID) -> Room:
    return Room(tenant_id)


class Forgetful(Model):
    """Writes good notes of the new messages, and nothing of what was known before."""

    def __call__(self, request: CompletionRequest) -> Any:
        reply = super().__call__(request)
        return type(reply)(**{**reply.__dict__, "text": self._notes(request)})

    def _notes(self, request: CompletionRequest) -> str:
        asked = request.summary_input
        assert asked is not None
        points = SummaryDocument(notes_of(request)).sections
        new = {
            section: [item for item in items if _is_new(item, asked.from_seq) and RULE not in item]
            for section, items in points.items()
            if section is not None and (section not in PROTECTED or section is Section.IDENTIFIERS)
        }
        return write_sections({section: items for section, items in new.items() if section}, "en")


def _is_new(item: str, from_seq: int) -> bool:
    """A point of the new messages: a list of names is one too, that of the old ones left out."""
    cited = [int(number) for number in re.findall(r"\[(\d+)", item)]
    return max(cited) >= from_seq if cited else NAME not in item


def first_notes(room: Room) -> None:
    """A summary in force that holds something of every protected kind."""
    room.add_turns(5)
    room.summarize(Model())
    [summary] = room.summaries
    points = SummaryDocument(summary.text).sections
    points[Section.CONSTRAINTS] = [f"[1] user: {RULE}"]
    points[Section.OPEN] = [TASK]
    points[Section.IDENTIFIERS] = [f"`{NAME}`", *points.get(Section.IDENTIFIERS, [])]
    planted = write_sections({section: items for section, items in points.items() if section}, "en")
    with session.transaction() as db:
        db.execute(text("update summary set text = :planted"), {"planted": planted})


def roll(room: Room, model: Model, times: int) -> Summary:
    """Take in more turns again and again. Returns the newest summary."""
    for _ in range(times):
        room.add_turns(4)
        outcome = room.summarize(model)
        assert outcome.startswith(("activated", "prepared")), outcome
    return room.summaries[-1]


def test_a_model_that_forgets_what_is_protected_cannot_lose_it(room: Room) -> None:
    first_notes(room)
    points = SummaryDocument(roll(room, Forgetful(), 10).text).sections
    assert any(RULE in item for item in points[Section.CONSTRAINTS])
    assert TASK in points[Section.OPEN]
    assert any(NAME in item for item in points[Section.IDENTIFIERS])


def test_a_summary_is_counted_with_all_that_was_put_back(room: Room) -> None:
    first_notes(room)
    newest = roll(room, Forgetful(), 1)
    shown = ActiveSummary(1, newest.from_seq, newest.to_seq, newest.text)
    assert newest.tokens == notes_message(shown).tokens


def test_a_draft_that_is_no_summary_is_not_mended_into_one(room: Room) -> None:
    first_notes(room)
    room.add_turns(4)
    empty = "## Objective\n- The people go on."
    assert room.summarize(Model(empty, empty)) == f"rejected: {Fault.EMPTY_SKELETON}"
    assert RULE not in room.summaries[-1].text


def test_every_summary_says_what_it_added_and_the_raw_turns_of_it_can_be_read(
    room: Room, client: TestClient
) -> None:
    room.add_turns(3)
    newest = roll(room, Model(), 4)
    answer = client.get(f"/v1/sessions/{SESSION}/summaries").json()["summaries"]
    steps = [summary["adds"] for summary in reversed(answer)]
    assert [first for first, _ in steps] == [1, *(last + 1 for _, last in steps[:-1])]
    assert steps[-1][1] == newest.to_seq
    for first, last in steps:
        found = client.get(f"/v1/sessions/{SESSION}/turns", params={"from": first, "to": last}).json()
        read = [seq for turn in found["turns"] for seq in turn["seqs"]]
        assert (read, found["next"]) == (list(range(first, last + 1)), None)


def store(room: Room, times: int, *, refuse: Sequence[int] = (), activate: bool = True) -> None:
    """Store summaries that each add two messages, as the job does it, without asking a model."""
    generation = room.standing.session.generation
    with session.transaction() as db:
        scope = Scope(db, room.tenant_id)
        for number in range(times):
            basis = find_basis(scope, SESSION)
            new = NewSummary(
                generation=generation,
                base_version=basis.version if basis else None,
                from_seq=basis.from_seq if basis else 1,
                to_seq=basis.to_seq + 2 if basis else 2,
                text=f"notes {number}",
                tokens=10,
                covered_tokens=100,
                model="m",
                method="normal",
                prompt_version="p",
                language="en",
                rejected_because="empty" if number % 10 in refuse else None,
            )
            assert store_summary(scope, SESSION, new, activate=activate) is not None
            thin_summaries(scope, SESSION)


def check_walk(summaries: Sequence[Summary], start: Summary) -> None:
    """Walk from a summary to the first message; each message is in one step, each step's tokens counted."""
    known, added = {summary.version: summary for summary in summaries}, added_ranges(summaries)
    step, expected_end, tokens = start, start.to_seq, 0
    while True:
        first, last = added[step.version]
        assert last == expected_end
        assert step.covered_tokens == (last - first + 1) * 50
        expected_end, tokens = first - 1, tokens + step.covered_tokens
        if step.base_version is None:
            break
        step = known[step.base_version]
    assert (expected_end, tokens) == (start.from_seq - 1, start.to_seq * 50)


@pytest.mark.parametrize("refuse", [(), (1, 3, 5, 7, 9)])
def test_of_many_summaries_few_are_kept_and_they_join_without_a_gap(
    room: Room, refuse: Sequence[int]
) -> None:
    room.add_turns(1)
    store(room, 140, refuse=refuse)
    kept = room.summaries
    assert len(kept) <= 2 * KEEP_ALL + 4 * 5
    active = [summary for summary in kept if summary.state == SummaryState.ACTIVE]
    assert len(active) == 1
    check_walk(kept, active[0])
    newest = [summary.version for summary in kept if summary.version > 140 - KEEP_ALL]
    assert newest == list(range(141 - KEEP_ALL, 141))


def test_after_a_rollback_what_is_in_force_and_its_bases_stay(room: Room) -> None:
    room.add_turns(1)
    store(room, 12)
    with session.transaction() as db:
        assert activate_version(Scope(db, room.tenant_id), SESSION, 6)
    store(room, 40, refuse=range(10))
    kept = room.summaries
    [active] = [summary for summary in kept if summary.state == SummaryState.ACTIVE]
    assert active.version == 6
    assert kept[-1].base_version == 6
    check_walk(kept, active)


def test_a_prepared_summary_stays_while_later_ones_are_refused(room: Room) -> None:
    room.add_turns(1)
    store(room, 3)
    store(room, 1, activate=False)
    store(room, 40, refuse=range(10))
    states = {summary.version: summary.state for summary in room.summaries}
    assert (states[3], states[4]) == (SummaryState.ACTIVE, SummaryState.PREPARED)


def test_one_session_is_thinned_and_no_other(room: Room, tenant_id: UUID) -> None:
    other = Room(tenant_id, "other")
    other.add_turns(5)
    other.summarize(Model())
    room.add_turns(1)
    store(room, 60)
    assert [summary.version for summary in other.summaries] == [1]


def test_a_reset_session_goes_on_thinning_and_its_old_turns_are_read(room: Room, client: TestClient) -> None:
    room.add_turns(1)
    store(room, 40)
    client.post(f"/v1/sessions/{SESSION}/reset")
    room.add_turns(1)
    store(room, 40)
    kept = room.summaries
    assert len(kept) <= 2 * KEEP_ALL + 4 * 4
    assert {summary.generation for summary in kept} == {1, 2}
    check_walk(kept, kept[-1])
