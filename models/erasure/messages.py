"""Erasing and editing: the log changes, and everything derived from the log goes in the same transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import cast, delete, select, update
from sqlalchemy.dialects.postgresql import INT8MULTIRANGE, Range

from context.types import Message
from models.conversations.history import load_messages
from models.conversations.kept_summaries import drop_parts
from models.conversations.served_window import drop_windows
from models.conversations.session import Session, lock_existing
from models.conversations.session_notes import drop_prefix
from models.conversations.session_state import NOTHING_IN_FORCE, SessionState
from models.conversations.summary import Summary, SummaryState, activate_version, drop_prepared
from models.due_work.queue import WorkKind, enqueue
from models.erasure.artifacts import (
    LargeResults,
    exchange,
    forget_places,
    forget_uses,
    read_again,
    release,
    retell,
)
from models.erasure.derived import (
    drop_decisions,
    drop_plans_of_turns,
    drop_readings,
    revoke_work,
    rewind_index,
)
from models.erasure.log import (
    REACH,
    LogChange,
    Receipt,
    drop_compactions,
    remove_from_log,
    rewrite,
    touch_turns,
)
from models.recall.index import erase_passages
from models.scope import Scope
from models.shadow.reads import lapse_reads


@dataclass(frozen=True)
class LostSummaries:
    """Effects on a session's summaries.

    Attributes:
        versions: Number of deleted versions.
        parts: Number of deleted finished chunks.
        replaced: True if the summary in force was deleted.
    """

    versions: int
    parts: int
    replaced: bool


def drop_summaries(
    scope: Scope, before: SessionState, *, generation: int, seqs: Sequence[int]
) -> LostSummaries:
    """Delete every version that covers a changed message or builds on such a version, in any state.

    The other versions move to the session's new generation. If the version in force is deleted, the newest
    remaining base takes over; without any base, history is raw. The caller holds the session's row, has
    changed the
    messages, and has raised the generation.

    Args:
        scope: The transaction and its tenant.
        before: The session's state before.
        generation: The session's new generation.
        seqs: The changed messages.
    """
    of_session = (Summary.tenant_id == scope.tenant_id, Summary.session_id == before.session_id)
    columns = (Summary.version, Summary.state, Summary.base_version, Summary.from_seq, Summary.to_seq)
    rows = {row.version: row for row in scope.db.execute(select(*columns).where(*of_session))}
    gone = _gone(rows, seqs)
    active = next((row for row in rows.values() if row.state == SummaryState.ACTIVE), None)
    parts = drop_parts(scope, before.session_id)
    scope.db.execute(delete(Summary).where(*of_session, Summary.version.in_(gone)))
    scope.db.execute(
        update(Summary)
        .where(*of_session, Summary.generation == before.generation)
        .values(generation=generation)
    )
    if any(rows[version].state == SummaryState.PREPARED for version in gone):
        drop_prepared(scope, before.session_id)
    replaced = active is not None and active.version in gone
    if active is not None and replaced:
        _replace(scope, before.session_id, _heir(active.version, rows, gone))
    return LostSummaries(len(gone), parts, replaced)


def _gone(rows: Mapping[int, Any], seqs: Sequence[int]) -> set[int]:
    gone = {
        version for version, row in rows.items() if any(row.from_seq <= seq <= row.to_seq for seq in seqs)
    }
    for version in sorted(rows):
        if rows[version].base_version in gone:
            gone.add(version)
    return gone


def _heir(version: int, rows: Mapping[int, Any], gone: set[int]) -> int | None:
    """Find the newest remaining base of the version in force."""
    base = rows[version].base_version
    while base in gone:
        base = rows[base].base_version
    return base if base in rows else None


def _replace(scope: Scope, session_id: str, heir: int | None) -> None:
    if heir is not None and activate_version(scope, session_id, heir):
        return
    scope.db.execute(
        update(Session)
        .where(Session.tenant_id == scope.tenant_id, Session.session_id == session_id)
        .values(NOTHING_IN_FORCE)
    )


MOST_RANGES = 50
"""With more pieces, the recall index is not mended but read again."""


@dataclass(frozen=True)
class Edit:
    """New words for a message.

    Attributes:
        old: The message as read.
        new: The message with the new words, counted, without large results.
        results: The large results, and the new subjects of the stored results of the message's calls.
    """

    old: Message
    new: Message
    results: LargeResults = field(default_factory=LargeResults)


@dataclass(frozen=True)
class Changed:
    """Changes of a session's messages.

    Attributes:
        receipt: Deleted rows and requested work.
        generation: The session's new generation: work under way for the previous generation is out of date.
        gone: The erased messages, ascending.
        rewritten: The rewritten messages, ascending.
        turns: The changed turns, by index.
    """

    receipt: Receipt
    generation: int
    gone: Sequence[int]
    rewritten: Sequence[int]
    turns: Collection[int] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the parts of the answer beside the receipt."""
        return {
            "generation": self.generation,
            "messages": {"removed": self.gone, "rewritten": self.rewritten},
        }


