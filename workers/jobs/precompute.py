"""Prepare summaries of artifacts before a request asks for them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.needs_plan import (
    canonical_tokens,
    fits_whole,
    most_share_of_old,
    room_for_artifacts,
)
from context.artifact_plans.question import asks_for_all, standing_question
from context.artifact_plans.strategies import EXTRACT_TOKENS
from context.extract import INDEX_VERSION, PassageIndex
from context.focus import normalise, size_class
from context.precompute.predict import (
    FocusOrigin,
    Prediction,
    ReadingCost,
    bears_on,
    find_topics,
    open_points,
    predict_focuses,
)
from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from context.precompute.worth import Guess, SpeculationPurpose, worth_making
from context.text.language import UNKNOWN
from context.types import Role
from llm.settings import LlmSettings
from models.artifacts.artifact import load_passages, save_passages
from models.artifacts.attachment import load_attachments
from models.artifacts.listing import ArtifactText, Origin, find_origin, load_text
from models.artifacts.settings import PlanningSettings, planning_settings
from models.artifacts.summary import SummaryKey, Wish, drop_wish, store_made, take_wanted, want_summary
from models.artifacts.summary_lookup import is_settled
from models.artifacts.use import find_old, load_uses
from models.conversations.history import load_newest, load_oldest
from models.conversations.session import hold_generation
from models.conversations.session_state import SessionState
from models.conversations.standing import find_standing
from models.database import Transaction, read_transaction, transaction
from models.due_work.queue import Claim, finish, lock_lease
from models.learning.habits import likely_focuses
from models.learning.speculation import Reserved, What, find_record, note_made, price_share, spent_on
from models.scope import Scope
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.read_artifact import ArtifactReader, Complete, input_cap, read_for, reserved, summary_tokens
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
    with read_transaction() as db:
        scope = Scope(db, held.tenant_id)
        artifact = load_text(scope, held.key)
        if artifact is None:
            return None
        passages = load_passages(scope, [held.key], version=INDEX_VERSION).get(held.key)
        origin = find_origin(scope, held.key)
        standing = find_standing(scope, origin.session_id) if origin else None
        if origin is None or standing is None:
            kept = bool(load_attachments(scope, [held.key]))
            return Known(artifact, passages, is_kept=kept)
        room = _room(standing.session, planning)
        return Known(
            artifact,
            passages,
            standing.session,
            is_kept=True,
            question=_question_of(db, held, origin, standing.session),
            open_work=open_points(standing.summary.text) if standing.summary else (),
            mined=likely_focuses(scope, origin.tool) if origin.tool else (),
            fits_whole=_fits_whole(scope, standing.session, room, planning),
            room=room,
        )


def _fits_whole(scope: Scope, session: SessionState, room: int, planning: PlanningSettings) -> bool:
    """Check whether the session's next request could show all artifacts whole."""
    uses = load_uses(scope, session.session_id, after_seq=session.start_seq, newest=planning.artifact_newest)
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
    scope = Scope(db, held.tenant_id)
    later = load_oldest(
        scope,
        origin.session_id,
        after_seq=origin.seq,
        up_to_seq=session.last_seq,
        most=TURN_MESSAGES,
    )
    if any(message.role is Role.ASSISTANT and not message.call_ids for message in later):
        return ""
    messages = load_newest(
        scope,
        origin.session_id,
        after_seq=max(origin.seq - TURN_MESSAGES, 0),
        up_to_seq=origin.seq,
        most=TURN_MESSAGES,
    )
    return ArtifactQuery(standing_question([], messages)).query


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


log = structlog.get_logger()


@dataclass(frozen=True)
class _Means:
    """Means of the preparation.

    Attributes:
        complete: Function that calls a model.
        llm: The models and windows.
        settings: Limits of reading and writing ahead.
        planning: Required worth of a summary.
        ttl_s: Lifetime of a summary, in seconds, > 0.
    """

    complete: Complete
    llm: LlmSettings
    settings: PrecomputeSettings
    planning: PlanningSettings
    ttl_s: float


def precompute_artifact(
    held: Claim,
    *,
    complete: Complete,
    llm: LlmSettings,
    settings: PrecomputeSettings,
    ttl_s: float,
    planning: PlanningSettings | None = None,
) -> str:
    """Index an artifact and summarize the artifact for the expected readings, likeliest first.

    No transaction is open during a model call. Each summary is stored separately, under the lease, and only
    if the wish still stands: an erased session's question answers nobody.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
        LlmFailure: The model did not answer; the remaining wishes stay.
    """
    by = _Means(complete, llm, settings, planning or planning_settings(), ttl_s)
    known = look_up(held, by.planning)
    if known is None:
        return _finish(held, "the artifact is gone")
    index = _prepare_index(held, known)
    current = _wish(held, known, index, by)
    with Scope.read(held.tenant_id) as scope:
        wishes = take_wanted(scope, held.key, most=by.settings.artifact_wishes)
    ready = sum(_fulfil(held, known, index, wish, by) for wish in wishes)
    outcome = f"ready: {ready} of {len(wishes)}"
    if len(wishes) == by.settings.artifact_wishes or not current:
        return _finish(held, outcome, again_in_s=0)
    return _finish(held, outcome)


def _prepare_index(held: Claim, known: Known) -> PassageIndex:
    """Return the prepared index, or a new index; an unreadable index is made again.

    The index is stored without a check of the lease: every maker makes the same index, and intake locks the
    same rows in the other order.
    """
    if known.passages is not None:
        try:
            return PassageIndex.from_bytes(known.passages)
        except ValueError:
            log.warning("passage_index_unreadable", work_id=held.work_id)
    index = PassageIndex.build(known.artifact.content, known.artifact.kind)
    with Scope.write(held.tenant_id) as scope:
        save_passages(scope, held.key, index.to_bytes(), version=INDEX_VERSION)
    return index


