"""Trigger of a summary, the position of the cut, versions, and the pause after a refused summary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from context.conversation.turns import Turn, count_eligible, snap_to_boundary, split_turns
from context.providers.prompt_cache import cache_rule
from context.tokens import estimate
from context.tokens.budget import Budget
from context.types import Message


def cool_down_s(refusals: int, *, first_s: float, most_s: float) -> float:
    """Return the rest of a session after refused summaries: doubling, bounded.

    Args:
        refusals: The number of refusals in a row, >= 0.
        first_s: The rest after the first refusal, in seconds, >= 0.
        most_s: The longest rest, in seconds, >= `first_s`.

    Returns:
        Seconds, 0 without a refusal.

    Raises:
        ValueError: A number is out of its range.
    """
    if refusals < 0 or not 0 <= first_s <= most_s:
        raise ValueError(f"refusals {refusals} and rests from {first_s} to {most_s} s make no sense")
    return min(first_s * 2 ** min(refusals - 1, 30), most_s) if refusals else 0.0


KEEP_ALL = 8
"""So many of the newest versions are all kept."""


def versions_to_thin(versions: Iterable[int]) -> list[int]:
    """Choose the versions to drop, so that of n versions in the order of log n stay.

    The newest `KEEP_ALL` versions stay. Each level behind is twice as long as the level before and falls into
    `KEEP_ALL / 2` equal stretches, each with its newest version kept. A stretch of one level lies inside a
    stretch of the next, so beside a dropped version there is always a version newer by a quarter of the
    dropped version's age at most.

    Args:
        versions: The existing versions, each >= 1.

    Returns:
        The versions to drop, ascending.
    """
    ordered = sorted(set(versions), reverse=True)
    newest = ordered[0] if ordered else 0
    kept: set[tuple[int, int]] = set()
    gone = []
    for version in ordered:
        place = _stretch(version, newest)
        if place in kept:
            gone.append(version)
        kept.add(place)
    return gone[::-1]


def _stretch(version: int, newest: int) -> tuple[int, int]:
    """Name the stretch of a version: width, and number among stretches of the same width."""
    age = newest - version
    width = 1
    while age >= width * KEEP_ALL:
        width *= 2
    return width, version // width


LEAST_GROWTH = 1.0
"""Largest room for growth left by a cut before the next cut is due, as a share of the history kept raw."""

DEAR_KEPT = 0.5
"""Share of that kept raw where a token is paid for often: in a budget that lasts, at each step of agents."""

NEWEST_SHARE = 0.125
"""Share of the window up to which the newest turn stays raw, however much it costs."""

FIRST_NOTES_TOKENS = 1_500
"""Likely tokens of a first summary."""

BEHIND_A_SUMMARY = 0.5
"""Part of `Thresholds.price_share` that stays raw whatever it costs once a summary stands before it."""

LEAST_KEPT = 0.5
"""Smallest share of the history kept raw that stays raw however full the window is."""


@dataclass(frozen=True)
class Thresholds:
    """Settings of compression, checked against each other.

    Attributes:
        message_count: Number of raw messages above which a summary is due, if the messages are also more
            than `least_share` of the window and more than `least_tokens`.
        window_share: Share of the window above which a summary is due, (0, 1].
        keep_messages: Number of recent messages kept raw; fewer than `message_count`. Short messages stay
            beyond the number, up to `least_tokens`; of an agent's, up to half as many.
        keep_share: Largest share of the window kept raw, less than `window_share`.
        min_progress: Least saving of a summary, as a share of the covered tokens.
        least_share: Share of the window below which no number of messages makes a summary due, [0, 1].
        least_tokens: Tokens below which no number of messages makes a summary or a cut due, >= 0; and the
            least growth after a cut for which a summary is due where each token is paid for often.
        price_share: Share of the window up to which the price of history makes no summary due, [0, 1];
            behind a summary half of it.
    """

    message_count: int = 60
    window_share: float = 0.75
    keep_messages: int = 20
    keep_share: float = 0.3
    min_progress: float = 0.1
    least_share: float = 0.75
    least_tokens: int = 4_000
    price_share: float = 0.2

    def __post_init__(self) -> None:
        """Refuse thresholds in an order that would make one of them useless.

        Raises:
            ValueError: Two thresholds contradict each other; the message names both.
        """
        if not 0 < self.keep_messages < self.message_count:
            raise ValueError(
                f"keep_messages ({self.keep_messages}) must be at least 1 and below message_count "
                f"({self.message_count}): else every summary would be due again at once"
            )
        if not 0 < self.keep_share < self.window_share <= 1:
            raise ValueError(
                f"keep_share ({self.keep_share}) must be above 0 and below window_share "
                f"({self.window_share}), and that at most 1"
            )
        if not 0 < self.min_progress < 1:
            raise ValueError(f"min_progress ({self.min_progress}) must be between 0 and 1")
        for name in ("least_share", "price_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} ({getattr(self, name)}) must be between 0 and 1")
        if self.least_tokens < 0:
            raise ValueError(f"least_tokens ({self.least_tokens}) must be 0 or more")


@dataclass(frozen=True)
class Load:
    """Content of a session's next request.

    Attributes:
        raw_messages: Number of messages covered by no summary.
        raw_tokens: Tokens of the raw messages.
        summary_tokens: Tokens of the summary in force.
        system_tokens: Tokens of the last request's system prompt.
        tools_tokens: Tokens of the last request's tool definitions.
        left_out: Number of the oldest raw messages hidden from every window since an emergency.
        model: The model whose tokens fill the window; None to take counts unchanged.
        has_steps: True in a session of an agent with tools: what is hidden can be read again.
    """

    raw_messages: int
    raw_tokens: int
    summary_tokens: int = 0
    system_tokens: int = 0
    tools_tokens: int = 0
    left_out: int = 0
    model: str | None = None
    has_steps: bool = False

    @property
    def input_tokens(self) -> int:
        """Total of all parts, in stored tokens."""
        return self.raw_tokens + self.summary_tokens + self.system_tokens + self.tools_tokens

    def price(self, tokens: int) -> int:
        """Estimate stored tokens in the model's own."""
        return tokens if self.model is None else estimate(tokens, self.model)


