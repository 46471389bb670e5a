"""Model families: the tokenizer of a model, from the model's name at any host."""

import re
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
