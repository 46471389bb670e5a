"""Reads of artifacts in later turns, with what a person marked, answered or did about them as gold."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from statistics import fmean

from benchmarks.extracts import Document, by_span
from benchmarks.focus_data import DOCUMENT, Replay, Text, artifact_of, half_of
from benchmarks.rouge import words_of
from context.artifact_plans.by_rule import ArtifactQuery, compare_texts, plan_by_rule
from context.artifact_plans.question import asks_for_all, standing_question
from context.artifacts.content import kind_of
from context.artifacts.types import ProcessingStrategy
from context.extract import extract
from context.focus import Focus, normalise
from context.text.terms import content_terms, index_terms
from context.tokens.text import count_text
from tests.data import DATA, read_jsonl

EXTRACT_TOKENS, LOOK_UP_TOKENS = 2_000, 1_000
ALL_TERMS = 1_000
FEW_SESSIONS = 10
MOST_READS = 4
"""Most artifacts read in a turn, the plan's first."""

Span = tuple[int, int]
GENERAL = normalise("")


@dataclass(frozen=True)
class Shown:
    """A text as shown for a read.

    Attributes:
        text: The text.
        spans: The stretches of the artifact that stand in the text word for word.
        tokens: Size of the text.
        sources: The stretches that the text was made of.
    """

    text: str = ""
    spans: tuple[Span, ...] = ()
    tokens: int = 0
    sources: tuple[Span, ...] = ()


Grade = Callable[[Shown], float]


@dataclass(frozen=True)
class Read:
    """A read of an artifact in a later turn.

    Attributes:
        data: The data set.
        half: The half of the session's group.
        session: The session.
        text: The artifact.
        question: The question of the turn.
        most_tokens: Size of the extract shown today.
        came_for: The question of the turn in which the artifact came in; empty for an uploaded document.
        grade: Share of the gold that a shown text has; None without gold.
    """

    data: str
    half: int
    session: str
    text: Text
    question: str
    most_tokens: int = EXTRACT_TOKENS
    came_for: str = ""
    grade: Grade | None = field(default=None, compare=False)

    @cached_property
    def focus(self) -> Focus:
        """The question as a focus; a question that names the artifact alone is the general one."""
        focus = normalise(self.question)
        return GENERAL if asks_for_all(focus, "", self.text.index) else focus

    def gold_of(self, shown: Shown) -> float:
        """Grade a shown text; 0 without gold."""
        return self.grade(shown) if self.grade else 0.0


def read_sets(agents_of: Mapping[str, Sequence[Replay]], *, every: int = 1) -> dict[str, list[Read]]:
    """Read every data set with long texts.

    Args:
        agents_of: Sessions of agents, by data set; a set without later turns is left out.
        every: Read each n-th session of a set alone, to save time; sets of few sessions stay whole.
    """
    documents = {"qmsum": meetings, "squality": stories, "bfcl_memory": memories}
    sets = {name: list(source()) for name, source in documents.items()}
    sets |= {name: list(agents(name, each)) for name, each in agents_of.items() if name not in documents}
    return {name: _sample(reads, every) for name, reads in sets.items() if reads}


def _sample(reads: list[Read], every: int) -> list[Read]:
    sessions = list(dict.fromkeys(read.session for read in reads))
    kept = set(sessions if len(sessions) < FEW_SESSIONS else sessions[::every])
    return [read for read in reads if read.session in kept]


def cut_out(text: Text, question: str, budget: int) -> Shown:
    """Make an extract of an artifact."""
    made = extract(text.content, text.index, question, budget_tokens=max(budget, 1))
    spans = tuple((place.start, place.end) for place in made.places)
    return Shown(made.text, spans, made.tokens, spans)


def _document(name: str, units: Sequence[str], join: str) -> tuple[Document, Text]:
    document = Document.of(units, join)
    content = document.text
    return document, Text(name, DOCUMENT, kind_of(content), content, count_text(content))


def meetings() -> Iterator[Read]:
    """Questions about meetings: the share of the marked turns that is shown; general ones have no gold."""
    for row in read_jsonl(DATA / "qmsum" / "meetings.jsonl.gz"):
        document, text = _document(row["id"], [f"{who}: {words}" for who, words in row["turns"]], "\n")
        for asked in (*row["general"], *row["specific"]):
            gold = {turn for first, last in asked.get("spans", ()) for turn in range(first, last + 1)}
            grade = _by_spans(by_span(document, sorted(gold))) if gold else None
            yield Read("qmsum", half_of(row["id"]), row["id"], text, asked["query"], grade=grade)


