"""Scrubbing of a provider's error text for storing: a short line, no keys, no words of users."""

import os
import re
from collections.abc import Iterable
from functools import lru_cache

from context.precompute.prompt import ArtifactInput, artifact_messages
from context.prompts import SummaryInput, summary_messages
from llm.provider_words import OF_PROVIDERS

MAX_DETAIL_CHARS = 300
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp)[-_][\w*.-]{4,}|\bAIza[\w*-]{6,}"  # the shapes of the common providers
    r"|\b(?:Bearer|Basic)\s+\S+|(?:api[-_ ]?key|token|secret)\s*[=:]\s*\S+"  # said to be a key
    r"|[A-Za-z0-9+/_-]{32,}={0,2}",  # long and without a space: likely one
    re.IGNORECASE,
)
_ANSWER = re.compile(r"[\"'\\]*failed_generation[\"'\\]*\s*[:=].*", re.DOTALL)
"""A provider's quotation of a model's unusable words."""

_SHORTEST_KEY = 6
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})+")
_SPACE = re.compile(r"\s+")
_SHINGLE = 12
"""Length of a run of characters, also in the prompt, taken for a quotation."""

_LONG = 40
"""Length from which a quotation is hidden even with only providers' common words."""

_WORD = re.compile(r"[^\W_]{3,}")
_NAME = re.compile(r"\w*_\w*")
"""A name in code is a single word: `admin_api_key` says nothing of an admin in the prompt."""


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Shorten an error text to a line without keys and without words of the prompt.

    Args:
        text: Words of the provider or litellm.
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
    """Hide single words of the prompt, except words used by every provider."""
    said = {word.casefold() for text in texts for word in _WORD.findall(text)} - _harmless()
    names = {name.casefold() for text in texts for name in _NAME.findall(text)}
    own = [found.span() for found in _NAME.finditer(line) if found[0].casefold() not in names]

    def kept(found: re.Match[str]) -> str:
        word = found[0]
        if any(start <= found.start() and found.end() <= end for start, end in own):
            return word
        unspaced = not word.isascii() and any(word in text for text in texts)  # such as Chinese
        return "[prompt]" if unspaced or word.casefold() in said else word

    return (
        re.sub(r"\[prompt\](?:\s*\[prompt\])+", "[prompt]", _WORD.sub(kept, line)) if said or texts else line
    )


@lru_cache
def _harmless() -> frozenset[str]:
    """Return the words that reveal nothing of a prompt: providers' words and our own instructions'."""
    ours = [*summary_messages(SummaryInput((), 1, "en")), *artifact_messages(ArtifactInput("", "", 1))]
    words = {word.casefold() for message in ours for word in _WORD.findall(str(message["content"]))}
    return OF_PROVIDERS | words


def _without_quotations(line: str, secrets: list[str]) -> str:
    hidden = [False] * len(line)
    for start in range(len(line) - _SHINGLE + 1):
        if any(line[start : start + _SHINGLE] in secret for secret in secrets):
            hidden[start : start + _SHINGLE] = [True] * _SHINGLE
    kept = "".join("\0" if hide else char for char, hide in zip(line, hidden, strict=True))
    return re.sub("\0+", lambda run: _unless_harmless(line, *run.span()), kept)


def _unless_harmless(line: str, start: int, end: int) -> str:
    """Keep a few common providers' words in a row; replace anything else by a mark."""
    words = [word for word in re.finditer(r"[^\W_]+", line) if word.start() < end and start < word.end()]
    tells = any(word[0].casefold() not in _harmless() for word in words)
    return "[prompt]" if tells or not words or end - start >= _LONG else line[start:end]
