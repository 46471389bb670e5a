"""Replay conversations of others: was what they asked of artifacts read ahead, and what did that cost?

python -m benchmarks.focus_hits [--every N]

A read is one artifact in one request: every large artifact that came in before, and that the plan by rule
does not leave out, where there is no room for the whole. Its focus is what the request asks: the newest words
of the user that do more than agree; for an agent's further steps, the words that began the turn. What came in
behind a request is summarized before the next one. Reads in later turns are what counts: a further step of
the same turn gets its results whole, and its question is known before it; such reads stand apart.
Beside what the job does stand reading nothing ahead, and reading for the general focus alone. Then
designs are compared by gold, over every data set with long texts (`benchmarks.focus_designs`).
"""

from argparse import ArgumentParser
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import focus_designs, focus_reads
from benchmarks.focus_data import (
    LEAST_CHARS,
    Event,
    Mined,
    Replay,
    Text,
    artifact_of,
    mine,
    read_agents,
    read_coding_session,
    read_meetings,
)
from benchmarks.report import save
from context.artifact_plans.by_rule import ArtifactQuery, compare_texts, plan_by_rule
from context.artifact_plans.question import asks_for_all, standing_question
from context.artifact_plans.strategies import EXTRACT_TOKENS
from context.artifacts.types import ArtifactDecision, ProcessingStrategy
from context.extract import extract
from context.extract.choose import rank_pieces
from context.focus import Focus, nearest, normalise
from context.precompute.predict import (
    HITS,
    REPEATED,
    FocusOrigin,
    ReadingCost,
    find_topics,
    predict_focuses,
)

LEAST_CHARS_AIRLINE = 1_000
"""The airline's results have 500 to 7,000 characters: with the usual limit, two would be artifacts."""

INPUT_TOKENS, SUMMARY_TOKENS, FOCUSES, WISHES = 24_000, 500, 4, 2
LOOK_UP_TOKENS = 1_000
"""The most that a window shows of an artifact for one exact thing."""
PRICE_SHARE = 0.25
TUNING, CHECKING = 0, 1
GENERAL = normalise("")
HOWS = ("exact", "near", "extract", "none")
SAME, LATER = "same", "later"
"""Turns of reads: a further step of the turn in which an artifact came in, or one behind it."""


@dataclass(frozen=True)
class Way:
    """What is read ahead.

    Attributes:
        name: For the table.
        origins: Whose predictions are followed.
        topics: How many of a text's own topics.
        focuses: How many focuses at most.
        worth: Whether only what will probably save more than it costs.
        wishes: Whether a request that misses asks for the next one.
        requested: Whether it does so in talks without tools too.
    """

    name: str
    origins: frozenset[FocusOrigin] = frozenset(FocusOrigin)
    topics: int = FOCUSES
    focuses: int = FOCUSES
    worth: bool = True
    wishes: bool = True
    requested: bool = False


_ALL = frozenset(FocusOrigin)
NOTHING = Way("nothing ahead", frozenset(), wishes=False)
GENERAL_ONLY = Way("general focus alone", frozenset({FocusOrigin.GENERAL}), worth=False, wishes=False)
OURS = Way("as the job does")
WAYS = (NOTHING, GENERAL_ONLY, OURS)
CURVE = (
    Way("and what others asked", _ALL - {FocusOrigin.TOPIC}, worth=False),
    Way("and 10 topics of the text", topics=10, focuses=15, worth=False),
    Way("and 50 topics of the text", topics=50, focuses=55, worth=False),
    Way("and every question, once it was asked", worth=False, requested=True, topics=0),
)
"""What more would cost where nothing is counted but hits."""


