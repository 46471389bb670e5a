"""Prepare an artifact for being read: index its passages, and answer the focuses that will be asked for."""

from dataclasses import dataclass, replace

import structlog

from context.extract import INDEX_VERSION, PassageIndex
from context.focus import normalise, size_class
from context.language import UNKNOWN
from context.precompute.predict import Prediction, expected_saving, open_points, predict_focuses
from context.recall.question import find_question
from llm.settings import LlmSettings
from models.artifact import load_passages, save_passages
from models.artifact_lookup import is_settled
from models.artifact_origin import ArtifactText, Origin, find_origin, load_text
from models.artifact_summary import SummaryKey, Wish, store_made, take_wanted, want_summary
from models.conversation import hold_generation
from models.freshness import Standing, find_standing
from models.history import load_newest
from models.session import Transaction, reading, transaction
from models.work import Claim, finish, hold
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.reading import Complete, Reader, read_for
from workers.settings import PrecomputeSettings

log = structlog.get_logger()

TURN_MESSAGES = 100
"""How far back the question of a turn is looked for."""


@dataclass(frozen=True)
class _Task:
    """An artifact, and what is known of why it will be read."""

    artifact: ArtifactText
    passages: bytes | None
    origin: Origin | None
    generation: int
    predictions: tuple[Prediction, ...]


def precompute_artifact(
    held: Claim, *, complete: Complete, llm: LlmSettings, settings: PrecomputeSettings, ttl_s: float
) -> str:
    """Index an artifact and have it summarized for what it will probably be read for, likeliest first.

    No transaction is open while a model answers. Each summary is stored by itself, under the lease, and only
    where its wish still stands: an erased session's question answers nobody.

    Returns:
        What came of it.

    Raises:
        LeaseLostError: Another worker has the work now.
        LlmFailure: The model did not answer; the wishes that are left stay.
    """
    task = _read_task(held, settings)
    if task is None:
        return _finish(held, "the artifact is gone")
    index = _prepare_index(held, task)
    current = _wish(held, task, settings, ttl_s)
    with reading() as db:
        wishes = take_wanted(db, held.tenant_id, held.key, most=settings.artifact_wishes)
    ready = 0
    for wish in wishes:
        session_id = wish.session_id or (task.origin.session_id if task.origin else None)
        reader = Reader(
            held.tenant_id, held.work_id, session_id, task.artifact, index, complete, llm, settings
        )
        made = read_for(reader, wish)
        with transaction() as db:
            if not hold(db, held):
                raise LeaseLostError
            stored = store_made(db, held.tenant_id, wish.key, made, ttl_s=ttl_s)
        ready += stored and made.rejected_because is None
    more = len(wishes) == settings.artifact_wishes
    again = more or not current
    return _finish(held, f"ready: {ready} of {len(wishes)}", again_in_s=0 if again else None)


def _read_task(held: Claim, settings: PrecomputeSettings) -> _Task | None:
    with reading() as db:
        artifact = load_text(db, held.tenant_id, held.key)
        if artifact is None:
            return None
        passages = load_passages(db, held.tenant_id, [held.key], version=INDEX_VERSION).get(held.key)
        origin = find_origin(db, held.tenant_id, held.key)
        standing = find_standing(db, held.tenant_id, origin.session_id) if origin else None
        if origin is None or standing is None:
            return _Task(artifact, passages, None, 0, ())
        predictions = _predict(db, held, origin, standing, settings)
    return _Task(artifact, passages, origin, standing.session.generation, predictions)


def _predict(
    db: Transaction, held: Claim, origin: Origin, standing: Standing, settings: PrecomputeSettings
) -> tuple[Prediction, ...]:
    """By the question of the turn that used it last, and what the session's summary leaves open.

    The session was read before its messages: what changes between the two makes the wishes out of date.
    """
    messages = load_newest(
        db,
        held.tenant_id,
        origin.session_id,
        after_seq=max(origin.seq - TURN_MESSAGES, 0),
        up_to_seq=origin.seq,
        most=TURN_MESSAGES,
    )
    summary = standing.summary.text if standing.summary else ""
    found = predict_focuses(
        question=find_question([], messages),
        open_work=open_points(summary),
        limit=settings.artifact_focuses,
    )
    return tuple(found)


def _prepare_index(held: Claim, task: _Task) -> PassageIndex:
    """The prepared index, or a new one; one that cannot be read is made anew."""
    if task.passages is not None:
        try:
            return PassageIndex.from_bytes(task.passages)
        except ValueError:
            log.warning("passage_index_unreadable", work_id=held.work_id)
    index = PassageIndex.build(task.artifact.content, task.artifact.kind)
    with transaction() as db:
        if not hold(db, held):
            raise LeaseLostError
        save_passages(db, held.tenant_id, held.key, index.to_bytes(), version=INDEX_VERSION)
    return index


def _wish(held: Claim, task: _Task, settings: PrecomputeSettings, ttl_s: float) -> bool:
    """Ask for the predicted summaries that will probably save more than they cost.

    Nothing is asked in words of a session that was changed or erased since they were read: they may be gone.

    Returns:
        False where that is so: the work is to be done again.
    """
    artifact, origin = task.artifact, task.origin
    worth = [
        prediction
        for prediction in task.predictions
        if expected_saving(
            prediction,
            artifact_tokens=artifact.tokens,
            summary_tokens=min(settings.artifact_summary_tokens, artifact.tokens // 3),
        )
        > 0
    ]
    if origin is None or not worth:
        return True
    with transaction() as db:
        current = hold_generation(db, held.tenant_id, origin.session_id, task.generation)
        if not hold(db, held):
            raise LeaseLostError
        for prediction in worth if current else ():
            wish = wish_for(artifact, prediction.text, prediction.origin, settings.artifact_summary_tokens)
            own_words = replace(wish, session_id=origin.session_id) if prediction.text else wish
            if not is_settled(db, held.tenant_id, wish.key):
                want_summary(db, held.tenant_id, own_words, ttl_s=ttl_s)
    return current


def wish_for(artifact: ArtifactText, focus: str, origin: str, summary_tokens: int) -> Wish:
    """The wish for a summary of an artifact, in the language of the focus, else in the artifact's own."""
    asked = normalise(focus)
    language = asked.language if asked.language != UNKNOWN else artifact.language or UNKNOWN
    key = SummaryKey(artifact.artifact_id, asked.key, size_class(summary_tokens), language)
    return Wish(key, focus, asked.terms, origin)


def _finish(held: Claim, outcome: str, *, again_in_s: float | None = None) -> str:
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=again_in_s):
            raise LeaseLostError
    return outcome
