"""Model families: whose tokenizer a model has, by its name at any host."""

import re
from enum import StrEnum


class ModelFamily(StrEnum):
    """Models whose tokenizers and billing rules are alike."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"
    META = "meta"
    MISTRAL = "mistral"
    DEEPSEEK = "deepseek"
    QWEN = "qwen"
    AMAZON = "amazon"
    OTHER = "other"


_NAMES = (
    (ModelFamily.ANTHROPIC, re.compile(r"claude|anthropic")),
    (ModelFamily.GOOGLE, re.compile(r"gemini|gemma|palm|google")),
    (ModelFamily.META, re.compile(r"llama")),
    (ModelFamily.MISTRAL, re.compile(r"mistral|mixtral|magistral|codestral|ministral|pixtral|devstral")),
    (ModelFamily.DEEPSEEK, re.compile(r"deepseek")),
    (ModelFamily.QWEN, re.compile(r"qwen|qwq")),
    (ModelFamily.AMAZON, re.compile(r"\bnova\b|titan|amazon")),
    (ModelFamily.OPENAI, re.compile(r"gpt|\bo[1345]\b|\bo[1345]-|chatgpt|davinci|computer-use|openai(?!/)")),
)
"""Looked for in this order: a name such as `openai/claude-…` says the host first and the model last."""


def family_of(model: str) -> ModelFamily:
    """Name the family of a model.

    Args:
        model: A model's name, with or without a host before it (`bedrock/us.anthropic.claude-…`, `azure/gpt-4o`).

    Returns:
        Its family; OTHER for names that say nothing.
    """
    name = model.lower().replace("%3a", ":").replace("%2f", "/")
    return next((family for family, pattern in _NAMES if pattern.search(name)), ModelFamily.OTHER)
