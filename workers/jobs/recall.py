"""Indexing of messages not shown raw in a session's windows, so that a new message finds the words again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from context.conversation.transcript import render_transcript
from context.conversation.turns import parse_turn_boundaries
from context.recall.passages import RECALL_LIMITS, Passage, make_passages
from context.tokens import count_text
from context.types import Message
from models.conversations.history import load_oldest
from models.conversations.session import find_session
from models.database import read_transaction, transaction
from models.due_work.queue import Claim, finish
from models.recall.index import Progress, RecallKey, add_passages, find_progress, find_turns, lock_source
from models.recall.settings import RecallSettings
from models.recall.user import has_users
from models.scope import Scope
from workers.jobs.lifecycle import LeaseLostError

MOST_MESSAGES = 200
"""Number of messages read in a run; a longer stretch takes several runs."""

NOTHING = "nothing to do"

LARGE_TURN_TOKENS = 500
"""Size from which the newest turn is indexed at once: a small budget cannot show the turn whole."""

_MOST_RUNS = 200

SLICE_PASSAGES = 100
"""Approximate number of passages written in a transaction: the session takes no turn for some 50 ms."""


@dataclass(frozen=True)
class Stretch:
    """Messages not indexed yet.

    Attributes:
        index: Key of the index.
        generation: The session's generation at the time of reading.
        progress: Progress of the index.
        messages: Whole turns, unless a single turn is larger than a run.
        turns: Turn of each message.
        more: True if more messages follow.
    """

    index: RecallKey
    generation: int
    progress: Progress
    messages: Sequence[Message]
    turns: dict[int, int]
    more: bool


def index_session(held: Claim, *, settings: RecallSettings, count: Callable[[str], int] = count_text) -> str:
    """Index the oldest unindexed turns, up to the newest turn, or with the newest turn if large.

    The newest turn is also indexed for recall from other sessions of the user. Each slice is added only if
    the session is of the generation read before: text erased or edited meanwhile cannot come back. The index
    itself moves
    on by compare-and-set.

    Returns:
        The outcome in words.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    if not settings.recall_is_on:
        return _finish(held, "recall is off")
    stretch = _read(held.tenant_id, held.key)
    if isinstance(stretch, str):
        return _finish(held, stretch)
    if not _write(stretch, count):
        return _finish(held, "discarded: the session or its index changed meanwhile", again_in_s=0)
    through = stretch.messages[-1].seq
    return _finish(held, f"indexed through message {through}", again_in_s=0 if stretch.more else None)


def index_through(
    tenant_id: UUID,
    session_id: str,
    seq: int,
    *,
    settings: RecallSettings,
    count: Callable[[str], int] = count_text,
) -> bool:
    """Index a session up to a message before a summary hides the messages.

    Args:
        tenant_id: The owner of the session.
        session_id: The session.
        seq: Last message covered by the summary.
        settings: Recall settings, with the switch of recall.
        count: Function that counts the tokens of a text.

    Returns:
        True when the index knows every message up to the point, or when recall is off.
    """
    if not settings.recall_is_on:
        return True
    for _ in range(_MOST_RUNS):
        stretch = _read(tenant_id, session_id, through_seq=seq)
        if isinstance(stretch, str):
            return stretch == NOTHING
        _write(stretch, count)
    return False


def _read(tenant_id: UUID, session_id: str, *, through_seq: int | None = None) -> Stretch | str:
    with read_transaction() as db:
        scope = Scope(db, tenant_id)
        session = find_session(scope, session_id)
        if session is None:
            return "the session is gone"
        index = RecallKey(tenant_id, session_id, session.start_seq)
        progress = find_progress(db, index)
        after, up_to = max(session.start_seq, progress.through_seq), through_seq or session.last_seq
        messages = load_oldest(scope, session_id, after_seq=after, up_to_seq=up_to, most=MOST_MESSAGES)
        if not messages:
            return NOTHING
        turns = find_turns(scope, session_id, after_seq=after, up_to_seq=messages[-1].seq)
        to_the_end = through_seq is None and has_users(scope, session_id)
    more = messages[-1].seq < up_to
    hidden = up_to if through_seq else session.recall_through
    stays_out = more or (messages[-1].seq > hidden and not (to_the_end and _is_answered(messages)))
    whole = _whole_turns(messages, more=more) if stays_out else messages
    return Stretch(index, session.generation, progress, whole, turns, more) if whole else NOTHING


def _is_answered(messages: Sequence[Message]) -> bool:
    """Check that no call waits for a result: a late result would be indexed without the tool's name."""
    made = {call_id for message in messages for call_id in message.call_ids}
    return made <= {call_id for message in messages for call_id in message.answer_ids}


def _whole_turns(messages: Sequence[Message], *, more: bool) -> Sequence[Message]:
    """Leave out the last turn while small: the turn may go on, and every window shows the turn.

    A turn that fills a whole run is taken as far as read.
    """
    start = parse_turn_boundaries(messages)[-1]
    is_large = sum(message.tokens for message in messages[start:]) > LARGE_TURN_TOKENS
    if is_large and not more:
        return messages
    return messages[: start or (len(messages) if more else 0)]


def _write(stretch: Stretch, count: Callable[[str], int]) -> bool:
    """Add the stretch slice by slice. False: the session or the index has changed since the reading."""
    progress = stretch.progress
    lines = render_transcript(stretch.messages, limits=RECALL_LIMITS)
    made = make_passages(lines, turn_of=stretch.turns.__getitem__, count=count, start=progress.tokens)
    for through_seq, passages in _slices(made, stretch.messages[-1].seq):
        with transaction() as db:
            if not lock_source(db, stretch.index, generation=stretch.generation):
                return False
            if not add_passages(db, stretch.index, passages, base=progress, through_seq=through_seq):
                return False
        progress = progress.after(passages, through_seq)
    return True


def _slices(made: Sequence[Passage], last_seq: int) -> Iterator[tuple[int, list[Passage]]]:
    """Cut passages between messages; each slice names the last message, the last slice goes to the end."""
    slice_: list[Passage] = []
    for passage in made:
        if len(slice_) >= SLICE_PASSAGES and passage.seq != slice_[-1].seq:
            yield slice_[-1].seq, slice_
            slice_ = []
        slice_.append(passage)
    yield last_seq, slice_


def _finish(held: Claim, outcome: str, *, again_in_s: float | None = None) -> str:
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=again_in_s):
            raise LeaseLostError
    return outcome
