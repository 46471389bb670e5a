"""Preparation of an artifact for reading: index the passages, and answer the expected focuses."""

from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from context.extract import INDEX_VERSION, PassageIndex
from context.focus import normalise, size_class
from context.language import UNKNOWN
from context.planning.execute import EXTRACT_TOKENS
from context.precompute.predict import FocusOrigin, Prediction, ReadingCost
from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from context.worth import Guess, Purpose, worth_making
from llm.settings import LlmSettings
from models.artifact import save_passages
from models.artifact_lookup import is_settled
from models.artifact_origin import ArtifactText
from models.artifact_summary import SummaryKey, Wish, store_made, take_wanted, want_summary
from models.conversation import hold_generation
from models.planning_settings import PlanningSettings, planning_settings
from models.session import Transaction, reading, transaction
from models.speculation import What, find_record, note_made, price_share, spent_on
from models.work import Claim, finish, hold
from workers.jobs.foresee import Known, look_up, predict
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.reading import Complete, Reader, input_cap, read_for, summary_tokens
from workers.settings import PrecomputeSettings

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
    with reading() as db:
        wishes = take_wanted(db, held.tenant_id, held.key, most=by.settings.artifact_wishes)
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
    with transaction() as db:
        save_passages(db, held.tenant_id, held.key, index.to_bytes(), version=INDEX_VERSION)
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
        current = _is_current(db, held.tenant_id, known)
        if not hold(db, held):
            raise LeaseLostError
        for prediction in worth if current else ():
            wish = wish_for(
                known.artifact, prediction.text, prediction.origin.stored, by.settings.artifact_summary_tokens
            )
            own = replace(wish.key, model=by.llm.summarizer_model, prompt_version=ARTIFACT_PROMPT_VERSION)
            if not is_settled(db, held.tenant_id, own):
                want_summary(db, held.tenant_id, _owned(wish, prediction, known), ttl_s=by.ttl_s)
    return current


def _worth(held: Claim, known: Known, index: PassageIndex, by: _Means) -> list[Prediction]:
    """Choose the predictions worth a call, compared with a free extract in the same place."""
    predictions = predict(known, index, by.settings)
    artifact, tokens = known.artifact, summary_tokens(known.artifact, by.settings)
    read = min(artifact.tokens, input_cap(by.llm, by.settings))
    cost = ReadingCost(artifact.tokens, tokens, read)
    extract = min(EXTRACT_TOKENS, artifact.tokens, known.room or artifact.tokens)
    worth: list[Prediction] = []
    with reading() as db:
        share = price_share(
            db,
            held.tenant_id,
            maker=by.llm.summarizer_model,
            answering=(known.session and known.session.model) or "",
            default=by.planning.artifact_price_share,
        )
        for prediction in predictions:
            guess = Guess(prediction.hits, extract - tokens, cost.made_with, share)
            record, account = find_record(db, held.tenant_id, _what(prediction.origin.stored, artifact))
            account = account.with_more(len(worth) * cost.made_with)
            if worth_making(guess, record, account, by.planning.worth_limits).is_made:
                worth.append(prediction)
    return worth


def _what(origin: str, artifact: ArtifactText) -> What:
    return What(Purpose.READING, origin, artifact.kind.value)


def _is_current(db: Transaction, tenant_id: UUID, known: Known) -> bool:
    session = known.session
    return session is None or hold_generation(db, tenant_id, session.session_id, session.generation)


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
    owner = wish.session_id or (known.session.session_id if known.session else None)
    reader = Reader(
        held.tenant_id, held.work_id, owner, known.artifact, index, by.complete, by.llm, by.settings
    )
    made = read_for(reader, wish)
    with transaction() as db:
        if not hold(db, held):
            raise LeaseLostError
        asked = wish.key.model or by.llm.summarizer_model
        stored = store_made(db, held.tenant_id, wish.key, made, ttl_s=by.ttl_s, asked=asked)
        if wish.origin != FocusOrigin.ASKED:
            spent = spent_on(db, held.tenant_id, made.call_ids)
            note_made(db, held.tenant_id, _what(wish.origin, known.artifact), spent_tokens=spent)
    return stored and made.rejected_because is None


def _finish(held: Claim, outcome: str, *, again_in_s: float | None = None) -> str:
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=again_in_s):
            raise LeaseLostError
    return outcome
