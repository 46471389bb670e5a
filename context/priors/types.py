"""The types of priors, and the features of an intent: words, pairs of words, exact wording, category.

A feature is a number: learned data contains no text of any message.
"""

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache, reduce
from hashlib import blake2b
from itertools import chain, pairwise
from operator import xor
from typing import Any, NamedTuple

from context.errors import AfterturnError
from context.text.terms import content_terms


class ToolOutcome(NamedTuple):
    """Outcome of a single plan step."""

    tool: str
    ok: bool


class JoinedPlan(NamedTuple):
    """A plan with a known outcome, usable for learning.

    Attributes:
        intent: The user's request.
        tools: The called tools, each with success or failure.
        day: Day of joining the outcome, in days since 1970.
        category: The intent's category, empty if unknown.
        counts: True for a new plan; False for further steps of an already counted plan.
    """

    intent: str
    tools: Sequence[ToolOutcome]
    day: int
    category: str = ""
    counts: bool = True


class CorruptPriorsError(AfterturnError):
    """Stored bytes of learning cannot be read: cut off, damaged, or of another version."""

    code = "corrupt-priors"


@dataclass(frozen=True)
class Priors(Mapping[str, float]):
    """History's scores of a catalog's entries, for a single intent.

    As a mapping: the entries with support.

    Attributes:
        support: Support by entry id, in [0, 1], shrunk by evidence.
        novelty: Novelty by entry id, in (0, 1], for entries without a history: a share of the best support,
            scaled by their matching words.
        reasons: Reasons by entry id, strongest first; empty unless asked for.
    """

    support: Mapping[str, float] = field(default_factory=dict)
    novelty: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __getitem__(self, entry_id: str) -> float:
        return self.support[entry_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.support)

    def __len__(self) -> int:
        return len(self.support)


PRIOR_SCALE = 100.0
"""Lexical score added by a prior of 1; a word of few entries scores about 10."""

TELLING = 0.01
"""Least support for trust in history when no word of the intent matches the entry.

In a catalog barely known to history, ten plans of the very same words give about the limit, and a single word
less. Support grows with the tried share of the catalog.
"""

NO_PRIORS = Priors()
"""Empty priors, for no history."""


MOST_UNFINISHED = 2_000
_DAY_S = 86_400
_ENDED = ("ok", "error")


