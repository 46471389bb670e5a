"""Compare the built-in model's summaries with simple extracts of the same length on the same conversations.

Three questions: how many content words of the summaries that people wrote are found, how many answers to
questions about told facts, and how many of the facts that the next turn goes by.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from benchmarks.recall import plain
from context.conversation.transcript import LineKind, RenderedLine, participants, render_transcript
from context.conversation.turns import split_turns
from context.shadow.facts import compare_facts, holds, needs_of, texts_of
from context.summary.extractive.summarize import summarize
from context.summary.prompt import SummaryInput
from context.text.cut import split_sentences
from context.text.language import main_language
from context.text.terms import content_terms, index_terms
from context.tokens.text import count_text
from context.types import JsonObject, Message, Role
from tests.data import DATA, read_jsonl

BUDGETS = {"qmsum": (500, 1_000, 2_000), "bfcl_memory": (1_000, 2_000, 3_500), "tau_airline": (300, 600)}
LEAST_RAW_TOKENS = 1_500
MOST_SHARE = 0.75
_WORDS = 100_000
_DAMPING, _THRESHOLD, _ROUNDS = 0.85, 0.1, 30
_LEAST_WORDS = 4


@dataclass(frozen=True)
class Sentence:
    """A sentence of a conversation, in order, with its tokens and its terms."""

    text: str
    tokens: int
    terms: tuple[str, ...]


def sentences_of(lines: Sequence[RenderedLine]) -> list[Sentence]:
    """Split a transcript into sentences; a call and its outcome count as such, without what labels cost."""
    texts = (
        text
        for line in lines
        for text in (split_sentences(line.text) if line.kind is LineKind.TEXT else [line.text])
    )
    return [
        Sentence(text, count_text(text) + 1, tuple(content_terms(text, limit=_WORDS)))
        for text in texts
        if len(text.split()) >= _LEAST_WORDS or len(text) >= len("a longer sentence")
    ]


def lead(sentences: Sequence[Sentence]) -> list[int]:
    """The first ones."""
    return list(range(len(sentences)))


def every_nth(sentences: Sequence[Sentence], budget: int) -> list[int]:
    """Evenly spread ones."""
    step = max(math.ceil(sum(one.tokens for one in sentences) / budget), 1)
    return [place for start in range(step) for place in range(start, len(sentences), step)]


def longest(sentences: Sequence[Sentence]) -> list[int]:
    """The longest ones."""
    return sorted(range(len(sentences)), key=lambda place: (-sentences[place].tokens, place))


def lexrank(sentences: Sequence[Sentence]) -> list[int]:
    """Those that are most like many others: PageRank over the likeness of their words."""
    seen = Counter(term for one in sentences for term in set(one.terms))
    rarity = {term: math.log(len(sentences) / number) + 1e-9 for term, number in seen.items()}
    by_term: dict[str, list[tuple[int, float]]] = {}
    for place, one in enumerate(sentences):
        size = math.sqrt(sum(rarity[term] ** 2 for term in set(one.terms))) or 1.0
        for term in set(one.terms):
            by_term.setdefault(term, []).append((place, rarity[term] / size))
    near = [_neighbours(one, by_term, rarity) for one in sentences]
    ranks = [1.0 / max(len(sentences), 1)] * len(sentences)
    for _ in range(_ROUNDS):
        fresh = [(1 - _DAMPING) / len(sentences)] * len(sentences)
        for place, others in enumerate(near):
            for other in others:
                fresh[other] += _DAMPING * ranks[place] / len(others)
        ranks = fresh
    return sorted(range(len(sentences)), key=lambda place: (-ranks[place], place))


def _neighbours(
    one: Sentence, by_term: Mapping[str, list[tuple[int, float]]], rarity: Mapping[str, float]
) -> list[int]:
    size = math.sqrt(sum(rarity[term] ** 2 for term in set(one.terms))) or 1.0
    likeness: dict[int, float] = {}
    for term in set(one.terms):
        for place, weight in by_term[term]:
            likeness[place] = likeness.get(place, 0.0) + weight * rarity[term] / size
    return [place for place, value in likeness.items() if value >= _THRESHOLD]


def take(sentences: Sequence[Sentence], order: Sequence[int], budget: int) -> str:
    """Write what fits of an order, in the order of the conversation; a long sentence is passed over."""
    taken: list[int] = []
    for place in order:
        if sentences[place].tokens <= budget:
            budget -= sentences[place].tokens
            taken.append(place)
    return "\n".join(sentences[place].text for place in sorted(taken))


def ours(lines: Sequence[RenderedLine], budget: int) -> str:
    """The built-in model's summary."""
    language = main_language(line.text for line in lines if line.role is Role.USER)
    return summarize(SummaryInput(tuple(lines), budget, language, None, participants(lines)))


