"""Artifacts of changed messages: uses deleted, renamed or added, and contents without any use left."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import text

from models.artifacts.artifact import NewArtifact, drop_unused, store_artifacts
from models.artifacts.attachment import retitle
from models.artifacts.use import NewUse, PlacedUse, add_uses
from models.conversations.served_window import drop_windows_with
from models.due_work.queue import WorkKind, enqueue_many
from models.erasure.derived import drop_artifact_work
from models.erasure.log import Receipt
from models.scope import Scope


@dataclass(frozen=True)
class Retold:
    """New subject of a stored result after an edit of the call.

    Attributes:
        seq: The result's message.
        place: Place among the results of the message.
        subject: The subject read or written by the call.
        writes: True if the call writes.
    """

    seq: int
    place: int
    subject: str
    writes: bool


@dataclass(frozen=True)
class LargeResults:
    """Large results of an edited message, and the new subjects of the results of the message's calls.

    Attributes:
        artifacts: Contents taken out of the message.
        uses: Places of the contents in the message.
        retold: New subjects of the calls' results.
    """

    artifacts: Sequence[NewArtifact] = ()
    uses: Sequence[NewUse] = ()
    retold: Sequence[Retold] = ()


_FORGET = text(
    """
    delete from artifact_use
    where tenant_id = :tenant_id and session_id = :session_id and seq = any(:seqs)
    returning artifact_id
    """
)
_FORGET_PLACES = text(
    """
    delete from artifact_use u
    using unnest(cast(:seqs as bigint[]), cast(:places as int[])) as gone (seq, place)
    where tenant_id = :tenant_id and session_id = :session_id and u.seq = gone.seq and u.place = gone.place
    returning artifact_id
    """
)


def forget_uses(scope: Scope, session_id: str, seqs: Collection[int], receipt: Receipt) -> set[str]:
    """Delete all uses in messages. Returns the artifact ids, for `release`."""
    asked = {"session_id": session_id, "seqs": sorted(seqs)}
    return _named(scope.execute(_FORGET, **asked).scalars().all(), receipt)


def forget_places(
    scope: Scope, session_id: str, places: Sequence[tuple[int, int]], receipt: Receipt
) -> set[str]:
    """Delete single uses, each given by message and place in the message. Returns the artifact ids."""
    asked = {
        "session_id": session_id,
        "seqs": [seq for seq, _ in places],
        "places": [place for _, place in places],
    }
    return _named(scope.execute(_FORGET_PLACES, **asked).scalars().all(), receipt) if places else set()


def _named(artifact_ids: Sequence[str | None], receipt: Receipt) -> set[str]:
    receipt.count("artifact_use", len(artifact_ids))
    return {artifact_id for artifact_id in artifact_ids if artifact_id is not None}


_RETELL = text(
    """
    update artifact_use set subject = :subject, writes = :writes
    where tenant_id = :tenant_id and session_id = :session_id and seq = :seq and place = :place
        and (artifact_id is not null or :writes)
    returning 1
    """
)
_FORGET_READ = text(
    """
    delete from artifact_use
    where tenant_id = :tenant_id and session_id = :session_id and seq = :seq and place = :place
        and artifact_id is null
    """
)


def retell(scope: Scope, session_id: str, retold: Iterable[Retold], receipt: Receipt) -> None:
    """Store the subject of an edited call with its results; nothing of the former subject stays."""
    for one in retold:
        asked = {"session_id": session_id, **one.__dict__}
        if not scope.execute(_RETELL, **asked).all():
            receipt.count("artifact_use", scope.execute(_FORGET_READ, **asked).rowcount)


_LOCK = text(
    "select artifact_id from artifact where tenant_id = :tenant_id and artifact_id = any(:artifact_ids) "
    "order by artifact_id for update"
)


def exchange(
    scope: Scope,
    place: tuple[str, int, int],
    *,
    old: set[str],
    new: LargeResults,
    receipt: Receipt,
) -> None:
    """Store the large results of an edited message, and drop former results without any use left.

    Args:
        scope: The tenant's transaction; all contents are locked in a fixed order.
        place: The session, the turn's index and the message's seq.
        old: Artifacts used by the message before.
        new: Large results of the message now.
        receipt: Receipt to count in.
    """
    fresh = {entry.artifact.artifact_id for entry in new.artifacts}
    scope.execute(_LOCK, artifact_ids=sorted(old | fresh))
    store_artifacts(scope, new.artifacts)
    session_id, turn_index, seq = place
    add_uses(scope, [PlacedUse(session_id, turn_index, seq - use.message, use) for use in new.uses])
    release(scope, old - fresh, receipt)
    read_again(scope, fresh, receipt)


_NOBODYS_READINGS = text(
    """
    delete from artifact_summary where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)
        and session_id is null and user_id is null and origin in ('asked', 'request') and focus <> ''
    """
)
"""Readings for words of an unnamed caller: the caller may have been the erased user."""


def release(scope: Scope, artifact_ids: Collection[str], receipt: Receipt) -> None:
    """Drop the given artifacts without any use left, with readings and work.

    From the remaining artifacts, readings asked for without a name are deleted. Windows with any of the given
    artifacts are deleted: the words may have been those of the deleted uses.
    """
    receipt.count("served_window", drop_windows_with(scope, artifact_ids))
    gone = drop_unused(scope, artifact_ids)
    receipt.count("artifact", len(gone))
    drop_artifact_work(scope, gone, receipt)
    staying = sorted(set(artifact_ids) - set(gone))
    if staying:
        asked = {"artifact_ids": staying}
        receipt.count("artifact_summary", scope.execute(_NOBODYS_READINGS, **asked).rowcount)


_TITLED_READINGS = text(
    "delete from artifact_summary where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)"
)
_TITLED_PLANS = text(
    "delete from artifact_plan where tenant_id = :tenant_id and artifact_ids && cast(:artifact_ids as text[])"
)


def forget_titles(scope: Scope, artifact_ids: Collection[str], receipt: Receipt) -> None:
    """Remove titles of deleted uploads from remaining artifacts, with the readings made with such a title.

    The caller has released the artifacts and holds the remaining rows.
    """
    retitled = retitle(scope, artifact_ids)
    if not retitled:
        return
    asked = {"artifact_ids": retitled}
    receipt.count("artifact_summary", scope.execute(_TITLED_READINGS, **asked).rowcount)
    receipt.count("artifact_plan", scope.execute(_TITLED_PLANS, **asked).rowcount)
    drop_artifact_work(scope, retitled, receipt)
    read_again(scope, retitled, receipt)


_THERE = text("select artifact_id from artifact where tenant_id = :tenant_id and artifact_id = any(:ids)")


def read_again(scope: Scope, artifact_ids: Collection[str], receipt: Receipt) -> None:
    """Request new readings of the still existing artifacts."""
    if not artifact_ids:
        return
    there = scope.execute(_THERE, ids=sorted(artifact_ids)).scalars().all()
    enqueue_many(scope, WorkKind.ARTIFACT, there)
    receipt.asked |= {(WorkKind.ARTIFACT, artifact_id) for artifact_id in there}