def edit_message(scope: Scope, session_id: str, edit: Edit) -> Changed | None:
    """Replace the words of an unchanged message, and forget everything derived from the message.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        edit: The new words.

    Returns:
        The changes; None for a message changed or erased meanwhile.
    """
    session = lock_existing(scope, [session_id]).get(session_id)
    seq = edit.old.seq
    stored = load_messages(scope, session_id, [seq]) if session else []
    if session is None or stored != [edit.old]:
        return None
    if _is_same(edit):
        return Changed(Receipt(), session.generation, [], [])
    receipt = Receipt()
    revoke_work(scope, session_id, receipt)
    readings = drop_readings(scope, session_id, receipt)
    used = forget_uses(scope, session_id, [seq], receipt)
    turn_index = rewrite(scope, session_id, edit.new)
    growth = edit.new.tokens - edit.old.tokens
    turns, first_seq = touch_turns(scope, session_id, {turn_index: growth})
    exchange(scope, (session_id, turn_index, seq), old=used, new=edit.results, receipt=receipt)
    retell(scope, session_id, edit.results.retold, receipt)
    change = LogChange(frozenset(), frozenset([seq]), turns, first_seq, {seq: growth})
    return _settle(scope, session, change, readings=readings, receipt=receipt)


def _is_same(edit: Edit) -> bool:
    return (edit.new.raw, edit.new.speaker) == (edit.old.raw, edit.old.speaker)


def remove_messages(
    scope: Scope, session_id: str, seqs: Collection[int], *, reach: int = REACH
) -> Changed | None:
    """Erase messages, with the other halves of calls and results, and forget everything derived.

    Message numbers are not given again: the other messages keep their numbers.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        seqs: The messages, at least one.
        reach: Search distance for the other halves, in messages.

    Returns:
        The changes; None without such a session or any of the messages.
    """
    session = lock_existing(scope, [session_id]).get(session_id)
    if session is None:
        return None
    receipt = Receipt()
    change = remove_from_log(scope, session_id, seqs, reach=reach)
    if change is None:
        return None
    revoke_work(scope, session_id, receipt)
    readings = drop_readings(scope, session_id, receipt)
    receipt.count("message", len(change.gone))
    used = forget_uses(scope, session_id, change.gone, receipt)
    used |= forget_places(scope, session_id, change.lost_places, receipt)
    release(scope, used, receipt)
    return _settle(scope, session, change, readings=readings, receipt=receipt)


