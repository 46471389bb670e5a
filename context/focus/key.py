"""Cache key of an answer about an artifact, exact for the question."""

from dataclasses import astuple, dataclass
from enum import StrEnum
from hashlib import blake2b

_KEY_BYTES = 16


class SizeClass(StrEnum):
    """Size of an answer."""

    SHORT = "short"
    """Up to 250 tokens."""

    MEDIUM = "medium"
    """Up to 1,000 tokens."""

    LONG = "long"
    """Up to 4,000 tokens."""

    FULL = "full"
    """More."""


SIZE_TOKENS = {SizeClass.SHORT: 250, SizeClass.MEDIUM: 1_000, SizeClass.LONG: 4_000}
"""The most tokens of each class; the last class has no limit."""


def size_class(tokens: int) -> SizeClass:
    """Find the size class of an answer.

    Args:
        tokens: The most tokens of the answer, >= 0.

    Returns:
        The smallest sufficient class.

    Raises:
        ValueError: `tokens` is negative.
    """
    if tokens < 0:
        raise ValueError(f"tokens must be >= 0, not {tokens}")
    return next((size for size, most in SIZE_TOKENS.items() if tokens <= most), SizeClass.FULL)


@dataclass(frozen=True)
class CacheKey:
    """Parts of a cached answer's key; the tenant is a separate column in every table.

    Attributes:
        content_sha: SHA-256 of the artifact's content, in hex.
        focus_key: `focus_key` of the question.
        model: The answering model.
        prompt_version: Version of the prompt.
        size_class: Size class of the answer.
        language: Language of the answer, an ISO 639-1 code or "und".
    """

    content_sha: str
    focus_key: str
    model: str
    prompt_version: str
    size_class: SizeClass
    language: str

    @property
    def digest(self) -> str:
        """Digest in 32 hex digits; keys with any different field have different digests."""
        fields = [str(value).encode("utf-8", "surrogatepass") for value in astuple(self)]
        framed = b"".join(len(value).to_bytes(4, "big") + value for value in fields)
        return blake2b(framed, digest_size=_KEY_BYTES, person=b"cache-key-1").hexdigest()
