"""Limits learned from refusals: sizes read from a refusal, and agreement of sessions on a window."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_N = (
    r"(?<!\d)(\d{1,3}(?:[,._'\u00a0\u202f ]\d{3}){1,12}(?!\d)|\d+(?!\d))"
    r"(?!\s?(?:bytes|characters|[kmg]i?b?\b))"
)

_LIMITS = tuple(
    re.compile(pattern.replace("#", _N), re.IGNORECASE)
    for pattern in (
        r"allowed: \d+ > #",
        r"\d tokens? > #",
        r"maximum context length(?: is| of)?:? #",
        r"with # maximum context",
        r"> # maximum",
        r"\+ \d+ > #",
        r"maximum number of tokens allowed \(?#",
        r"length: \d+, maximum #",
        r"maximum allowed(?: token size)? #",
        r"max size: # tokens",
        r"(?:above|less than) (?:the )?max\w* \(#",
        r"less than max_seq_len \(#",
        r"over max #",
        r"overall: \d+ > #",
        r"more than # limit",
        r"exceeds the model'?s? maximum: #",
        r"supports up to #",
        r"maximum prompt length is #",
        r"context (?:size|length|window|limit)(?: of| is)?(?: only)?[ :(]+#",
        r"maximum model length of #",
        r"configured limit of #",
        r"exceeds (?:the )?limit of #",
        r"(?:token )?limit(?: for this model)?(?: is|:) #",
        r"must be <= #",
        r"cannot exceed (?:the total tokens limit )?#",
        r"\[\d+, ?#\]",
        r"less than # tokens",
        r"n_ctx: ?#",
        r"context (?:length|window|size) \(# tokens",
        r"sequence length is just #",
        r"while limit is #",
        r"max(?:imum)? input (?:tokens|length)(?: is)?[ :(]{1,3}#",
        r"context window limit \(#",
        r"maximum allowed length of #",
        r"tokens \d+ > #",
        r"maximum length is #",
        r"(?:最大|限制|上限)\D{0,16}#",
        r"max(?:imum)? tokens of # exceeded",
        r"context (?:length|window) of the model(?: of| is)?:? #",
        r"exceeds? (?:the )?max(?:imum)? (?:length|input|tokens?)\D{0,20}#",
        r"max_num_tokens \(#",
        r"\bmax(?:imum)?(?: (?:allowed|supported|tokens?|length|size|context|input)){0,3}(?: is|:| of)? #",
    )
)
_REQUESTED = tuple(
    re.compile(pattern.replace("#", _N), re.IGNORECASE)
    for pattern in (
        r"# tokens from the input",
        r"passed # input tokens",
        r"allowed: # > \d+",
        r"overall: # > \d+",
        r"requested:?(?: about)?(?: a total of)? #",
        r"requested tokens \(#",
        r"resulted in # tokens",
        r"too long: #",
        r"token count(?: is| of)? \(?#",
        r"(?:contains|has) # tokens",
        r"prompt is # tokens",
        r"prompt: length: #",
        r"input tokens length #",
        r"exceeded: # tokens",
        r"token length #",
        r"prompt_tokens \(#",
        r"(?:request|prompt) \((?:length )?#",
        r"received #",
        r"given: #",
        r"first # tokens",
        r"input tokens # cannot",
        r"request has # input tokens",
        r"current length is #",
        r"# \+ \d+ > \d+",
        r"n_keep: ?#",
        r"input \(# tokens",
        r"tokens \(#\) exceed",
        r"input token count: ?#",
        r"(?:prompt|input) length (?:of )?\(?#",
    )
)


def limit_in(text: str) -> int | None:
    """Read the limit of tokens that an overflow names; None without a positive one."""
    return _first_number(_LIMITS, text)


def requested_in(text: str) -> int | None:
    """Read the requested tokens that an overflow names; None without a positive number."""
    return _first_number(_REQUESTED, text)


def _first_number(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    found = next((match for pattern in patterns if (match := pattern.search(text))), None)
    if found is None:
        return None
    number = int(re.sub(r"\D", "", found.groups()[-1])[:30])  # a longer number is larger than any window too
    return number if number > 0 else None


_OVER = re.compile(
    r"exceed|too (?:long|large|many|big)|longer|larger|greater|more than|over\b|max"
    r"|limit|at most|not fit|above|>",
    re.IGNORECASE,
)
_OF_OTHER = re.compile(
    r"completion tokens?|output tokens?|output token limit|\barray too"
    r"|max_(?:completion_|output_|new_)?tokens|max_length|budget_tokens"
    r"|\bstring (?:too|with|should)\b|characters"
    r"|\b(?:seed|time(?:stamp)?|top_\w+|image|pixel|port|width|height|value|id)s?\b",
    re.IGNORECASE,
)
_SIZES = 1_000, 100_000_000
_SIZE = r"(?:\d{1,3}(?:[,_]\d{3}){1,3}|\d{4,9})"
_NUMBER = re.compile(rf"(?<![\w.:/-])({_SIZE})(?![\w/-]|:\S|\.\d)")
_PAIR = re.compile(
    rf"(?:ctx|context|tokens?|prompt|input)\b[^\n\d]{{1,24}}({_SIZE})\s?/\s?({_SIZE})\b", re.IGNORECASE
)


def two_sizes(text: str) -> tuple[int, int] | None:
    """Read the two largest numbers of a refusal for something too large, the smaller one first.

    None without words of excess, or with words of another subject: output, time, pictures.
    """
    if _OF_OTHER.search(text):
        return None
    pair = _PAIR.search(text)
    named = pair.groups() if pair else _NUMBER.findall(text) if _OVER.search(text) else []
    numbers = {int(re.sub(r"\D", "", found)) for found in named}
    sizes = sorted(number for number in numbers if _SIZES[0] <= number <= _SIZES[1])
    return (sizes[-2], sizes[-1]) if len(sizes) > 1 else None


AGREEING_USERS = 3
"""Number of different users whose sessions must see a limit before the whole tenant has the limit."""

AGREEING_KEYS = 2
"""Number of a tenant's keys that must agree, so that no single key of several binds the tenant."""

AGREEMENT = 0.9
"""Least ratio of the lowest to the highest limit of agreeing votes."""


@dataclass(frozen=True)
class Vote:
    """A limit seen by one session.

    Attributes:
        limit_tokens: The window, > 0.
        user_id: The session's user; None for nobody's session, which agrees with no other.
        key_id: The key of the reporting call; None for a limit seen by a worker.
    """

    limit_tokens: int
    user_id: str | None
    key_id: str | None


def agreed_limit(votes: Sequence[Vote], *, keys: int) -> int | None:
    """Find the lowest limit seen by enough users, within a tenth, and not by one key of several.

    Args:
        votes: The limits seen by sessions.
        keys: The number of the tenant's keys allowed to report limits, >= 0.

    Returns:
        The highest of the agreeing limits, in tokens; None if too few agree.
    """
    by_user = sorted((vote for vote in votes if vote.user_id is not None), key=lambda vote: vote.limit_tokens)
    for highest in by_user:
        least = highest.limit_tokens * AGREEMENT
        near = [vote for vote in by_user if least <= vote.limit_tokens <= highest.limit_tokens]
        if len({vote.user_id for vote in near}) >= AGREEING_USERS and _is_of_enough(near, keys):
            return highest.limit_tokens
    return None


def _is_of_enough(votes: Sequence[Vote], keys: int) -> bool:
    """Say whether several keys report a limit, or the only key allowed, or only the workers themselves."""
    told = {vote.key_id for vote in votes}
    return len(told) >= min(AGREEING_KEYS, max(keys, 1)) or told == {None}
