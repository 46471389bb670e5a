"""Facts for predicting readings of an artifact: last turn, session, habits of others, own text."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from context.extract import INDEX_VERSION, PassageIndex
from context.focus import normalise
from context.planning.deterministic import Wanted
from context.planning.room import canonical_tokens, fits_whole, most_share_of_old, room_for_artifacts
from context.planning.standing import standing_question
from context.planning.whole import asks_for_all
from context.precompute.predict import Prediction, bears_on, open_points, predict_focuses
from context.precompute.topics import find_topics
from context.types import Role
from models.artifact import load_passages
from models.artifact_attachment import load_attachments
from models.artifact_origin import ArtifactText, Origin, find_origin, load_text
from models.artifact_use import find_old, load_uses
from models.freshness import find_standing
from models.habits import likely_focuses
from models.history import load_newest, load_oldest
from models.planning_settings import PlanningSettings
from models.session import Transaction, reading
from models.session_state import SessionState
from models.work import Claim
from workers.settings import PrecomputeSettings

TURN_MESSAGES = 100
"""Number of messages searched backwards for the question of a turn."""


@dataclass(frozen=True)
class Known:
    """An artifact, with the known reasons for a reading.

    Attributes:
        artifact: The text.
        passages: The prepared index, as bytes; None without an index.
        session: The last using session; None without a session.
        is_kept: True if a session uses the artifact, or somebody uploaded the artifact.
        question: Question of the last using turn; empty once answered.
        open_work: Open points of the session's summary.
        mined: Reading focuses for the tool's artifacts, with shares.
        fits_whole: True if a window of the session shows all artifacts whole.
        room: Room of the session's artifacts in a window, in stored tokens; None without a session.
    """

    artifact: ArtifactText
    passages: bytes | None
    session: SessionState | None = None
    is_kept: bool = False
    question: str = ""
    open_work: Sequence[str] = ()
    mined: Sequence[tuple[str, float]] = ()
    fits_whole: bool = False
    room: int | None = None


def look_up(held: Claim, planning: PlanningSettings) -> Known | None:
    """Read the known facts about an artifact; returns None when the artifact is gone.

    The session is read before the messages: a change between the two reads outdates the questions in the
    session's words, and the generation shows the change.
    """
    with reading() as db:
        artifact = load_text(db, held.tenant_id, held.key)
        if artifact is None:
            return None
        passages = load_passages(db, held.tenant_id, [held.key], version=INDEX_VERSION).get(held.key)
        origin = find_origin(db, held.tenant_id, held.key)
        standing = find_standing(db, held.tenant_id, origin.session_id) if origin else None
        if origin is None or standing is None:
            kept = bool(load_attachments(db, held.tenant_id, [held.key]))
            return Known(artifact, passages, is_kept=kept)
        room = _room(standing.session, planning)
        return Known(
            artifact,
            passages,
            standing.session,
            is_kept=True,
            question=_question_of(db, held, origin, standing.session),
            open_work=open_points(standing.summary.text) if standing.summary else (),
            mined=likely_focuses(db, held.tenant_id, origin.tool) if origin.tool else (),
            fits_whole=_fits_whole(db, held.tenant_id, standing.session, room, planning),
            room=room,
        )


def _fits_whole(
    db: Transaction, tenant_id: UUID, session: SessionState, room: int, planning: PlanningSettings
) -> bool:
    """Check whether the session's next request could show all artifacts whole."""
    uses = load_uses(
        db, tenant_id, session.session_id, after_seq=session.start_seq, newest=planning.artifact_newest
    )
    artifacts = {use.artifact.artifact_id: use.artifact for use in uses if use.artifact}
    return fits_whole(list(artifacts.values()), find_old(uses), room)


def _room(session: SessionState, planning: PlanningSettings) -> int:
    """Compute the room for artifacts, by the session's last request."""
    budget, model = session.budget, session.model or ""
    whole = canonical_tokens(budget.input_tokens, model) - session.system_tokens - session.tools_tokens
    if budget.history_limit is not None:
        whole = min(whole, canonical_tokens(budget.history_limit.tokens, model))
    whole -= session.summary_tokens
    return room_for_artifacts(
        whole,
        session.raw_tokens,
        share=planning.artifact_room_share,
        most_share=most_share_of_old(whole, planning.artifact_most_share),
    )


def _question_of(db: Transaction, held: Claim, origin: Origin, session: SessionState) -> str:
    """Find the turn's question, in the words used by a request of the turn to find a summary.

    Once the turn has its answer, the next request asks another question.
    """
    later = load_oldest(
        db,
        held.tenant_id,
        origin.session_id,
        after_seq=origin.seq,
        up_to_seq=session.last_seq,
        most=TURN_MESSAGES,
    )
    if any(message.role is Role.ASSISTANT and not message.call_ids for message in later):
        return ""
    messages = load_newest(
        db,
        held.tenant_id,
        origin.session_id,
        after_seq=max(origin.seq - TURN_MESSAGES, 0),
        up_to_seq=origin.seq,
        most=TURN_MESSAGES,
    )
    return Wanted(standing_question([], messages)).query


def predict(known: Known, index: PassageIndex, settings: PrecomputeSettings) -> list[Prediction]:
    """Predict the focuses of readings; a question about the whole artifact is the general focus.

    For an artifact shown whole no focus is predicted.
    """
    if known.fits_whole:
        return []
    artifact, most = known.artifact, settings.artifact_focuses
    vocabulary = frozenset(index.vocabulary) if known.open_work else frozenset()

    def is_focused(text: str) -> bool:
        return not asks_for_all(normalise(text), artifact.title, index)

    return predict_focuses(
        question=known.question if is_focused(known.question) else "",
        open_work=[point for point in known.open_work if bears_on(point, vocabulary)],
        mined=[(text, share) for text, share in known.mined if is_focused(text)],
        topics=find_topics(artifact.content, index, limit=most),
        limit=most,
    )
