"""Post, wait, ask, grade: one reading for each question and limit."""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby, repeat

from benchmarks.served.baselines import Others, Rivals
from benchmarks.served.door import MODEL, Door
from benchmarks.served.talks import Ask, Grade, Talk, window_texts
from context.types import JsonObject

AT_ONCE = 2
MAX_TOKENS = 1_000
"""The output limit of every request."""

EVIDENCE = frozenset({"history", "summary", "recall", "user_recall", "artifact"})
"""Blocks of a window that show what was said before; their frames are counted in them."""


@dataclass(frozen=True)
class Limit:
    """A model's window, and the caller's lower limit; None for none."""

    window: int
    budget: int | None = None

    @property
    def name(self) -> str:
        """For the table."""
        return f"{self.budget:,}" if self.budget else "none"


@dataclass(frozen=True)
class Case:
    """Conversations of one set in one form."""

    data: str
    form: str
    talks: Sequence[Talk]


@dataclass(frozen=True)
class Reading:
    """One context, as it was served, beside what others would have shown.

    Attributes:
        ask_id: The question.
        limit: Its window and budget.
        served: What the served messages show of the evidence.
        others: The same of the other ways, at the same tokens.
        blocks: Tokens by block.
        free_tokens: What was left of the budget.
        recall: The status of recall, as the answer says.
    """

    ask_id: str
    limit: Limit
    served: Grade
    others: Others
    blocks: dict[str, int]
    free_tokens: int
    recall: str

    @property
    def evidence_tokens(self) -> int:
        """What history, summary, recall and artifacts took."""
        return sum(tokens for source, tokens in self.blocks.items() if source in EVIDENCE)


@dataclass
class Measured:
    """What was read of one case, and what it took."""

    case: Case
    readings: list[Reading] = field(default_factory=list)
    asked: int = 0
    posted_s: float = 0.0
    rested_s: float = 0.0
    read_s: float = 0.0


def limits_of(windows: Sequence[int], budgets: Sequence[int | None], *, in_each: bool = False) -> list[Limit]:
    """List what is read, window by window: no budget in each, stated ones in the widest.

    Within a window the least pressing come first: a tight read may put a prepared summary in force.

    Args:
        windows: Of the model, in tokens.
        budgets: Input tokens; None for no lower limit than the window's.
        in_each: Whether stated budgets are read in every window that is larger.
    """
    stated = sorted((one for one in budgets if one is not None), reverse=True)
    limits = []
    for window in sorted(set(windows)):
        limits += [Limit(window)] if None in budgets else []
        if in_each or window == max(windows):
            limits += [Limit(window, budget) for budget in stated if budget < window]
    return limits


class Measurement:
    """One case under measurement, in sessions of its own."""

    def __init__(self, door: Door, case: Case, *, rest_s: float) -> None:
        """Prepare; nothing is sent yet.

        Args:
            door: The API.
            case: The conversations.
            rest_s: The longest wait for the background, in seconds.
        """
        self._door, self._case, self._rest_s = door, case, rest_s
        self._run = secrets.token_hex(3)
        self._rivals: dict[str, Rivals] = {}
        self.made = Measured(case)

    def measure(self, limits: Sequence[Limit], tell: Callable[[str], object]) -> Measured:
        """Read every question at every limit, window by window.

        Args:
            limits: In the order in which they are read; each window has sessions of its own.
            tell: Told how far it is.
        """
        for window, group in groupby(limits, key=lambda limit: limit.window):
            names = [
                f"served-{self._run}-{window}-{self._case.data}-{place}"
                for place in range(len(self._case.talks))
            ]
            posted = self._post(names, window)
            rested_s = self._rest(posted)
            tell(f"{self._case.data} ({self._case.form}), {window:,}: at rest after {rested_s:.1f} s")
            for limit in group:
                self._ask(names, limit)
                self._rest(posted)
        return self.made

    def _post(self, names: Sequence[str], window: int) -> list[str]:
        began = time.monotonic()
        if any(talk.breaks for talk in self._case.talks):
            self._door.recall_users()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            posted = list(pool.map(self._door.post, names, self._case.talks, repeat(window)))
        self.made.posted_s += time.monotonic() - began
        return [name for sessions in posted for name in sessions]

    def _rest(self, names: Sequence[str]) -> float:
        rested_s = self._door.rest(names, self._rest_s)
        self.made.rested_s += rested_s
        return rested_s

    def _ask(self, names: Sequence[str], limit: Limit) -> None:
        began = time.monotonic()
        asked = [
            (name, talk, ask) for name, talk in zip(names, self._case.talks, strict=True) for ask in talk.asks
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            requests = [
                request_of(ask, limit, user_id=name if talk.breaks else None) for name, talk, ask in asked
            ]
            answers = pool.map(self._door.context, [name for name, _, _ in asked], requests)
            for (_, talk, ask), answer in zip(asked, answers, strict=True):
                self.made.asked += 1
                if answer is not None:
                    self.made.readings.append(read(answer, ask, limit, self._rivals_of(talk, ask)))
        self.made.read_s += time.monotonic() - began

    def _rivals_of(self, talk: Talk, ask: Ask) -> Rivals:
        if ask.ask_id not in self._rivals:
            self._rivals[ask.ask_id] = Rivals(talk, ask)
        return self._rivals[ask.ask_id]


def request_of(ask: Ask, limit: Limit, *, user_id: str | None = None) -> JsonObject:
    """Write the body of a context request; with a user, one that recalls the user's other sessions."""
    body: JsonObject = {
        "model": MODEL,
        "context_window": limit.window,
        "max_tokens": MAX_TOKENS,
        "messages": [ask.message],
    }
    if user_id:
        body |= {"recall": {"scope": "user"}, "user_id": user_id}
    return {**body, "budget": limit.budget} if limit.budget else body


def read(answer: JsonObject, ask: Ask, limit: Limit, rivals: Rivals) -> Reading:
    """Grade what was served, and others at the tokens that it took."""
    certificate = answer["certificate"]
    blocks: Counter[str] = Counter()
    for block in certificate["blocks"]:
        blocks[block["source"]] += block["tokens"]
    took = sum(tokens for source, tokens in blocks.items() if source in EVIDENCE)
    beside = certificate["input_tokens"] - took
    return Reading(
        ask_id=ask.ask_id,
        limit=limit,
        served=ask.gold.grade(window_texts(answer["messages"])),
        others=rivals.at(took, certificate["budget"] - beside),
        blocks=dict(blocks),
        free_tokens=certificate["budget"] - certificate["input_tokens"],
        recall=answer["utilization"].get("user_recall", answer["utilization"]["recall"])["status"],
    )


def by_limit(measured: Measured) -> Iterator[tuple[Limit, list[Reading]]]:
    """Group readings by their limit, in the order of reading."""
    for limit in dict.fromkeys(reading.limit for reading in measured.readings):
        yield limit, [reading for reading in measured.readings if reading.limit == limit]
