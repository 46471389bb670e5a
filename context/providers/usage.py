"""Usage reports of providers for turns, and the conditions for comparing two reports of a session."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby

from context.tokens import MESSAGE_OVERHEAD, Count, estimate, reported_input_tokens, total
from context.types import JsonObject, Role

LEAST_RATIO, MOST_RATIO = 1 / 1.8, 1.8
"""Believable ratios of reported to estimated tokens; others measured another context or several calls."""

MOST_UNSURE_RATIO = 1.4
"""Largest believable ratio if a report may add up two calls: nearer to twice the estimate than to once."""

LEAST_GROWTH_TOKENS = 200
"""Least growth that counts, in tokens; in a smaller growth, a reminder or a blank would weigh too much."""

SLACK_TOKENS, SLACK_SHARE = 64, 0.02
"""Allowed change of the content beside history from one request to the next."""

_OUTPUT_FACTOR, _OUTPUT_SLACK_TOKENS = 1.5, 16
"""Allowed distance of the reported output from the count of the stored answer."""

_OUTPUT_FIELDS = ("completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount")
_DETAIL_FIELDS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAIL_FIELDS = ("completion_tokens_details", "output_tokens_details")
_CACHE_FIELDS = (
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cacheWriteInputTokens",
)
_READ_FIELDS = ("cache_read_input_tokens", "cacheReadInputTokens", "prompt_cache_hit_tokens")
_NATIVE_INPUT, _NATIVE_CACHED = "promptTokenCount", "cachedContentTokenCount"
_VERSION = re.compile(r"(?:[-@]\d{4}-?\d\d-?\d\d|-latest|-v\d+(?::\d+)?|:[a-z]+)$")


@dataclass(frozen=True)
class Report:
    """A provider's token counts.

    Attributes:
        input_tokens: Everything sent, cached tokens included, > 0.
        output_tokens: The answer, reasoning included; None if not reported.
        reasoning_tokens: The reasoning within the output, >= 0.
    """

    input_tokens: int
    output_tokens: int | None = None
    reasoning_tokens: int = 0


@dataclass(frozen=True)
class MessageSize:
    """Size of one stored message.

    Attributes:
        role: The origin of the message.
        count: The stored counts.
        has_media: True for images, recordings or documents, billed by rules of their own.
    """

    role: Role
    count: Count
    has_media: bool = False


@dataclass(frozen=True)
class ReportedTurn:
    """A stored turn with its usage report.

    Attributes:
        generation: The session's generation when the turn was stored.
        messages: All messages, in order.
        model: The answering model.
        usage: The provider's report as received.
        context_window: The model's window in tokens, if named by the platform.
        swapped: True if a summary came into force since the turn before: the context is either of the two.
    """

    generation: int
    messages: Sequence[MessageSize]
    model: str | None = None
    usage: JsonObject | None = None
    context_window: int | None = None
    swapped: bool = False


@dataclass(frozen=True)
class Growth:
    """Growth of a context between two requests.

    Attributes:
        estimated: In the uncalibrated estimate, tokens, > 0.
        reported: In the provider's count, tokens, > 0.
        reports: The number of reports compared with their predecessors, >= 1.
    """

    estimated: int
    reported: int
    reports: int = 1


@lru_cache(maxsize=1_024)
def model_key(model: str) -> str:
    """Name a model independently of its host and dated release.

    Args:
        model: The model's name in a request or a response.

    Returns:
        The name without host, date and tag.
    """
    name = model.lower().rpartition("/")[2]
    while (shorter := _VERSION.sub("", name)) not in ("", name):
        name = shorter
    return name


def read_report(usage: JsonObject) -> Report | None:
    """Read a usage report of any provider.

    Args:
        usage: The report as received; of any shape.

    Returns:
        The counts; None for a report without usable counts, with contradictions, of a context that the
        provider edited, or with several calls added up because the provider's own tools ran in between.
    """
    tokens = reported_input_tokens(usage)
    if not tokens or tokens < 0 or any(_negative(usage.get(name)) for name in _CACHE_FIELDS):
        return None
    if (
        _ran_server_tools(usage)
        or edits_context(usage)
        or _count(usage, _DETAIL_FIELDS, "cached_tokens") > tokens
    ):
        return None
    output = next((value for name in _OUTPUT_FIELDS if (value := _whole(usage.get(name))) is not None), None)
    everything = _whole(usage.get("total_tokens"))
    if _negative(output) or (everything is not None and everything < tokens):
        return None
    reasoning = _count(usage, _OUTPUT_DETAIL_FIELDS, "reasoning_tokens")
    return Report(tokens, output, max(0, min(reasoning, output or 0)))


def edits_context(usage: JsonObject) -> bool:
    """Tell whether the provider compacted or cleared a part of the request, so less was read than sent."""
    management, calls = usage.get("context_management"), usage.get("iterations")
    edits = management.get("applied_edits") if isinstance(management, dict) else None
    kinds = [call.get("type") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return bool(edits) or "compaction" in kinds


def cached_input_tokens(usage: JsonObject) -> int | None:
    """Read the input tokens that the provider found in its cache.

    OpenAI, and Google in OpenAI's form, report the tokens inside the details of the input; Anthropic, Bedrock
    and DeepSeek in a field of the report. Google's own form leaves the field out for nothing found.

    Args:
        usage: The report as received; of any shape.

    Returns:
        Tokens, >= 0; None for a report that says nothing of a cache.
    """
    details = [each for field in _DETAIL_FIELDS if isinstance(each := usage.get(field), dict)]
    said = [usage.get(name) for name in (*_READ_FIELDS, _NATIVE_CACHED)]
    said += [each.get("cached_tokens") for each in details]
    found = [value for each in said if (value := _whole(each)) is not None and value >= 0]
    if not found and _whole(usage.get(_NATIVE_INPUT)) is not None:
        return 0
    return max(found, default=None)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _negative(value: object) -> bool:
    return (_whole(value) or 0) < 0


def _count(usage: JsonObject, fields: Sequence[str], name: str) -> int:
    details = (usage.get(field) for field in fields)
    return max((_whole(each.get(name)) or 0 for each in details if isinstance(each, dict)), default=0)


def _ran_server_tools(usage: JsonObject) -> bool:
    """Say whether the provider called its own tools, with the context billed again after each call."""
    used = usage.get("server_tool_use")
    return isinstance(used, dict) and any(_whole(value) for value in used.values())


def measure_growth(turns: Sequence[ReportedTurn]) -> Growth | None:
    """Learn from the newest turn's report and earlier reports on the same context version.

    The content beside history is unknown and cancels out in the difference of two reports. So the reports
    must belong to the same model and generation, without a new summary between them, and from each report to
    the next the context must have grown about as much as the messages say. Otherwise something was left out,
    or a report measured something else. Errors of single steps, such as an interrupted answer never sent
    again, are ignored by the weighted median of the steps.

    Args:
        turns: Consecutive turns of a session, oldest first; the newest is the turn to learn from.

    Returns:
        The growth; None without a believable report to compare with.
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
class _UsageStep:
    """Step from one report to the next: the growth, and the highest believable ratio of the two."""

    estimated: int
    reported: int
    most_ratio: float

    def is_believable(self, slack: float) -> bool:
        return (
            LEAST_RATIO * self.estimated - slack <= self.reported <= self.most_ratio * self.estimated + slack
        )


