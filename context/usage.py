"""What providers report of a turn, and when two reports of a session may be compared."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby

from context.tokens import MESSAGE_OVERHEAD, Count, estimate, reported_input_tokens, total
from context.types import JsonObject, Role

LEAST_RATIO, MOST_RATIO = 1 / 1.8, 1.8
"""Reported tokens for one estimated; beyond these another context was measured, or several calls together."""

MOST_UNSURE_RATIO = 1.4
"""The same where the report may be two calls together: nearer to twice the estimate than to once."""

LEAST_GROWTH_TOKENS = 200
"""What grew by less says little: a reminder or a blank more or less would count for too much."""

SLACK_TOKENS, SLACK_SHARE = 64, 0.02
"""How far one request may carry more or less beside its history than the request before it."""

_OUTPUT_FACTOR, _OUTPUT_SLACK_TOKENS = 1.5, 16
"""How far the reported output may be from our count of what was said."""

_OUTPUT_FIELDS = ("completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount")
_DETAIL_FIELDS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAIL_FIELDS = ("completion_tokens_details", "output_tokens_details")
_CACHE_FIELDS = (
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cacheWriteInputTokens",
)
_VERSION = re.compile(r"(?:[-@]\d{4}-?\d\d-?\d\d|-latest|-v\d+(?::\d+)?|:[a-z]+)$")


@dataclass(frozen=True)
class Report:
    """What a provider counted.

    Attributes:
        input_tokens: Everything that was sent, what came from a cache included, > 0.
        output_tokens: What was answered, reasoning included; None where nothing is said of it.
        reasoning_tokens: The part of it that was reasoning, >= 0.
    """

    input_tokens: int
    output_tokens: int | None = None
    reasoning_tokens: int = 0


@dataclass(frozen=True)
class Said:
    """The size of one stored message.

    Attributes:
        role: Who it comes from.
        count: Its stored counts.
        has_media: Whether it holds images, recordings or documents, which are billed by rules of their own.
    """

    role: Role
    count: Count
    has_media: bool = False


@dataclass(frozen=True)
class ReportedTurn:
    """A stored turn and what was reported for it.

    Attributes:
        generation: The session's, when the turn was stored.
        messages: All its messages, in order.
        model: Who answered.
        usage: The provider's report as it came.
        context_window: The model's window in tokens, where the platform named it.
        swapped: Whether a summary came into force since the turn before: its context is either of the two.
    """

    generation: int
    messages: Sequence[Said]
    model: str | None = None
    usage: JsonObject | None = None
    context_window: int | None = None
    swapped: bool = False


@dataclass(frozen=True)
class Growth:
    """By how much a context grew between two requests.

    Attributes:
        estimated: In our uncalibrated estimate, tokens, > 0.
        reported: In the provider's count, tokens, > 0.
        reports: How many reports were compared with their predecessors, >= 1.
    """

    estimated: int
    reported: int
    reports: int = 1


@lru_cache(maxsize=1_024)
def model_key(model: str) -> str:
    """Name a model the same whoever hosts it and whichever dated release of it answers.

    Args:
        model: The model's name as a request or a response gives it.

    Returns:
        Its name without host, date and tag.
    """
    name = model.lower().rpartition("/")[2]
    while (shorter := _VERSION.sub("", name)) not in ("", name):
        name = shorter
    return name


def read_report(usage: JsonObject) -> Report | None:
    """Read a usage report of any provider.

    Args:
        usage: The report as it came; of any shape.

    Returns:
        What it says; None where it says nothing usable, contradicts itself, or adds several calls up because
        the provider's own tools ran in between.
    """
    tokens = reported_input_tokens(usage)
    if not tokens or tokens < 0 or any(_negative(usage.get(name)) for name in _CACHE_FIELDS):
        return None
    if _ran_server_tools(usage) or _count(usage, _DETAIL_FIELDS, "cached_tokens") > tokens:
        return None
    output = next((value for name in _OUTPUT_FIELDS if (value := _whole(usage.get(name))) is not None), None)
    everything = _whole(usage.get("total_tokens"))
    if _negative(output) or (everything is not None and everything < tokens):
        return None
    reasoning = _count(usage, _OUTPUT_DETAIL_FIELDS, "reasoning_tokens")
    return Report(tokens, output, max(0, min(reasoning, output or 0)))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _negative(value: object) -> bool:
    return (_whole(value) or 0) < 0


def _count(usage: JsonObject, fields: Sequence[str], name: str) -> int:
    details = (usage.get(field) for field in fields)
    return max((_whole(each.get(name)) or 0 for each in details if isinstance(each, dict)), default=0)


def _ran_server_tools(usage: JsonObject) -> bool:
    """Whether the provider called its own tools: it bills the context again after each of them."""
    used = usage.get("server_tool_use")
    return isinstance(used, dict) and any(_whole(value) for value in used.values())


def measure_growth(turns: Sequence[ReportedTurn]) -> Growth | None:
    """Learn from the newest turn's report and those before it that measured the same context version.

    What a request carries beside its history is unknown and cancels out in the difference of two reports. So
    they must belong to the same model and generation, no summary may have come into force between them, and
    from each to the next the context must have grown about as much as the messages say: otherwise something
    was left out, or one of them measured something else. What one step says too much or too little, such as
    an answer that was broken off and not sent again, the weighted median of the steps ignores.

    Args:
        turns: Consecutive turns of a session, oldest first; the newest is the one to learn from.

    Returns:
        The growth; None where there is nothing to compare with, or nothing that could be believed.
    """
    steps = list(_steps(turns))
    estimated = sum(step.estimated for step in steps)
    if estimated < LEAST_GROWTH_TOKENS:
        return None
    ratio, most = _typical_ratio(steps), min(step.most_ratio for step in steps)
    if not LEAST_RATIO <= ratio <= most:
        return None
    return Growth(estimated, round(estimated * ratio), len(steps))


@dataclass(frozen=True)
class _Step:
    """From one report to the next: the growth, and the highest ratio of the two that can be believed."""

    estimated: int
    reported: int
    most_ratio: float

    def is_believable(self, slack: float) -> bool:
        return (
            LEAST_RATIO * self.estimated - slack <= self.reported <= self.most_ratio * self.estimated + slack
        )


def _steps(turns: Sequence[ReportedTurn]) -> Iterator[_Step]:
    """Go back from report to report, as long as they measured the same context version."""
    if not turns or (later := _read_point(turns[-1])) is None or turns[-1].swapped:
        return
    newest, grown = turns[-1], later.before
    for turn in reversed(turns[:-1]):
        if turn.swapped or _has_media(turn) or not _same_context(turn, newest):
            return
        point = _read_point(turn)
        if point is None:
            grown += _sum(turn.messages)
            continue
        step = _Step(
            estimate(grown + point.rest, later.model),
            later.input_tokens - point.input_tokens,
            min(later.most_ratio, point.most_ratio),
        )
        if not step.is_believable(SLACK_TOKENS + SLACK_SHARE * later.input_tokens):
            return
        yield step
        later, grown = point, point.before


def _typical_ratio(steps: Sequence[_Step]) -> float:
    """Find the ratio below and above which as many estimated tokens lie."""
    ranked = sorted((step.reported / step.estimated, step.estimated) for step in steps if step.estimated > 0)
    half = sum(weight for _, weight in ranked) / 2
    reached = accumulate(weight for _, weight in ranked)
    return next(ratio for (ratio, _), weight in zip(ranked, reached, strict=True) if weight >= half)


@dataclass(frozen=True)
class _Point:
    """A report, the messages of its turn that it has counted and has not, and how far it can be believed."""

    model: str
    input_tokens: int
    most_ratio: float
    before: Count
    rest: Count


def _read_point(turn: ReportedTurn) -> _Point | None:
    """Find what a turn's report measured: the request that its last answer answers."""
    report = read_report(turn.usage) if turn.usage else None
    if report is None or turn.model is None or _has_media(turn):
        return None
    if turn.context_window and report.input_tokens > turn.context_window:
        return None
    answers = list(_answers(turn.messages))
    most_ratio = _most_ratio(report, [estimate(_sum(turn.messages[at]), turn.model) for at in answers])
    if not most_ratio:
        return None
    start = answers[-1].start
    before = _sum(turn.messages[:start])
    if report.input_tokens < LEAST_RATIO * estimate(before, turn.model):
        return None
    return _Point(turn.model, report.input_tokens, most_ratio, before, _sum(turn.messages[start:]))