class Trigger(StrEnum):
    """Reasons to summarize history."""

    LEFT_OUT = "left out in an emergency"
    MESSAGES = "message count"
    TOKENS = "share of the window"
    PRICE = "price of history"


def find_trigger(load: Load, budget: Budget, thresholds: Thresholds) -> Trigger | None:
    """Say whether history calls for a summary, by the same formula as the budget check.

    Only history reducible by a summary counts as a reason; a large system prompt alone does not. History
    hardly longer than the part kept raw does not count either, or each new turn would call for a summary. A
    number of messages alone is no reason: history that fits well is better raw. Where each token is paid for
    often, by agents and in a budget that lasts, the price of history is a reason.

    Args:
        load: The content of the next request.
        budget: The window.
        thresholds: The settings.

    Returns:
        The reason, or None.
    """
    if load.left_out:
        return Trigger.LEFT_OUT
    raw = load.price(load.raw_tokens)
    reducible = raw > _keep_tokens(load, budget, thresholds) * (1 + thresholds.min_progress)
    if reducible and _presses(load, budget, thresholds):
        return Trigger.TOKENS
    heavy = raw > max(budget.history_window * thresholds.least_share, thresholds.least_tokens)
    if heavy and load.raw_messages > thresholds.message_count:
        return Trigger.MESSAGES
    if reducible and _is_dear(load, budget) and _pays(load, budget, thresholds):
        return Trigger.PRICE
    return None


FULL = 0.9
"""Share of a window or a limit up to which history that is not dear stays raw beside its prepared summary."""


def may_wait(trigger: Trigger | None, load: Load, budget: Budget) -> bool:
    """Say whether a summary made for a filling window may wait, since the next requests still fit."""
    if trigger is not Trigger.TOKENS or _is_dear(load, budget):
        return False
    history = load.price(load.raw_tokens + load.summary_tokens)
    fits = load.price(load.input_tokens) <= budget.input_tokens * FULL
    return fits and history <= budget.history_window * FULL


def _is_dear(load: Load, budget: Budget) -> bool:
    """Say whether history is paid for often: at each step of an agent, or for a caller who counts tokens."""
    return load.has_steps or budget.is_usual


def _pays(load: Load, budget: Budget, thresholds: Thresholds) -> bool:
    """Say whether history since the last cut has cost as much as a new beginning of requests will.

    Each question and answer, or call and result, was a request. It paid the price of cached tokens for the
    history grown until then, half of all growth on average. After a cut the summary and the part kept raw are
    read and written anew. Waiting for equal sums costs at most twice as much as the best moment would.
    """
    keep = _keep_tokens(load, budget, thresholds)
    raw = load.price(load.raw_tokens)
    growth = raw - keep
    if growth <= thresholds.least_tokens:
        return False
    share = thresholds.price_share * (BEHIND_A_SUMMARY if load.summary_tokens else 1)
    if raw <= budget.used_window * share:
        return False
    rule = cache_rule(load.model)
    paid = rule.read_share * (growth / 2) * (load.raw_messages / 2)
    return paid >= rule.write_share * (keep + (load.price(load.summary_tokens) or FIRST_NOTES_TOKENS))