def _steps(turns: Sequence[ReportedTurn]) -> Iterator[_UsageStep]:
    """Yield the steps from report to report backwards, within the same context version."""
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
        step = _UsageStep(
            estimate(grown + point.rest, later.model),
            later.input_tokens - point.input_tokens,
            min(later.most_ratio, point.most_ratio),
        )
        if not step.is_believable(SLACK_TOKENS + SLACK_SHARE * later.input_tokens):
            return
        yield step
        later, grown = point, point.before


def _typical_ratio(steps: Sequence[_UsageStep]) -> float:
    """Return the median ratio, weighted by estimated tokens."""
    ranked = sorted((step.reported / step.estimated, step.estimated) for step in steps if step.estimated > 0)
    half = sum(weight for _, weight in ranked) / 2
    reached = accumulate(weight for _, weight in ranked)
    return next(ratio for (ratio, _), weight in zip(ranked, reached, strict=True) if weight >= half)


@dataclass(frozen=True)
class _Point:
    """A report, the turn's messages counted and not counted by it, and the highest believable ratio."""

    model: str
    input_tokens: int
    most_ratio: float
    before: Count
    rest: Count


def _read_point(turn: ReportedTurn) -> _Point | None:
    """Find the request measured by a turn's report: the request of the last answer."""
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


def _answers(messages: Sequence[MessageSize]) -> Iterator[slice]:
    """Yield the messages of each model call: neighbouring assistant messages with content."""
    for by_model, group in groupby(range(len(messages)), lambda at: messages[at].role is Role.ASSISTANT):
        places = list(group)
        spoken = _sum([messages[at] for at in places])
        if by_model and (spoken.calls or spoken.tokens > MESSAGE_OVERHEAD * len(places)):
            yield slice(places[0], places[-1] + 1)


def _most_ratio(report: Report, answers: Sequence[int]) -> float:
    """Return the highest ratio at which a report can be believed to cover only the last call.

    Some platforms report a turn's last call, others all its calls together. With one call both agree. With
    several, the output tells them apart, unless the last answer is nearly the whole output.

    Args:
        report: The report for the turn.
        answers: The output of each call, in estimated tokens.

    Returns:
        The highest ratio of reported to estimated growth; 0 for a report of several calls.
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


def _sum(messages: Sequence[MessageSize]) -> Count:
    return total(message.count for message in messages)