def _answers(messages: Sequence[Said]) -> Iterator[slice]:
    """Find what each call of the model brought: neighbouring messages of the assistant that say something."""
    for by_model, group in groupby(range(len(messages)), lambda at: messages[at].role is Role.ASSISTANT):
        places = list(group)
        spoken = _sum([messages[at] for at in places])
        if by_model and (spoken.calls or spoken.tokens > MESSAGE_OVERHEAD * len(places)):
            yield slice(places[0], places[-1] + 1)


def _most_ratio(report: Report, answers: Sequence[int]) -> float:
    """Say how far a report can be believed to be that of the last call alone.

    Some platforms report a turn's last call, others all its calls together. One call is both; of several, the
    output tells whose it is, unless the last answer is nearly all that was said.

    Args:
        report: What was reported for the turn.
        answers: What each call brought, in estimated tokens.

    Returns:
        The highest ratio of reported to estimated growth; 0 where it is no report of the last call.
    """
    if len(answers) <= 1:
        return MOST_RATIO if answers else 0
    if report.output_tokens is None:
        return MOST_UNSURE_RATIO
    least = (report.output_tokens - report.reasoning_tokens) / _OUTPUT_FACTOR - _OUTPUT_SLACK_TOKENS
    most = report.output_tokens * _OUTPUT_FACTOR + _OUTPUT_SLACK_TOKENS
    if not least <= answers[-1] <= most:
        return 0
    return MOST_RATIO if sum(answers) > most else MOST_UNSURE_RATIO


def _same_context(turn: ReportedTurn, newest: ReportedTurn) -> bool:
    models = (turn.model or "", newest.model or "")
    return turn.generation == newest.generation and model_key(models[0]) == model_key(models[1])


def _has_media(turn: ReportedTurn) -> bool:
    return any(message.has_media for message in turn.messages)


def _sum(messages: Sequence[Said]) -> Count:
    return total(message.count for message in messages)