def _presses(load: Load, budget: Budget, thresholds: Thresholds) -> bool:
    """Say whether a request fills the window, or history the history limit, beyond `window_share`."""
    used = load.price(load.input_tokens) + budget.max_tokens
    limit, history = budget.history_limit, load.price(load.raw_tokens + load.summary_tokens)
    too_much = limit is not None and history > limit.tokens * thresholds.window_share
    return too_much or used > budget.used_window * thresholds.window_share


def _keep_tokens(load: Load, budget: Budget, thresholds: Thresholds) -> int:
    keep = int(budget.history_window * thresholds.keep_share)
    if not _is_dear(load, budget):
        return keep
    return int(
        min(keep * DEAR_KEPT if budget.is_usual else keep, (thresholds.least_tokens or keep) * DEAR_KEPT)
    )


@dataclass(frozen=True)
class SummaryCut:
    """The messages to summarize: `messages[:stop]`.

    Attributes:
        stop: The number of messages, oldest first, >= 1.
        from_seq: The first message.
        to_seq: The last message.
        tokens: The total cost of the messages.
    """

    stop: int
    from_seq: int
    to_seq: int
    tokens: int


def plan_cut(
    messages: Sequence[Message], load: Load, budget: Budget, thresholds: Thresholds
) -> SummaryCut | None:
    """Choose the oldest messages to summarize, in whole, finished turns.

    A cut inside a turn leaves that turn raw. Where each token is paid for often the turn is summarized, but
    for the newest turn if it is short.

    Args:
        messages: The oldest raw messages; all of them, or the first part of many.
        load: All raw messages and tokens, including messages not passed here.
        budget: The window; a share of it may stay raw.
        thresholds: The settings.

    Returns:
        The cut, or None if no finished turn may go.
    """
    ends = [turn.stop for turn in _ready_turns(messages, more=load.raw_messages > len(messages))]
    keep = _tokens_to_keep(load, budget, thresholds)
    target = _target(messages, load, thresholds, keep)
    stop = snap_to_boundary(ends, target)
    if stop < target and _is_dear(load, budget):
        stop = next((end for end in ends if end >= target), stop)
    if stop == len(messages) and len(ends) > 1 and _is_dear(load, budget):
        newest = load.price(sum(message.tokens for message in messages[ends[-2] :]))
        window = budget.history_window
        most = min(max(keep / DEAR_KEPT, window * NEWEST_SHARE), window * thresholds.keep_share)
        stop = ends[-2] if newest <= most else stop
    if stop == 0:
        return None
    covered = messages[:stop]
    return SummaryCut(stop, covered[0].seq, covered[-1].seq, sum(message.tokens for message in covered))


def count_ready(messages: Sequence[Message], *, more: bool) -> int:
    """Count the messages before the first turn that is unfinished or was not read to its end.

    Args:
        messages: The oldest raw messages.
        more: True if further messages follow that are not passed here.

    Returns:
        The number of messages ready for a summary, 0 to all.
    """
    ready = _ready_turns(messages, more=more)
    return ready[-1].stop if ready else 0


def _ready_turns(messages: Sequence[Message], *, more: bool) -> list[Turn]:
    turns = split_turns(messages)
    ready = turns[: count_eligible(turns)]
    return ready[:-1] if more and len(ready) == len(turns) else ready


def _tokens_to_keep(load: Load, budget: Budget, thresholds: Thresholds) -> float:
    """Return the tokens to keep raw, with room for history to grow before the next summary.

    If parts that no summary reduces fill the window, each new turn would call for a summary; then fewer
    tokens stay raw.
    """
    keep = _keep_tokens(load, budget, thresholds)
    fixed = load.price(load.input_tokens - load.raw_tokens) + budget.max_tokens
    room = budget.used_window * thresholds.window_share - fixed
    if budget.history_limit is not None:
        most = budget.history_limit.tokens * thresholds.window_share
        room = min(room, most - load.price(load.summary_tokens))
    calls_again_at = max(keep * (1 + thresholds.min_progress), room)
    return max(min(keep, calls_again_at - keep * LEAST_GROWTH), keep * LEAST_KEPT)


def _target(messages: Sequence[Message], load: Load, thresholds: Thresholds, keep_tokens: float) -> int:
    for index, spent in enumerate(accumulate((message.tokens for message in messages), initial=0)):
        kept = load.price(load.raw_tokens - spent)
        few = load.raw_messages - index <= thresholds.keep_messages or kept <= thresholds.least_tokens
        if few and index >= load.left_out and kept <= keep_tokens:
            return index
    return len(messages)