@dataclass
class Ledger:
    """What came of a replay.

    Attributes:
        reads: By turn ("same" or "later") and by how they were answered.
        left_out: Artifacts that the plan leaves out.
        made: Summaries, by who asked for them.
        hits: Reads of later turns that one answered, by who had asked for it.
        tokens: `read` and `written` by the summarizer; of later turns, `shown` in windows, and `whole`, had
            all been shown whole.
    """

    artifacts: int = 0
    reads: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: int = 0
    made: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)

    def count(self, how: Sequence[str] = HOWS, turn: str | None = None) -> int:
        """Reads that were answered in one of these ways, in one kind of turn or in all."""
        return sum(n for (when, each), n in self.reads.items() if each in how and turn in (None, when))

    def share(self, how: Sequence[str], turn: str | None = None) -> float:
        """The same as a share of all reads of such turns."""
        return self.count(how, turn) / max(self.count(turn=turn), 1)

    def spent(self, price_share: float) -> float | None:
        """All tokens, those of the summarizer at its price, as a share of what whole artifacts would cost.

        None where no later turn read any.
        """
        made = self.tokens["read"] + self.tokens["written"]
        whole = self.tokens["whole"]
        return (price_share * made + self.tokens["shown"]) / whole if whole else None


class Run:
    """One way over many replays; what was summarized once stays, as contents are shared."""

    def __init__(self, way: Way, mined: Mined) -> None:
        """Begin with an empty cache."""
        self.way = way
        self.mined = mined
        self.ledger = Ledger()
        self._ready: dict[str, dict[Focus, str]] = defaultdict(dict)

    def replay(self, replay: Replay) -> None:
        """Go through one session."""
        here: dict[str, Text] = {}
        self._come(here, replay.uploaded, "", replay.half)
        for event in replay.events:
            wanted = ArtifactQuery(standing_question([], event.said))
            if here:
                self._ask(list(here.values()), wanted, event)
            self._come(here, event.came, wanted.query, replay.half)

    def _come(self, here: dict[str, Text], came: Sequence[Text], question: str, half: int) -> None:
        for text in came:
            self.ledger.artifacts += 1
            here.pop(text.artifact_id, None)
            here[text.artifact_id] = text
            for prediction in self._predict(text, question, half):
                self._read(text, normalise(prediction[0]), prediction[1], prediction[2])

    def _predict(self, text: Text, question: str, half: int) -> list[tuple[str, FocusOrigin, float]]:
        way = self.way
        found = predict_focuses(
            question="" if asks_for_all(normalise(question), "", text.index) else question,
            mined=[
                one
                for one in self.mined.get((1 - half, text.tool), ())
                if not asks_for_all(normalise(one[0]), "", text.index)
            ],
            topics=find_topics(text.content, text.index, limit=way.topics),
            limit=way.focuses,
        )
        return [(one.text, one.origin, one.hits) for one in found if one.origin in way.origins]

    def _read(self, text: Text, focus: Focus, origin: FocusOrigin, hits: float) -> None:
        """Have a text summarized, unless that was done, or is not worth it."""
        ready = self._ready[text.artifact_id]
        summary = min(SUMMARY_TOKENS, text.tokens // 3)
        read = min(text.tokens, INPUT_TOKENS)
        cost = ReadingCost(text.tokens, summary, read)
        is_worth = not self.way.worth or _saves(hits, cost)
        if not is_worth or any(focus.key == known.key for known in ready):
            return
        ready[focus] = origin.value
        if text.tokens > INPUT_TOKENS:
            read = extract(text.content, text.index, focus.original, budget_tokens=INPUT_TOKENS).tokens
        self.ledger.made[origin.value] += 1
        self.ledger.tokens["read"] += read + cost.made_with - cost.input_tokens - summary
        self.ledger.tokens["written"] += summary

    def _ask(self, texts: Sequence[Text], wanted: ArtifactQuery, event: Event) -> None:
        known = {text.artifact_id: text for text in texts}
        focuses = self._focuses(texts, wanted)
        answered = {one for one in known if any(focuses[one].key == f.key for f in self._ready[one])}
        indexes = {one: text.index for one, text in known.items()}
        relevance = compare_texts(indexes, wanted.text, latest=texts[-1].artifact_id)
        plan = plan_by_rule(
            [artifact_of(place, text) for place, text in enumerate(texts)],
            wanted,
            budget_tokens=0,
            relevance={} if normalise(wanted.query).is_general else relevance,
            answered=answered,
        )
        missed = []
        for decision in plan.artifacts:
            text = known[decision.artifact_id]
            if decision.strategy is ProcessingStrategy.EXCLUDE:
                self.ledger.left_out += 1
            elif self._answer(text, focuses[text.artifact_id], decision, event) != "exact":
                missed.append((decision, text))
        self._wish(missed, focuses, event)

    def _focuses(self, texts: Sequence[Text], wanted: ArtifactQuery) -> dict[str, Focus]:
        focus = normalise(wanted.query)
        return {text.artifact_id: GENERAL if asks_for_all(focus, "", text.index) else focus for text in texts}

    def _answer(self, text: Text, focus: Focus, decision: ArtifactDecision, event: Event) -> str:
        """Show what the plan shows: the very summary, a near one, an extract; a look-up has no near one."""
        ready = self._ready[text.artifact_id]
        best = nearest(focus, ready)
        how = ("exact" if best[1] == 1 else "near") if best else "none"
        is_look_up = decision.strategy is ProcessingStrategy.RAG_EXTRACT
        if how == "none" or (how == "near" and is_look_up):
            has_words = bool(rank_pieces(text.index, focus.original).scores)
            how = "extract" if has_words else how
        summary = min(SUMMARY_TOKENS, text.tokens // 3)
        most = LOOK_UP_TOKENS if is_look_up else EXTRACT_TOKENS
        shown = summary if how in ("exact", "near") else min(most, text.tokens)
        self.ledger.reads[SAME if event.is_step else LATER, how] += 1
        if not event.is_step:
            self.ledger.tokens["whole"] += text.tokens
            self.ledger.tokens["shown"] += shown
            if best and how in ("exact", "near"):
                self.ledger.hits[ready[best[0]]] += 1
        return how

    def _wish(
        self,
        missed: Sequence[tuple[ArtifactDecision, Text]],
        focuses: Mapping[str, Focus],
        event: Event,
    ) -> None:
        goes_on = event.has_tools or self.way.requested
        wanted = [
            text
            for decision, text in missed
            if event.has_tools or decision.strategy is ProcessingStrategy.SUMMARIZE
        ]
        hits = HITS[FocusOrigin.REQUEST] if goes_on else REPEATED
        for text in wanted[:WISHES] if self.way.wishes and (goes_on or self.way.worth) else ():
            self._read(text, focuses[text.artifact_id], FocusOrigin.REQUEST, hits)


def _saves(hits: float, cost: ReadingCost) -> bool:
    """Whether so many requests save more than a summary takes, if each would show the whole otherwise."""
    return hits * (cost.artifact_tokens - cost.summary_tokens) > PRICE_SHARE * cost.made_with


def run(replays: Sequence[Replay], way: Way, mined: Mined, half: int) -> Ledger:
    """Replay one half."""
    made = Run(way, mined)
    for replay in replays:
        if replay.half == half:
            made.replay(replay)
    return made.ledger


def row_of(data: str, way: Way, half: int, ledger: Ledger) -> dict[str, Any]:
    """One line of the table."""
    hits = ledger.count(("exact", "near"), LATER)
    made = ledger.tokens["read"] + ledger.tokens["written"]
    return {
        "data": data,
        "way": way.name,
        "half": half,
        "artifacts": ledger.artifacts,
        "reads": ledger.count(turn=LATER),
        **{how: ledger.share([how], LATER) for how in HOWS},
        "exact_or_near": ledger.share(("exact", "near"), LATER),
        "same_turn": [ledger.count(turn=SAME), ledger.share(("exact", "near"), SAME)],
        "counts": {" ".join(key): count for key, count in ledger.reads.items()},
        "left_out": ledger.left_out,
        "made": dict(ledger.made),
        "hits": dict(ledger.hits),
        "tokens": dict(ledger.tokens),
        "made_tokens_a_hit": made / hits if hits else None,
        "cost_of_whole": [ledger.spent(1), ledger.spent(PRICE_SHARE)],
    }


def all_sets(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add up the sets, way by way, of the half that checks."""
    found = []
    for way in WAYS:
        ledger = Ledger()
        for row in rows:
            if (row["way"], row["half"]) == (way.name, CHECKING):
                ledger.artifacts += row["artifacts"]
                ledger.left_out += row["left_out"]
                for name in ("made", "hits", "tokens"):
                    getattr(ledger, name).update(row[name])
                ledger.reads.update({tuple(key.split()): count for key, count in row["counts"].items()})
        found.append(row_of("all sets", way, CHECKING, ledger))
    return found


def show(rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """Print a table."""
    heads = ("data", "way", "half", "artifacts", "reads", *HOWS, "exact+near", "same turn apart")
    costs = ("made", "read", "written", "shown", "whole", "all/whole", f"at {PRICE_SHARE}", "a hit")
    table = Table(*heads, *costs, title=title)
    for row in rows:
        tokens = row["tokens"]
        counts = [f"{tokens.get(name, 0):,}" for name in ("read", "written", "shown", "whole")]
        same, hit = row["same_turn"]
        a_hit = row["made_tokens_a_hit"]
        table.add_row(
            *(str(row[name]) for name in ("data", "way", "half", "artifacts", "reads")),
            *(f"{row[how]:.2f}" for how in HOWS),
            f"[bold]{row['exact_or_near']:.3f}[/bold]",
            f"{hit:.2f} of {same}",
            str(sum(row["made"].values())),
            *counts,
            *("" if share is None else f"{share:.2f}" for share in row["cost_of_whole"]),
            f"{a_hit:,.0f}" if a_hit else "",
        )
    Console(width=230).print(table)


def show_hits(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print how many reads a summary answered, by who asked for it, over the tuning half of all sets.

    What is used counts the further steps of the same turn as well.
    """
    table = Table(
        "asked for by", "summaries", "reads answered", "each", "used as", title="Tuning half, later turns"
    )
    made: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for row in rows:
        made.update(row["made"])
        hits.update(row["hits"])
    for origin, count in made.items():
        known = HITS.get(FocusOrigin(origin))
        table.add_row(
            origin,
            str(count),
            str(hits[origin]),
            f"{hits[origin] / count:.3f}",
            str(known) if known else "its share x reads",
        )
    Console(width=230).print(table)


def main() -> None:
    """Print the tables and keep the numbers."""
    parser = ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="compare designs over each n-th session alone")
    nth = parser.parse_args().every
    sets = {
        "livemcp": read_agents("livemcp", "id", least_chars=LEAST_CHARS),
        "tau_airline": read_agents("tau_airline", "task_id", least_chars=LEAST_CHARS_AIRLINE),
        "qmsum": read_meetings(),
    }
    print(f"From {LEAST_CHARS:,} characters on, of the airline from {LEAST_CHARS_AIRLINE:,}; half 1 checks.")
    rows, curve, tuning = [], [], []
    for name, replays in sets.items():
        mined = mine(replays)
        for half in (TUNING, CHECKING):
            rows += [row_of(name, way, half, run(replays, way, mined, half)) for way in WAYS]
        curve += [row_of(name, way, CHECKING, run(replays, way, mined, CHECKING)) for way in CURVE]
        every = Way("all", topics=10, focuses=15, worth=False)
        tuning.append(row_of(name, every, TUNING, run(replays, every, mined, TUNING)))
    together = all_sets(rows)
    show([*rows, *together], "What was read ahead, by what reads of later turns got of it")
    (ours,) = (row for row in together if row["way"] == OURS.name)
    print(f"Reads of later turns that a summary answered: {ours['exact_or_near']:.3f} of {ours['reads']}")
    show(curve, "What more costs, and brings")
    show_hits(tuning)
    agents = sets | {"pi_sessions": read_coding_session()}
    designs = focus_designs.compare(focus_reads.read_sets(agents, every=nth))
    focus_designs.show(designs)
    save("focus_hits", {"rows": rows, "curve": curve, "tuning": tuning, "designs": designs})


if __name__ == "__main__":
    main()
