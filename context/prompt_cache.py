"""What a provider's prompt cache still holds of a session: for how long, and how much of a request."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context.certificate import Block
from context.tokens import ModelFamily, family_of

CACHE_TTL_S: Mapping[str, float] = {
    "anthropic": 300,
    "openai": 600,
    "gpt-5": 86_400,
    "gpt-4.1": 86_400,
    "google": 3_600,
    "deepseek": 14_400,
    "other": 300,
}
"""Seconds after its last use in which a provider forgets a prefix, by family or by start of a model's name.

As the providers document them: Anthropic five minutes from the last use, OpenAI up to ten minutes in memory
and a day for newer models, Google an hour for explicit caches, DeepSeek hours on disk. Families that are not
named go by `other`. A wrong value costs money, never data.
"""


def cache_ttl_s(model: str | None, changes: Mapping[str, float] | None = None) -> float:
    """How long a provider keeps a prefix after its last use, in seconds.

    The longest entry that the model's name starts with decides, else its family's; in the changes first.

    Args:
        model: Its name, with or without a host before it; None where nobody named one.
        changes: What differs from `CACHE_TTL_S`, with the same kind of keys.

    Returns:
        Seconds, >= 0.
    """
    name = _plain(model or "")
    family = family_of(model) if model else ModelFamily.OTHER
    for table in (changes or {}, CACHE_TTL_S):
        start = max(
            (start for start in _model_names(table) if name.startswith(start)), key=len, default=family
        )
        if start in table:
            return table[start]
    return (changes or {}).get(ModelFamily.OTHER, CACHE_TTL_S[ModelFamily.OTHER])


def _model_names(table: Mapping[str, float]) -> list[str]:
    return [start for start in table if start not in _FAMILY_NAMES]


_FAMILY_NAMES = frozenset(family.value for family in ModelFamily)


def _plain(model: str) -> str:
    return model.lower().rsplit("/", 1)[-1]


def is_other_model(model: str | None, before: str | None) -> bool:
    """Whether two names mean different models, and so different caches.

    A name that only adds a date or a host to the other counts as the same model.

    Args:
        model: One name; None where nobody named a model.
        before: The other.

    Returns:
        True only where both are known and neither starts with the other.
    """
    if not model or not before:
        return False
    one, other = _plain(model), _plain(before)
    return not (one.startswith(other) or other.startswith(one))


@dataclass(frozen=True)
class Sent:
    """A request about to be sent, by parts in the order of the window, in tokens.

    Attributes:
        fixed: Tools and system prompt.
        notes: The summary, and whatever else stands before history.
        history: Raw turns, oldest first.
        new: What the request brings, and whatever else comes after history.
    """

    fixed: int
    notes: int
    history: int
    new: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.fixed + self.notes + self.history + self.new


FIXED = frozenset({"overhead", "system_prompt", "tools"})


def split_request(blocks: Iterable[Block]) -> Sent:
    """Sort the parts of a window by how long they stay the same.

    A part that is made for one request, such as recall, ends what stays: all that follows it is new as well.

    Args:
        blocks: The parts, in the order of the window.

    Returns:
        Their tokens.
    """
    tokens = {"fixed": 0, "notes": 0, "history": 0, "new": 0}
    stays = {**dict.fromkeys(FIXED, "fixed"), "summary": "notes", "history": "history"}
    ended = False
    for block in blocks:
        kind = stays.get(block.source, "new")
        ended = ended or kind == "new"
        tokens["new" if ended and kind != "fixed" else kind] += block.tokens
    return Sent(**tokens)


@dataclass(frozen=True)
class CacheUse:
    """What of a request the provider can take from its cache; an estimate, for the prefix is all it knows.

    Attributes:
        stable_prefix_tokens: At the start and the same as in the last request, and not forgotten.
        changed_tokens: The rest, read at the full price.
    """

    stable_prefix_tokens: int
    changed_tokens: int


def estimate_cache(sent: Sent, *, warm: bool, notes_changed: bool, start_moved: bool) -> CacheUse:
    """Split a request into what a prompt cache can give and what it cannot.

    Args:
        sent: The request by its parts.
        warm: The provider still has the last request, and this one starts alike.
        notes_changed: The summary took effect after the last request.
        start_moved: History starts later than in the last request, because older turns no longer fit.

    Returns:
        Tokens of both, adding up to the request.
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