def extracts(lines: Sequence[RenderedLine], budgets: Sequence[int]) -> Iterator[tuple[int, str, str]]:
    """Write every method's text for every budget; none may fill more than a summary may of what it covers."""
    sentences = sentences_of(lines)
    ranked = lexrank(sentences)
    most = int(MOST_SHARE * sum(count_text(line.text) for line in lines))
    for budget in budgets:
        room = min(budget, most)
        yield budget, "ours", ours(lines, room)
        yield budget, "lead", take(sentences, lead(sentences), room)
        yield budget, "every n-th", take(sentences, every_nth(sentences, room), room)
        yield budget, "longest", take(sentences, longest(sentences), room)
        yield budget, "LexRank", take(sentences, ranked, room)


Grade = Callable[[str], float]


def meetings() -> Iterator[tuple[Sequence[RenderedLine], Grade]]:
    """Meetings: the share of the content words of people's own summary that is found."""
    for meeting in read_jsonl(DATA / "qmsum" / "meetings.jsonl.gz"):
        wanted = {term for one in meeting["general"] for term in content_terms(one["answer"], limit=_WORDS)}
        yield group_lines(meeting["turns"]), partial(_found, wanted=wanted)


def _found(text: str, wanted: set[str]) -> float:
    return len(wanted & set(index_terms(text))) / max(len(wanted), 1)


def group_lines(turns: Sequence[tuple[str | None, str]]) -> tuple[RenderedLine, ...]:
    """Render a talk of many people, as the product would be sent it."""
    messages = [
        Message(seq, Role.USER, 0, json.dumps({"role": "user", "content": words}), speaker=speaker)
        for seq, (speaker, words) in enumerate(turns, 1)
    ]
    return render_transcript(messages)


def memories() -> Iterator[tuple[Sequence[RenderedLine], Grade]]:
    """Facts told earlier: the share of the questions an accepted answer of which is found."""
    for scenario in read_jsonl(DATA / "bfcl_memory" / "scenarios.jsonl"):
        told = [(None, message["content"]) for part in scenario["sessions"] for message in part["messages"]]
        asked = [[plain(answer) for answer in one["answers"]] for one in scenario["qa"]]
        yield group_lines(told), partial(_answered, asked=asked)


def _answered(text: str, asked: Sequence[Sequence[str]]) -> float:
    said = plain(text)
    return fmean(any(answer in said for answer in answers) for answers in asked)


def agents() -> Iterator[tuple[Sequence[RenderedLine], Grade]]:
    """Calls of tools: the share of what the next turn goes by, of what history held."""
    for record in read_jsonl(DATA / "tau_airline" / "trajectories.jsonl"):
        messages = [
            to_message(seq, body)
            for seq, body in enumerate((one for one in record["messages"] if one["role"] != "system"), 1)
        ]
        turns = split_turns(messages)
        for turn in turns[2:]:
            covered, following = messages[: turn.start], messages[turn.start : turn.stop]
            needed = needs_of(following, new=1).facts
            held = needed & compare_facts(texts_of(covered), [""]).lacking
            if held and sum(message.tokens for message in covered) >= LEAST_RAW_TOKENS:
                yield render_transcript(covered), partial(_kept, held=held)


def _kept(text: str, held: frozenset[str]) -> float:
    return fmean(holds([text], sorted(held)))


def to_message(seq: int, body: JsonObject) -> Message:
    """Wrap an OpenAI message, counted."""
    raw = json.dumps(body, ensure_ascii=False)
    made = tuple(call["id"] for call in body.get("tool_calls") or [])
    answered = (body["tool_call_id"],) if body.get("tool_call_id") else ()
    return Message(seq, Role(body["role"]), count_text(raw), raw, made, answered)


SOURCES = {"qmsum": meetings, "bfcl_memory": memories, "tau_airline": agents}


def compare(name: str) -> dict[str, dict[int, float]]:
    """Grade every method at every budget, as the mean over the conversations of a set."""
    grades: dict[str, dict[int, list[float]]] = {}
    for lines, grade in SOURCES[name]():
        for budget, method, text in extracts(lines, BUDGETS[name]):
            grades.setdefault(method, {}).setdefault(budget, []).append(grade(text))
    return {
        method: {budget: round(fmean(found), 4) for budget, found in by_budget.items()}
        for method, by_budget in grades.items()
    }


def print_comparison(name: str, rows: Mapping[str, Mapping[int, float]]) -> None:
    """Print a set's table."""
    print(f"{name}: at the same tokens {', '.join(map(str, BUDGETS[name]))}")
    for method, found in rows.items():
        print(f"  {method:<12} {' '.join(f'{share:.3f}' for share in found.values())}")
