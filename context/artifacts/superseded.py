"""Readings that a later call made old: the same thing read again, or changed since."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.artifacts.subjects import Subject


class Reason(StrEnum):
    """Why a reading is worth less than others."""

    READ_AGAIN = "read-again"
    CHANGED = "changed"
    REPEATED = "repeated"


@dataclass(frozen=True)
class Access:
    """One call that read or wrote something.

    Attributes:
        seq: Where its result stands in the log, >= 0; calls of one message in the list's order.
        subject: What it read or wrote.
        artifact_id: The artifact of its result; None where the result was small.
    """

    seq: int
    subject: Subject
    artifact_id: str | None = None


@dataclass(frozen=True)
class Superseded:
    """Why the result of an access is old.

    Attributes:
        reason: `read-again`: a later call read the same or more of the same thing. `changed`: a later call
            changed it, so the reading is stale. `repeated`: the same content came again.
        by_seq: Where the later call's result stands; the last one of several.
    """

    reason: Reason
    by_seq: int


def find_superseded(accesses: Sequence[Access]) -> dict[int, Superseded]:
    """Say which accesses are old, by their index.

    A part of a thing is superseded by the same part or by the whole, never by another part. A result that
    tells of a change is no reading: it is superseded by nothing but its own repetition. Where nothing is
    known of a subject, only equal contents are told.

    Args:
        accesses: All calls of a conversation whose subjects are known, in the order of the log.

    Returns:
        The old ones; `read-again` before `changed` before `repeated` where several reasons hold.
    """
    later = _Later()
    found: dict[int, Superseded] = {}
    for index in range(len(accesses) - 1, -1, -1):
        access = accesses[index]
        reason = later.supersedes(access)
        if reason is not None:
            found[index] = reason
        later.add(access)
    return dict(sorted(found.items()))


def superseded_artifacts(accesses: Sequence[Access]) -> dict[str, Superseded]:
    """Say which artifacts are old: those that no access which is still good shows.

    Args:
        accesses: As for `find_superseded`.

    Returns:
        The reason of each one's last access; an artifact that came again is not old for that alone.
    """
    old = find_superseded(accesses)
    last: dict[str, Superseded | None] = {}
    for index, access in enumerate(accesses):
        if access.artifact_id is not None:
            last[access.artifact_id] = old.get(index)
    return {artifact_id: reason for artifact_id, reason in last.items() if reason is not None}


class _Later:
    """What is known of the calls behind the one that is looked at."""

    def __init__(self) -> None:
        self._readings: dict[tuple[str, str, str], int] = {}
        self._changes: dict[str, int] = {}
        self._contents: dict[str, int] = {}

    def supersedes(self, access: Access) -> Superseded | None:
        subject = access.subject
        if subject.key and not subject.writes:
            again = self._read_again(subject)
            if again is not None:
                return Superseded(Reason.READ_AGAIN, again)
            if subject.key in self._changes:
                return Superseded(Reason.CHANGED, self._changes[subject.key])
        if access.artifact_id in self._contents:
            return Superseded(Reason.REPEATED, self._contents[access.artifact_id or ""])
        return None

    def _read_again(self, subject: Subject) -> int | None:
        parts = dict.fromkeys((subject.part, ""))
        found = (self._readings.get((subject.key, subject.reading, part)) for part in parts)
        return max((seq for seq in found if seq is not None), default=None)

    def add(self, access: Access) -> None:
        subject = access.subject
        if subject.key and subject.writes:
            self._changes.setdefault(subject.key, access.seq)
        elif subject.key:
            self._readings.setdefault((subject.key, subject.reading, subject.part), access.seq)
        if access.artifact_id is not None:
            self._contents.setdefault(access.artifact_id, access.seq)