def stories() -> Iterator[Read]:
    """Questions about stories: the share of the words of people's answers that is shown, mean of four."""
    for row in read_jsonl(DATA / "squality" / "stories.jsonl.gz"):
        _, text = _document(str(row["id"]), row["document"].split("\n\n"), "\n\n")
        for asked in row["questions"]:
            grade = _by_words([response["text"] for response in asked["responses"]])
            yield Read(
                "squality", half_of(str(row["id"])), str(row["id"]), text, asked["question"], grade=grade
            )


def memories() -> Iterator[Read]:
    """Questions about earlier talks, told as one transcript: whether an answer is shown."""
    for row in read_jsonl(DATA / "bfcl_memory" / "scenarios.jsonl"):
        told = [f"user: {one['content']}" for part in row["sessions"] for one in part["messages"]]
        _, text = _document(row["scenario"], told, "\n")
        for asked in row["qa"]:
            grade = _by_answers([_plain(answer) for answer in asked["answers"]])
            yield Read(
                "bfcl_memory", half_of(row["scenario"]), row["scenario"], text, asked["question"], grade=grade
            )


def agents(data: str, replays: Sequence[Replay]) -> Iterator[Read]:
    """Later turns of agents: the share of what their calls then named, of all that the artifact has."""
    for replay in replays:
        here: dict[Text, str] = {}
        question = ""
        for event in replay.events:
            if not event.is_step:
                question = ArtifactQuery(standing_question([], event.said)).query
                yield from _agent_reads(data, replay, here, question, event.needs)
            here |= {text: here.get(text, question) for text in event.came}


def _agent_reads(
    data: str, replay: Replay, came_for: Mapping[Text, str], question: str, needs: Sequence[str]
) -> Iterator[Read]:
    for text, strategy in islice(planned(list(came_for), question), MOST_READS):
        wanted = [_plain(need) for need in needs if need in text.content and need not in question]
        is_look_up = strategy is ProcessingStrategy.RAG_EXTRACT
        yield Read(
            data,
            replay.half,
            replay.replay_id,
            text,
            question,
            min(LOOK_UP_TOKENS if is_look_up else EXTRACT_TOKENS, text.tokens),
            came_for[text],
            _by_share(wanted) if wanted else None,
        )


def planned(texts: Sequence[Text], question: str) -> Iterator[tuple[Text, ProcessingStrategy]]:
    """List the artifacts that the plan by rule shows where none fits whole."""
    if not texts:
        return
    wanted, known = ArtifactQuery(question), {text.artifact_id: text for text in texts}
    indexes = {one: text.index for one, text in known.items()}
    relevance = compare_texts(indexes, wanted.text, latest=texts[-1].artifact_id)
    plan = plan_by_rule(
        [artifact_of(place, text) for place, text in enumerate(texts)],
        wanted,
        budget_tokens=0,
        relevance={} if normalise(wanted.query).is_general else relevance,
    )
    for decision in plan.artifacts:
        if decision.strategy is not ProcessingStrategy.EXCLUDE:
            yield known[decision.artifact_id], decision.strategy


def _by_spans(grade: Callable[[Sequence[Span]], list[float]]) -> Grade:
    return lambda shown: grade(shown.spans)[0]


def _by_words(answers: Sequence[str]) -> Grade:
    wanted = [frozenset(content_terms(answer, limit=ALL_TERMS)) for answer in answers]

    def grade(shown: Shown) -> float:
        said = frozenset(index_terms(shown.text))
        return fmean(len(words & said) / max(len(words), 1) for words in wanted)

    return grade


def _by_answers(answers: Sequence[str]) -> Grade:
    return lambda shown: float(any(answer in _plain(shown.text) for answer in answers))


def _by_share(needs: Sequence[str]) -> Grade:
    return lambda shown: sum(need in _plain(shown.text) for need in needs) / len(needs)


def _plain(text: str) -> str:
    return f" {' '.join(words_of(text))} "