def forget_summaries(scope: Scope, session_id: str, versions: Collection[int]) -> Receipt:
    """Delete versions of a session's summary and everything built on the versions; all are made again.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        versions: Versions nobody can read any more.
    """
    receipt = Receipt()
    session = lock_existing(scope, [session_id]).get(session_id)
    if session is None:
        return receipt
    revoke_work(scope, session_id, receipt)
    starts = select(Summary.from_seq).where(
        Summary.tenant_id == scope.tenant_id, Summary.session_id == session_id, Summary.version.in_(versions)
    )
    seqs = sorted(set(scope.db.execute(starts).scalars()))
    generation = _renew(scope, session, LogChange(frozenset(), frozenset(), {}, 0))
    receipt.count("summary", drop_summaries(scope, session, generation=generation, seqs=seqs).versions)
    _ask(scope, WorkKind.SUMMARIZE, session_id, receipt)
    return receipt


def _settle(
    scope: Scope,
    before: SessionState,
    change: LogChange,
    *,
    readings: set[str],
    receipt: Receipt,
) -> Changed:
    """Forget everything derived from the changed messages, and request the work to make new."""
    session_id = before.session_id
    first, start = min(change.seqs), before.start_seq
    compacted = drop_compactions(scope, session_id, after_seq=first, start_seq=start)
    if compacted is not None:
        receipt.count("message", len(compacted.gone))
        change = change.joined(compacted)
    _forget_passages(scope, session_id, change, receipt)
    drop_plans_of_turns(scope, session_id, change.turns, receipt)
    drop_decisions(scope, session_id, list(change.turns), receipt)
    receipt.count("shadow_read", lapse_reads(scope, session_id))
    generation = _renew(scope, before, change)
    lost = drop_summaries(scope, before, generation=generation, seqs=change.seqs)
    receipt.count("summary", lost.versions)
    receipt.count("summary_part", lost.parts)
    receipt.count("chat_prefix", drop_prefix(scope, session_id))
    receipt.count("served_window", drop_windows(scope, session_id))
    if lost.versions:
        _ask(scope, WorkKind.SUMMARIZE, session_id, receipt)
    read_again(scope, readings, receipt)
    return Changed(receipt, generation, sorted(change.gone), sorted(change.rewritten), list(change.turns))


def _ask(scope: Scope, kind: WorkKind, key: str, receipt: Receipt) -> None:
    enqueue(scope, kind, key)
    receipt.asked.add((kind, key))


def _forget_passages(scope: Scope, session_id: str, change: LogChange, receipt: Receipt) -> None:
    """Remove messages from the recall index; if any message was rewritten, request a new reading."""
    ranges = _ranges(change.gone)
    if not change.rewritten and len(ranges) <= MOST_RANGES:
        removed = sum(
            erase_passages(scope, session_id, from_seq=first, to_seq=last) for first, last in ranges
        )
        receipt.count("recall_passage", removed)
        return
    removed, rewound = rewind_index(scope, session_id, from_seq=change.first_seq)
    receipt.count("recall_passage", removed)
    if rewound:
        _ask(scope, WorkKind.RECALL, session_id, receipt)


def _ranges(seqs: Collection[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for seq in sorted(seqs):
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return ranges


def _renew(scope: Scope, before: SessionState, change: LogChange) -> int:
    """Begin the session's next generation, with right counts. Returns the new generation.

    Messages left out by an emergency and covered by a summary since stay raw now, as if no emergency had
    happened.
    """
    values: dict[str, object] = {
        "generation": Session.generation + 1,
        "history_tokens": max(before.history_tokens + change.growth_after(before.start_seq), 0),
    }
    if change.gone:
        gone = [Range(first, last + 1) for first, last in _ranges(change.gone)]
        values["removed_seqs"] = Session.removed_seqs.op("+")(cast(gone, INT8MULTIRANGE))
    if before.left_out is None:
        values |= {"cut_seq": 0, "kept_seq": None}
    elif before.kept_seq in change.gone:
        values["kept_seq"] = None
    scope.db.execute(
        update(Session)
        .where(Session.tenant_id == scope.tenant_id, Session.session_id == before.session_id)
        .values(values)
    )
    return before.generation + 1
