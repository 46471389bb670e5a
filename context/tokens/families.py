"""Model families: tokenizer by a model's name, and conversion of stored counts to its tokens."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class ModelFamily(StrEnum):
    """Families of models with similar tokenizers and hidden prompts."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"
    AMAZON = "amazon"
    META = "meta"
    MISTRAL = "mistral"
    DEEPSEEK = "deepseek"
    QWEN = "qwen"
    XAI = "xai"
    OTHER = "other"


_NAMES = (
    (ModelFamily.ANTHROPIC, r"claude"),
    (ModelFamily.GOOGLE, r"gemini|gemma"),
    (ModelFamily.META, r"llama"),
    (ModelFamily.MISTRAL, r"(?:mi[ns]|minis|magis|codes|devs|maths|leans|mix|pix|vox)tral"),
    (ModelFamily.DEEPSEEK, r"deepseek"),
    (ModelFamily.QWEN, r"qwen|qwq"),
    (ModelFamily.AMAZON, r"\bnova\b|titan"),
    (ModelFamily.XAI, r"grok"),
    (ModelFamily.OPENAI, r"gpt|\bo[1345]\b|davinci|computer-use-preview|codex"),
)
"""Patterns in order, matched against the whole name: hosts use many names and prefixes for a model."""

_HOSTS = (
    (ModelFamily.ANTHROPIC, r"\banthropic\b"),
    (ModelFamily.GOOGLE, r"\bgoogle\b"),
    (ModelFamily.META, r"\bmeta\b"),
    (ModelFamily.OPENAI, r"\bopenai\b"),
)
"""Makers' names, for models with an unknown name."""


_FAMILIES = frozenset(ModelFamily)


@lru_cache(maxsize=1_024)
def family_of(model: str) -> ModelFamily:
    """Name the family of a model.

    Args:
        model: A model's name with or without a host before it (`azure/gpt-4o`), or a family's name.

    Returns:
        The family; OTHER for an unknown name.
    """
    name = model.lower()
    if name in _FAMILIES:
        return ModelFamily(name)
    return next(
        (family for family, pattern in _NAMES + _HOSTS if re.search(pattern, name)), ModelFamily.OTHER
    )


def wants_letter_first(model: str) -> bool:
    """Tell whether a tool's name must begin with a letter or `_` for a model: Gemini's and Kimi's must."""
    return family_of(model) is ModelFamily.GOOGLE or re.search("kimi|moonshot", model.lower()) is not None


@dataclass(frozen=True)
class Profile:
    """A model's billing in its own tokens. Pairs are (unbiased, high).

    Attributes:
        text: Own tokens per stored token of text.
        gap: Own tokens per token of difference between the wide and the canonical count: code.
        canonical: Own tokens per canonical token if only the canonical count is known, wrapping included.
        request: Tokens once a request.
        message: Tokens around a message.
        call: Tokens around a tool call and its result together.
        tools_request: Tokens of the hidden tool prompt, once for any tools.
        tool: Tokens per tool.
        tools: Own tokens per stored token of tool definitions.
        forced: Tokens for a demanded call.
        thinking: Tokens for thinking switched on.
        schema_request: Tokens for a demanded answer schema.
        schema: Own tokens per canonical token of the answer schema.
        wide: True if the wide count predicts texts and tools better than the canonical count.
        tools_json: True if the model reads tools as JSON rather than as type declarations.
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
    gap: tuple[float, float] = (0.0, 0.0)
    schema_request: tuple[int, int] = (0, 120)
    schema: tuple[float, float] = (0.0, 1.2)
    wide: bool = False
    tools_json: bool = False


_CLAUDE = Profile(
    wide=True,
    tools_json=True,
    schema_request=(150, 650),
    schema=(0.8, 1.2),
    text=(1.0, 1.17),
    gap=(0.4, 0.0),
    canonical=(1.27, 1.72),
    request=(3, 60),
    message=(4, 12),
    call=(52, 70),
    tools_request=(330, 560),
    tools=(1.1, 1.3),
    thinking=(28, 60),
)
_OTHER = Profile(text=(1.0, 1.35), canonical=(1.05, 1.6), request=(1, 120), tools_request=(60, 400))

_PROFILES: tuple[tuple[ModelFamily, str, Profile], ...] = (
    (
        ModelFamily.ANTHROPIC,
        r"claude-(?:opus-4[-.][7-9]|[a-z]+-[5-9])",
        Profile(
            wide=True,
            tools_json=True,
            schema_request=(150, 650),
            schema=(0.8, 1.2),
            text=(1.25, 1.55),
            gap=(0.4, 0.0),
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
            tools_json=True,
            schema_request=(150, 650),
            schema=(0.8, 1.2),
            text=(1.0, 1.17),
            gap=(0.4, 0.0),
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
        Profile(
            text=(1.0, 1.1),
            canonical=(1.0, 1.15),
            request=(68, 160),
            call=(13, 40),
            tools=(1.0, 1.3),
            schema_request=(100, 180),
            schema=(0.7, 1.2),
        ),
    ),
    (
        ModelFamily.OPENAI,
        r"gpt-5|\bo[1345]\b|codex",
        Profile(
            text=(1.0, 1.0),
            canonical=(1.0, 1.0),
            request=(2, 64),
            call=(13, 15),
            tools_request=(90, 110),
            tools=(1.0, 1.1),
            schema_request=(5, 60),
            schema=(0.68, 1.0),
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
            request=(3, 64),
            call=(13, 16),
            tools_request=(8, 24),
            tool=(0, 2),
            tools=(1.0, 1.1),
            schema_request=(5, 60),
            schema=(0.68, 1.0),
            forced=(0, 8),
        ),
    ),
    (
        ModelFamily.GOOGLE,
        r"gemini-(?:1|2\.0)",
        Profile(
            text=(1.0, 1.2),
            canonical=(1.0, 1.3),
            request=(0, 120),
            message=(0, 4),
            call=(0, 20),
            tools_request=(0, 120),
            tools=(0.3, 1.0),
            schema=(0.0, 0.6),
            tools_json=True,
        ),
    ),
    (
        ModelFamily.GOOGLE,
        "",
        Profile(
            text=(1.0, 1.2),
            canonical=(1.0, 1.3),
            request=(-2, 120),
            message=(2, 4),
            call=(6, 20),
            tools_request=(0, 120),
            tools=(0.9, 2.0),
            schema=(0.0, 0.4),
            tools_json=True,
        ),
    ),
    (
        ModelFamily.AMAZON,
        r"nova-2",
        Profile(
            text=(1.0, 1.35),
            canonical=(1.0, 1.4),
            request=(0, 60),
            message=(0, 6),
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
            message=(0, 6),
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
        r"magistral|mistral-small",
        Profile(
            text=(1.02, 1.4), canonical=(1.05, 1.5), request=(12, 500), message=(3, 8), tools_request=(25, 90)
        ),
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
        r"v[4-9]",
        Profile(
            text=(1.0, 1.35),
            canonical=(1.0, 1.5),
            request=(80, 140),
            message=(3, 6),
            tools_request=(210, 300),
        ),
    ),
    (
        ModelFamily.DEEPSEEK,
        "",
        Profile(
            text=(1.0, 1.35), canonical=(1.0, 1.5), request=(3, 100), message=(0, 4), tools_request=(180, 300)
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
    """Find a model's billing profile.

    Args:
        model: The model's name, or a family's.

    Returns:
        The profile of the model's family and generation.
    """
    family, name = family_of(model), model.lower()
    return next(
        (profile for each, pattern, profile in _PROFILES if each is family and re.search(pattern, name)),
        _OTHER,
    )
