"""Make a provider's error text fit to be stored: one short line, no keys, no words of users."""

import os
import re
from collections.abc import Iterable

from llm.provider_words import OF_PROVIDERS

MAX_DETAIL_CHARS = 300
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp)[-_][\w*.-]{4,}|\bAIza[\w*-]{6,}"  # the shapes of the common providers
    r"|\b(?:Bearer|Basic)\s+\S+|(?:api[-_ ]?key|token|secret)\s*[=:]\s*\S+"  # said to be a key
    r"|[A-Za-z0-9+/_-]{32,}={0,2}",  # long and without a space: likely one
    re.IGNORECASE,
)
_ANSWER = re.compile(r"[\"'\\]*failed_generation[\"'\\]*\s*[:=].*", re.DOTALL)
"""What a provider tells of a model's own words that it could not use."""

_SHORTEST_KEY = 6
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})+")
_SPACE = re.compile(r"\s+")
_SHINGLE = 12
"""A run of this many characters that also occurs in the prompt is taken for a quotation of it."""

_WORD = re.compile(r"[^\W_]{3,}")


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Shorten an error text to one line, without keys and without words of the prompt.

    Args:
        text: What the provider or litellm said.
        secrets: The prompt's texts and the key.

    Returns:
        At most 300 characters. A provider's own sentence survives, a quotation of the prompt does not.
    """
    text = _ANSWER.sub("[answer]", text)
    line = _SPACE.sub(" ", _ESCAPES.sub("…", text))[: 2 * MAX_DETAIL_CHARS]
    line = _KEY.sub("[key]", line)
    for key in _environment_keys():
        line = line.replace(key, "[key]")
    texts = [_SPACE.sub(" ", secret) for secret in secrets]
    return _without_words(_without_quotations(line, texts), texts)[:MAX_DETAIL_CHARS]


def _environment_keys() -> list[str]:
    return [
        value
        for name, value in os.environ.items()
        if name.endswith("_API_KEY") and len(value) >= _SHORTEST_KEY
    ]


def _without_words(line: str, texts: list[str]) -> str:
    """Hide single words that the prompt has too, but for those that every provider uses."""
    said = {word.casefold() for text in texts for word in _WORD.findall(text)} - OF_PROVIDERS

    def kept(found: re.Match[str]) -> str:
        word = found[0]
        unspaced = not word.isascii() and any(word in text for text in texts)  # such as Chinese
        return "[prompt]" if unspaced or word.casefold() in said else word

    return (
        re.sub(r"\[prompt\](?:\s*\[prompt\])+", "[prompt]", _WORD.sub(kept, line)) if said or texts else line
    )


def _without_quotations(line: str, secrets: list[str]) -> str:
    hidden = [False] * len(line)
    for start in range(len(line) - _SHINGLE + 1):
        if any(line[start : start + _SHINGLE] in secret for secret in secrets):
            hidden[start : start + _SHINGLE] = [True] * _SHINGLE
    kept = "".join("\0" if hide else char for char, hide in zip(line, hidden, strict=True))
    return re.sub("\0+", "[prompt]", kept)