class Unfinished:
    """Plans with steps without an outcome, and their already counted steps.

    Such a plan is read again after more steps end; each step is counted once.
    """

    def __init__(self, steps: Mapping[str, Sequence[int]]) -> None:
        """Begin with the stored state: the counted step orders by plan id."""
        self._steps = {plan_id: list(orders) for plan_id, orders in steps.items()}

    def read(
        self,
        plan_id: str,
        intent: str,
        steps: Any,
        *,
        at_s: float,
        category: str = "",
    ) -> JoinedPlan:
        """Read a plan.

        Args:
            plan_id: The plan's id.
            intent: The user's request.
            steps: JSON objects with order, tool and outcome; invalid steps are ignored, without an effect on
                other plans.
            at_s: Time of the last joined outcome, in seconds since 1970.
            category: The intent's category, empty for none.

        Returns:
            The plan's ended and uncounted steps.
        """
        taught = self._steps.pop(plan_id, [])
        steps = [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
        ended = [step for step in steps if step.get("outcome") in _ENDED]
        new = [step for step in ended if step.get("order") not in taught]
        if len(ended) < len(steps):
            self._steps[plan_id] = [step["order"] for step in ended if isinstance(step.get("order"), int)]
            while len(self._steps) > MOST_UNFINISHED:
                del self._steps[next(iter(self._steps))]
        return JoinedPlan(
            intent,
            [ToolOutcome(str(step.get("tool") or ""), step["outcome"] == "ok") for step in new],
            int(at_s // _DAY_S),
            category,
            counts=not taught,
        )

    def as_json(self) -> dict[str, list[int]]:
        """Return the state to store for the next run."""
        return dict(self._steps)


MAX_PACKED_BYTES = 256 * 1024 * 1024
"""Most bytes after unpacking, independent of the sizes in the header."""

_HEAD = struct.Struct("<4sBII")
"""Magic, version, length of the header, CRC-32 of the length and of all bytes after."""
_MAX_HEADER_BYTES = 32 * 1024 * 1024


def pack(magic: bytes, version: int, header: dict[str, Any], arrays: Sequence["array[Any]"]) -> bytes:
    """Pack a header and arrays of numbers.

    Args:
        magic: Four bytes naming the kind of content.
        version: Version of the content, in 0..255.
        header: JSON.
        arrays: Arrays of any type code; `unpack` needs the same type codes in the same order.

    Returns:
        Bytes, determined by the content alone.
    """
    lengths = [len(numbers) for numbers in arrays]
    head = json.dumps({"lengths": lengths, **header}, separators=(",", ":"), sort_keys=True).encode()
    body = head + b"".join(_little(numbers) for numbers in arrays)
    packed = zlib.compress(body, 6)
    return _HEAD.pack(magic, version, len(head), zlib.crc32(packed, len(head))) + packed


def unpack(
    data: bytes, magic: bytes, version: int, type_codes: str
) -> tuple[dict[str, Any], list["array[Any]"]]:
    """Unpack the bytes of `pack`.

    Args:
        data: The bytes, untrusted.
        magic: As packed.
        version: The only accepted version.
        type_codes: Type codes of the arrays, a letter each.

    Returns:
        The header and the arrays.

    Raises:
        CorruptPriorsError: The bytes are of another kind, damaged, cut off or too large.
    """
    if len(data) < _HEAD.size:
        raise CorruptPriorsError("the bytes are cut off")
    found, its_version, head_bytes, checksum = _HEAD.unpack_from(data)
    if found != magic:
        raise CorruptPriorsError("the bytes are something else")
    if its_version != version:
        raise CorruptPriorsError("the bytes are of another version", version=its_version)
    packed = data[_HEAD.size :]
    if zlib.crc32(packed, head_bytes) != checksum:
        raise CorruptPriorsError("the bytes are damaged")
    body = _inflate(packed)
    header = _read_header(body[:head_bytes]) if head_bytes <= _MAX_HEADER_BYTES else None
    if header is None:
        raise CorruptPriorsError("the header cannot be read")
    return header, _read_arrays(body, head_bytes, header["lengths"], type_codes)


def _inflate(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        body = inflate.decompress(data, MAX_PACKED_BYTES)
    except zlib.error as error:
        raise CorruptPriorsError("the bytes are damaged") from error
    if not inflate.eof or inflate.unused_data:
        raise CorruptPriorsError("the bytes are cut off, too long, or too many")
    return body


def _read_header(data: bytes) -> dict[str, Any] | None:
    try:
        header = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) and isinstance(header.get("lengths"), list) else None


def _read_arrays(body: bytes, start: int, lengths: list[Any], type_codes: str) -> list["array[Any]"]:
    if len(lengths) != len(type_codes) or not all(isinstance(n, int) and n >= 0 for n in lengths):
        raise CorruptPriorsError("the arrays are not those that were asked for")
    arrays = []
    for length, code in zip(lengths, type_codes, strict=True):
        numbers = array(code)
        end = start + length * numbers.itemsize
        if end > len(body):
            raise CorruptPriorsError("an array is cut off")
        numbers.frombytes(body[start:end])
        if sys.byteorder == "big":
            numbers.byteswap()
        arrays.append(numbers)
        start = end
    if start != len(body):
        raise CorruptPriorsError("there are more bytes than numbers")
    return arrays


def _little(numbers: "array[Any]") -> bytes:
    if sys.byteorder == "big":
        numbers = array(numbers.typecode, numbers)
        numbers.byteswap()
    return numbers.tobytes()


MAX_CHARS = 4_000
"""Most characters read of an intent, from both ends: the middle of a long intent is mostly pasted text."""
MAX_TERMS = 48
_MAX_KNOWN_CHARS = 32

KEY_BITS = 44
_KIND_BITS = 2
_HASH_MASK = (1 << KEY_BITS) - (1 << _KIND_BITS)
_MIX = 0x2545F4914F6CDD1D
_MIX_ALL = 0x9E3779B97F4A7C15


class FeatureKind(IntEnum):
    """Kind of a feature; the last bits of its key."""

    WORD = 0
    PAIR = 1
    EXACT = 2
    CATEGORY = 3


KIND_MASK = (1 << _KIND_BITS) - 1
_PAIR, _EXACT, _CATEGORY = int(FeatureKind.PAIR), int(FeatureKind.EXACT), int(FeatureKind.CATEGORY)


def feature_keys(intent: str, category: str = "") -> list[int]:
    """List the features of an intent.

    Args:
        intent: The user's request, of any length, in any language.
        category: The intent's category, empty for none.

    Returns:
        Each key once, in [0, 2^44), the words first; empty for an intent without letters and digits.
    """
    words = _read(intent).split()
    known = max(map(len, words), default=0) <= _MAX_KNOWN_CHARS
    keys = list(dict.fromkeys(chain.from_iterable(map(_known_keys if known else _written_keys, words))))
    if not keys:
        return []
    if len(keys) > MAX_TERMS:
        keys = keys[: MAX_TERMS // 2] + keys[-MAX_TERMS // 2 :]
    pairs = _pair_keys(keys)
    exact = _exact_key(keys, pairs)
    keys += pairs
    keys.append(exact)
    if category:
        keys.append(_category_key(category))
    return keys


def feature_names(intent: str, category: str = "") -> dict[int, str]:
    """Name the features of an intent, for explanations.

    Args:
        intent: As in `feature_keys`.
        category: As in `feature_keys`.

    Returns:
        A name for each key: terms as indexed.
    """
    words = _read(intent).split()
    terms = list(dict.fromkeys(chain.from_iterable(content_terms(word) for word in words)))
    if len(terms) > MAX_TERMS:
        terms = terms[: MAX_TERMS // 2] + terms[-MAX_TERMS // 2 :]
    keys = list(map(_word_key, terms))
    pairs = _pair_keys(keys)
    names = {key: f"'{term}'" for term, key in zip(terms, keys, strict=True)}
    names |= {key: f"'{' '.join(pair)}'" for key, pair in zip(pairs, pairwise(terms), strict=True)}
    if terms:
        names[_exact_key(keys, pairs)] = "the same request"
    if category:
        names[_category_key(category)] = f"category {category}"
    return names


def _read(intent: str) -> str:
    half = MAX_CHARS // 2
    return intent if len(intent) <= MAX_CHARS else f"{intent[:half]}\n{intent[-half:]}"


def _written_keys(word: str) -> Sequence[int]:
    return _known_keys(word) if len(word) <= _MAX_KNOWN_CHARS else _keys(word)


def _keys(word: str) -> tuple[int, ...]:
    return tuple(map(_word_key, content_terms(word)))


_known_keys = lru_cache(maxsize=65_536)(_keys)
"""Cache of word keys; most words of a history repeat, with the same punctuation."""


def _pair_keys(words: Sequence[int]) -> list[int]:
    return [(first * _MIX + second) & _HASH_MASK | _PAIR for first, second in pairwise(words)]


def _exact_key(words: Sequence[int], pairs: Sequence[int]) -> int:
    """Compute the key of a request's exact wording from the first word and all pairs."""
    return reduce(xor, pairs, words[0] * _MIX_ALL) & _HASH_MASK | _EXACT


def _category_key(category: str) -> int:
    return _word_key(category) | _CATEGORY


def _word_key(term: str) -> int:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & _HASH_MASK


def name_hash(name: str) -> int:
    """Hash an entry's id to 32 bits, to record the known entries in a set of priors."""
    return _word_key(name) >> _KIND_BITS & 0xFFFF_FFFF
