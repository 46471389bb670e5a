"""Readings made old by a later call: the same thing read again, or changed since."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.artifacts.subjects import Subject


class SupersededReason(StrEnum):
    """Why a reading is worth less than others."""

    READ_AGAIN = "read-again"
    CHANGED = "changed"
    REPEATED = "repeated"


@dataclass(frozen=True)
class Access:
    """One call that read or wrote something.

    Attributes:
        seq: The result's place in the log, >= 0; calls of one message in the list's order.
        subject: The subject read or written.
        artifact_id: The artifact of the result; None if the result was small.
    """

    seq: int
    subject: Subject
    artifact_id: str | None = None


@dataclass(frozen=True)
class Superseded:
    """Reason for an old result.

    Attributes:
        reason: `read-again`: a later call read the same or more of the same thing. `changed`: a later call
            changed the thing, so the reading is stale. `repeated`: the same content came again.
        by_seq: The place of the later call's result; the last of several.
    """

    reason: SupersededReason
    by_seq: int


def find_superseded(accesses: Sequence[Access]) -> dict[int, Superseded]:
    """Find the old accesses, by index.

    A part of a thing is superseded by the same part or by the whole, never by another part. A result that
    reports a change is no reading, and is superseded only by its own repetition. For an unknown subject, only
    equal contents are found.

    Args:
        accesses: All calls of a conversation with known subjects, in the order of the log.

    Returns:
        The old accesses; of several reasons, `read-again` goes before `changed` before `repeated`.
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
    """Find the old artifacts, shown by no access that is still good.

    Args:
        accesses: As for `find_superseded`.

    Returns:
        The reason of each artifact's last access; an artifact that came again is not old for that alone.
    """
    old = find_superseded(accesses)
    last: dict[str, Superseded | None] = {}
    for index, access in enumerate(accesses):
        if access.artifact_id is not None:
            last[access.artifact_id] = old.get(index)
    return {artifact_id: reason for artifact_id, reason in last.items() if reason is not None}


class _Later:
    """Facts about the calls behind the current access."""

    def __init__(self) -> None:
        self._readings: dict[tuple[str, str, str], int] = {}
        self._changes: dict[str, int] = {}
        self._contents: dict[str, int] = {}

    def supersedes(self, access: Access) -> Superseded | None:
        subject = access.subject
        if subject.key and not subject.writes:
            again = self._read_again(subject)
            if again is not None:
                return Superseded(SupersededReason.READ_AGAIN, again)
            if subject.key in self._changes:
                return Superseded(SupersededReason.CHANGED, self._changes[subject.key])
        if access.artifact_id in self._contents:
            return Superseded(SupersededReason.REPEATED, self._contents[access.artifact_id or ""])
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
