"""The key under which an answer about an artifact is kept: it answers this question alone."""

from dataclasses import astuple, dataclass
from enum import StrEnum
from hashlib import blake2b

_KEY_BYTES = 16


class SizeClass(StrEnum):
    """How long an answer may be."""

    SHORT = "short"
    """Up to 250 tokens."""

    MEDIUM = "medium"
    """Up to 1,000 tokens."""

    LONG = "long"
    """Up to 4,000 tokens."""

    FULL = "full"
    """More."""


SIZE_TOKENS = {SizeClass.SHORT: 250, SizeClass.MEDIUM: 1_000, SizeClass.LONG: 4_000}
"""The most tokens of each class; the last one has no end."""


def size_class(tokens: int) -> SizeClass:
    """Say in which class an answer of so many tokens falls.

    Args:
        tokens: The most tokens that the answer may have, >= 0.

    Returns:
        The smallest class that holds it.

    Raises:
        ValueError: `tokens` is negative.
    """
    if tokens < 0:
        raise ValueError(f"tokens must be >= 0, not {tokens}")
    return next((size for size, most in SIZE_TOKENS.items() if tokens <= most), SizeClass.FULL)


@dataclass(frozen=True)
class CacheKey:
    """What an answer depends on; its tenant stands beside it in every table.

    Attributes:
        content_sha: SHA-256 of the artifact's content, in hex.
        focus_key: `focus_key` of what is asked.
        model: The model that answers.
        prompt_version: The prompt that it was asked with.
        size_class: How long the answer may be.
        language: The language of the answer, an ISO 639-1 code or "und".
    """

    content_sha: str
    focus_key: str
    model: str
    prompt_version: str
    size_class: SizeClass
    language: str

    @property
    def digest(self) -> str:
        """32 hex digits; two keys that differ in any field have different ones."""
        fields = [str(value).encode("utf-8", "surrogatepass") for value in astuple(self)]
        framed = b"".join(len(value).to_bytes(4, "big") + value for value in fields)
        return blake2b(framed, digest_size=_KEY_BYTES, person=b"cache-key-1").hexdigest()