def _wish(held: Claim, known: Known, index: PassageIndex, by: _Means) -> bool:
    """Request the predicted summaries that will probably save more than they cost.

    Nothing is requested in words of a session changed or erased since the reading: the words may be gone.

    Returns:
        False for such a session: the work must be done again.
    """
    worth = _worth(held, known, index, by) if known.is_kept else []
    if not worth:
        return True
    with transaction() as db:
        scope = Scope(db, held.tenant_id)
        current = _is_current(scope, known)
        if not lock_lease(db, held):
            raise LeaseLostError
        for prediction in worth if current else ():
            wish = wish_for(
                known.artifact, prediction.text, prediction.origin.stored, by.settings.artifact_summary_tokens
            )
            own = replace(wish.key, model=by.llm.summarizer_model, prompt_version=ARTIFACT_PROMPT_VERSION)
            if not is_settled(scope, own):
                want_summary(scope, _owned(wish, prediction, known), ttl_s=by.ttl_s)
    return current


def _worth(held: Claim, known: Known, index: PassageIndex, by: _Means) -> list[Prediction]:
    """Choose the predictions worth a call, compared with a free extract in the same place."""
    predictions = predict(known, index, by.settings)
    artifact, tokens = known.artifact, summary_tokens(known.artifact, by.settings)
    read = min(artifact.tokens, input_cap(by.llm, by.settings))
    cost = ReadingCost(artifact.tokens, tokens, read)
    extract = min(EXTRACT_TOKENS, artifact.tokens, known.room or artifact.tokens)
    worth: list[Prediction] = []
    with read_transaction() as db:
        share = _price_share(db, held, known, by)
        for prediction in predictions:
            guess = Guess(prediction.hits, extract - tokens, cost.made_with, share)
            record, account = find_record(
                Scope(db, held.tenant_id), _what(prediction.origin.stored, artifact)
            )
            account = account.with_more(len(worth) * cost.made_with)
            if worth_making(guess, record, account, by.planning.worth_limits).is_made:
                worth.append(prediction)
    return worth


def _what(origin: str, artifact: ArtifactText) -> What:
    return What(SpeculationPurpose.READING, origin, artifact.kind.value)


def _is_current(scope: Scope, known: Known) -> bool:
    session = known.session
    return session is None or hold_generation(scope, session.session_id, session.generation)


_OWN_WORDS = frozenset({FocusOrigin.TURN, FocusOrigin.OPEN_WORK, FocusOrigin.MINED})


def _owned(wish: Wish, prediction: Prediction, known: Known) -> Wish:
    """Bind a focus in a session's words to the session; a focus suggested by the text itself stays free."""
    if known.session is None or prediction.origin not in _OWN_WORDS:
        return wish
    return replace(wish, session_id=known.session.session_id)


def wish_for(artifact: ArtifactText, focus: str, origin: str, summary_tokens: int) -> Wish:
    """Build the wish for a summary of an artifact, in the focus's language, else in the artifact's."""
    asked = normalise(focus)
    language = asked.language if asked.language != UNKNOWN else artifact.language or UNKNOWN
    key = SummaryKey(artifact.artifact_id, asked.key, size_class(summary_tokens), language)
    return Wish(key, focus, asked.terms, origin)


def _fulfil(held: Claim, known: Known, index: PassageIndex, wish: Wish, by: _Means) -> bool:
    """Answer a wish. Returns True when a summary was made."""
    if wish.origin == FocusOrigin.ASKED:
        return _read(held, known, index, wish, by)
    what = _what(wish.origin, known.artifact)
    with reserved(held.tenant_id, what, _cost_of(held, known, by), by.planning.worth_limits) as taken:
        if taken is not None:
            return _read(held, known, index, wish, by, taken=taken)
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        drop_wish(Scope(db, held.tenant_id), wish)
    return False


def _cost_of(held: Claim, known: Known, by: _Means) -> Guess:
    """Estimate a reading's call alone, at the tenant's prices."""
    tokens = summary_tokens(known.artifact, by.settings)
    read = min(known.artifact.tokens, input_cap(by.llm, by.settings))
    with read_transaction() as db:
        share = _price_share(db, held, known, by)
    return Guess(0.0, 0.0, ReadingCost(known.artifact.tokens, tokens, read).made_with, share)


def _price_share(db: Transaction, held: Claim, known: Known, by: _Means) -> float:
    return price_share(
        Scope(db, held.tenant_id),
        maker=by.llm.summarizer_model,
        answering=(known.session and known.session.model) or "",
        default=by.planning.artifact_price_share,
    )


def _read(
    held: Claim,
    known: Known,
    index: PassageIndex,
    wish: Wish,
    by: _Means,
    *,
    taken: Reserved | None = None,
) -> bool:
    owner = wish.session_id or (known.session.session_id if known.session else None)
    reader = ArtifactReader(
        held.tenant_id, held.work_id, owner, known.artifact, index, by.complete, by.llm, by.settings
    )
    made = read_for(reader, wish)
    with transaction() as db:
        scope = Scope(db, held.tenant_id)
        if not lock_lease(db, held):
            raise LeaseLostError
        asked = wish.key.model or by.llm.summarizer_model
        stored = store_made(scope, wish.key, made, ttl_s=by.ttl_s, asked=asked)
        if taken is not None:
            spent = spent_on(scope, made.call_ids)
            what = _what(wish.origin, known.artifact)
            note_made(scope, what, spent_tokens=spent, reserved=taken)
    return stored and made.rejected_because is None


def _finish(held: Claim, outcome: str, *, again_in_s: float | None = None) -> str:
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=again_in_s):
            raise LeaseLostError
    return outcome
