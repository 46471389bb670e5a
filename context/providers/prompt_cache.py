"""Estimate of a provider's prompt cache for a session: lifetime, and cached part of a request."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context.certificate import Block
from context.providers.cache_rules import CACHE_RULES, plain_name, rule_key
from context.tokens import ModelFamily

CACHE_TTL_S: Mapping[str, float] = {start: rule.ttl_s for start, rule in CACHE_RULES.items()}
"""Seconds after the last use until a provider drops a prefix, by family or by start of a model's name."""


def cache_ttl_s(model: str | None, changes: Mapping[str, float] | None = None) -> float:
    """Return the seconds for which a provider keeps a prefix after its last use.

    The entry with the longest match to the start of the model's name decides, else the family's entry;
    `changes` go first.

    Args:
        model: The model's name, with or without a host before; None if nobody named a model.
        changes: Changes to `CACHE_TTL_S`, with the same kind of keys.

    Returns:
        Seconds, >= 0.
    """
    for table in (changes or {}, CACHE_TTL_S):
        start = rule_key(model, table)
        if start in table:
            return table[start]
    return (changes or {}).get(ModelFamily.OTHER, CACHE_TTL_S[ModelFamily.OTHER])


def is_other_model(model: str | None, before: str | None) -> bool:
    """Say whether two names mean different models, and so different caches.

    A name with only a date or a host added counts as the same model.

    Args:
        model: The first name; None if nobody named a model.
        before: The second name.

    Returns:
        True only if both are known and neither starts with the other.
    """
    if not model or not before:
        return False
    one, other = plain_name(model), plain_name(before)
    return not (one.startswith(other) or other.startswith(one))


@dataclass(frozen=True)
class Sent:
    """A request about to be sent, by parts in the order of the window, in tokens.

    Attributes:
        fixed: Tools and system prompt.
        notes: The summary, and anything else before history.
        history: Raw turns, oldest first.
        new: The request's own messages, and anything else after history.
    """

    fixed: int
    notes: int
    history: int
    new: int

    @property
    def total(self) -> int:
        """Total of all parts."""
        return self.fixed + self.notes + self.history + self.new


FIXED = frozenset({"overhead", "system_prompt", "tools"})


def split_request(blocks: Iterable[Block]) -> Sent:
    """Sort the parts of a window by stability.

    A part made for one request, such as recall, ends the stable prefix: everything after it counts as new.

    Args:
        blocks: The parts, in the order of the window.

    Returns:
        The tokens of the parts.
    """
    tokens = {"fixed": 0, "notes": 0, "history": 0, "new": 0}
    stays = {**dict.fromkeys(FIXED, "fixed"), **dict.fromkeys(("compaction", "summary"), "notes")}
    stays["history"] = "history"
    ended = False
    for block in blocks:
        kind = stays.get(block.source, "new")
        ended = ended or kind == "new"
        tokens["new" if ended and kind != "fixed" else kind] += block.tokens
    return Sent(**tokens)


@dataclass(frozen=True)
class CacheUse:
    """Estimate of the part of a request served from the provider's cache, based on the prefix alone.

    Attributes:
        stable_prefix_tokens: Start of the request, equal to the last request and not expired.
        changed_tokens: The rest, read at the full price.
    """

    stable_prefix_tokens: int
    changed_tokens: int


def estimate_cache(sent: Sent, *, warm: bool, notes_changed: bool, start_moved: bool) -> CacheUse:
    """Split a request into a cached and an uncached part.

    Args:
        sent: The request by its parts.
        warm: True if the provider still has the last request, and this request starts alike.
        notes_changed: True if the summary took effect after the last request.
        start_moved: True if history starts later than in the last request, because older turns no longer fit.

    Returns:
        Tokens of both parts, adding up to the request.
    """
    if not warm:
        stable = 0
    elif notes_changed:
        stable = sent.fixed
    elif start_moved:
        stable = sent.fixed + sent.notes
    else:
        stable = sent.total - sent.new
    return CacheUse(stable, sent.total - stable)
