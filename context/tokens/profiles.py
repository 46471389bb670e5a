"""How each family's tokens follow from the stored counts: fitted on recorded requests, then only data."""

import re
from dataclasses import dataclass
from functools import lru_cache

from context.tokens.families import ModelFamily, family_of


@dataclass(frozen=True)
class Profile:
    """What a model bills, in its own tokens. Pairs are (unbiased, high).

    Attributes:
        wide: Whether the wide count predicts its texts better than the canonical one.
        text: Its tokens for one stored token of text.
        canonical: Its tokens for one canonical token where only that count is known, wrapping included.
        request: Once a request.
        message: Around a message.
        call: Around a tool call and its result together.
        tools_request: For having tools at all: the hidden tool prompt.
        tool: For each tool.
        tools: For one stored token of tool definitions.
        forced: For demanding a call.
        thinking: For thinking being on.
    """

    text: tuple[float, float]
    canonical: tuple[float, float]
    request: tuple[int, int]
    message: tuple[int, int] = (4, 4)
    call: tuple[int, int] = (13, 20)
    tools_request: tuple[int, int] = (0, 60)
    tool: tuple[int, int] = (0, 8)
    tools: tuple[float, float] = (1.1, 1.5)
    forced: tuple[int, int] = (0, 20)
    thinking: tuple[int, int] = (0, 40)
    wide: bool = False


_CLAUDE = Profile(
    wide=True,
    text=(1.05, 1.22),
    canonical=(1.27, 1.72),
    request=(3, 60),
    message=(4, 12),
    call=(52, 70),
    tools_request=(330, 560),
    tools=(1.1, 1.3),
    thinking=(28, 60),
)
_OTHER = Profile(text=(1.05, 1.35), canonical=(1.05, 1.6), request=(4, 120), tools_request=(60, 400))

_PROFILES: tuple[tuple[ModelFamily, str, Profile], ...] = (
    (
        ModelFamily.ANTHROPIC,
        r"claude-(?:opus-4[-.][7-9]|[a-z]+-[5-9])",
        Profile(
            wide=True,
            text=(1.3, 1.6),
            canonical=(1.5, 2.1),
            request=(5, 60),
            message=(4, 12),
            call=(69, 90),
            tools_request=(350, 600),
            tools=(1.3, 1.6),
            forced=(0, 120),
            thinking=(0, 60),
        ),
    ),
    (
        ModelFamily.ANTHROPIC,
        r"4[-.][56]",
        Profile(
            wide=True,
            text=(1.05, 1.22),
            canonical=(1.27, 1.72),
            request=(3, 60),
            message=(4, 12),
            call=(51, 70),
            tools_request=(503, 620),
            tools=(1.1, 1.3),
            forced=(100, 120),
            thinking=(28, 60),
        ),
    ),
    (ModelFamily.ANTHROPIC, "", _CLAUDE),
    (
        ModelFamily.OPENAI,
        r"gpt-oss",
        Profile(text=(1.0, 1.1), canonical=(1.0, 1.15), request=(68, 160), call=(13, 40), tools=(1.0, 1.3)),
    ),
    (
        ModelFamily.OPENAI,
        r"gpt-5|\bo[1345]\b|codex",
        Profile(
            text=(1.0, 1.0),
            canonical=(1.0, 1.0),
            request=(2, 10),
            call=(13, 15),
            tools_request=(90, 110),
            tools=(1.0, 1.1),
            tool=(0, 2),
        ),
    ),
    (
        ModelFamily.OPENAI,
        r"gpt-3|gpt-4(?!o|\.|[-\d]*o)",
        Profile(text=(1.02, 1.15), canonical=(1.02, 1.3), request=(3, 20), tools_request=(8, 30)),
    ),
    (
        ModelFamily.OPENAI,
        "",
        Profile(
            text=(1.0, 1.0),
            canonical=(1.0, 1.0),
            request=(3, 10),
            call=(13, 16),
            tools_request=(8, 24),
            tool=(0, 2),
            tools=(1.0, 1.1),
            forced=(0, 8),
        ),
    ),
    (
        ModelFamily.GOOGLE,
        "",
        Profile(
            text=(1.0, 1.2),
            canonical=(1.0, 1.3),
            request=(0, 120),
            message=(0, 4),
            call=(6, 20),
            tools_request=(0, 80),
            tools=(1.6, 3.0),
        ),
    ),
    (
        ModelFamily.AMAZON,
        r"nova-2",
        Profile(
            text=(1.0, 1.35),
            canonical=(1.0, 1.4),
            request=(0, 60),
            message=(2, 6),
            call=(63, 80),
            tools_request=(860, 950),
        ),
    ),
    (
        ModelFamily.AMAZON,
        "",
        Profile(
            text=(1.0, 1.45),
            canonical=(1.0, 1.5),
            request=(0, 60),
            message=(2, 6),
            call=(32, 60),
            tools_request=(370, 460),
            tools=(1.5, 2.0),
        ),
    ),
    (
        ModelFamily.META,
        "",
        Profile(text=(1.0, 1.35), canonical=(1.0, 1.5), request=(5, 60), tools_request=(660, 760)),
    ),
    (
        ModelFamily.MISTRAL,
        "",
        Profile(
            text=(1.02, 1.4), canonical=(1.05, 1.5), request=(0, 40), message=(3, 8), tools_request=(25, 90)
        ),
    ),
    (
        ModelFamily.DEEPSEEK,
        "",
        Profile(
            text=(1.0, 1.35), canonical=(1.0, 1.5), request=(3, 100), message=(1, 4), tools_request=(180, 300)
        ),
    ),
    (
        ModelFamily.QWEN,
        "",
        Profile(text=(1.0, 1.35), canonical=(1.0, 1.5), request=(4, 60), tools_request=(150, 300)),
    ),
    (ModelFamily.XAI, "", Profile(text=(1.0, 1.35), canonical=(1.0, 1.5), request=(400, 760))),
)


@lru_cache(maxsize=1_024)
def profile_of(model: str) -> Profile:
    """Find how a model bills.

    Args:
        model: The model's name, or a family's.

    Returns:
        The profile of its family and generation.
    """
    family, name = family_of(model), model.lower()
    return next(
        (profile for each, pattern, profile in _PROFILES if each is family and re.search(pattern, name)),
        _OTHER,
    )
