"""Prompt caches of providers: rules by family of models, and an estimate for a session.

Sources, read in November 2026:
    OpenAI: developers.openai.com/api/docs/guides/prompt-caching (automatic, from 1,024 tokens in steps of
        128, tools and messages alike, 5 to 10 minutes in memory, up to 24 hours with extended retention) and
        its prices (a cached token of gpt-4o costs a half, of gpt-4.1, o3, o4 a quarter, of gpt-5 a tenth).
    Anthropic: platform.claude.com/docs/en/build-with-claude/prompt-caching (tools, then system, then
        messages; at most 4 marks, each looks back 20 blocks; least lengths by model; 5 minutes at 1.25 of the
        price of input, 1 hour at 2; reading at a tenth). Of two least lengths, the larger stands here.
    Google: ai.google.dev/gemini-api/docs/caching. DeepSeek: api-docs.deepseek.com/guides/kv_cache.
A wrong value costs money, never data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from context.certificate import Block
from context.tokens import ModelFamily, family_of


@dataclass(frozen=True)
class CacheRule:
    """A provider's rule for cached prefixes.

    Attributes:
        ttl_s: Seconds after the last use until a prefix expires, >= 0.
        read_share: The price of a cached token, as a share of the input price, in [0, 1].
        least_tokens: The shortest cached prefix.
        step_tokens: The step of cached lengths, in tokens; 1 for any length.
        most_marks: The most `cache_control` marks of a request; 0 if the provider caches without marks.
        write_share: The price of a token written to the cache, as a share of the input price, >= 1.
    """

    ttl_s: float
    read_share: float
    least_tokens: int = 1_024
    step_tokens: int = 1
    most_marks: int = 0
    write_share: float = 1.0

    def found(self, tokens: int) -> int:
        """Return the cached length of an unchanged prefix: 0 if too short, else a multiple of the step."""
        return tokens // self.step_tokens * self.step_tokens if tokens >= self.least_tokens else 0

    def at_price(self, input_usd: Decimal | None, cached_usd: Decimal | None) -> "CacheRule":
        """Return the rule with a tenant's own price of a cached token; unchanged for an unknown price."""
        if not input_usd or cached_usd is None:
            return self
        return replace(self, read_share=min(float(cached_usd / input_usd), 1.0))

    def as_found(self, share: float) -> "CacheRule":
        """Return the rule with the mean price of an expected token: the rest is read and written anew.

        Args:
            share: The share of expected tokens that the provider found, in [0, 1].
        """
        return replace(self, read_share=share * self.read_share + (1 - share) * self.write_share)


PRIOR_TOKENS = 50_000
"""Weight of the rule itself, in expected tokens, before reports of a tenant count."""

LEAST_FOUND_SHARE = 0.5
"""Found share below which a prefix counts as uncached."""


def found_share(expected_tokens: int, found_tokens: int) -> float:
    """Return the share of expected tokens that a provider finds: all at first, then drawn to the reports.

    Args:
        expected_tokens: Tokens that the provider should have found, by the rule, >= 0.
        found_tokens: Tokens of these that the provider reported as found, at most as many.
    """
    return (PRIOR_TOKENS + found_tokens) / (PRIOR_TOKENS + expected_tokens)


_CLAUDE = CacheRule(300, 0.1, most_marks=4, write_share=1.25)
_OPENAI = CacheRule(600, 0.5, step_tokens=128)
_OPENAI_LONG = replace(_OPENAI, ttl_s=86_400, read_share=0.25)

CACHE_RULES: Mapping[str, CacheRule] = {
    "anthropic": _CLAUDE,
    "claude-3-haiku": replace(_CLAUDE, least_tokens=2_048),
    "claude-3-5-haiku": replace(_CLAUDE, least_tokens=2_048),
    "claude-haiku-4-5": replace(_CLAUDE, least_tokens=4_096),
    "claude-sonnet-4-6": replace(_CLAUDE, least_tokens=2_048),
    "claude-opus-4-5": replace(_CLAUDE, least_tokens=4_096),
    "claude-opus-4-6": replace(_CLAUDE, least_tokens=4_096),
    "claude-opus-4-7": replace(_CLAUDE, least_tokens=4_096),
    "openai": _OPENAI,
    "o3": replace(_OPENAI, read_share=0.25),
    "o4": replace(_OPENAI, read_share=0.25),
    "gpt-4.1": _OPENAI_LONG,
    "gpt-5": replace(_OPENAI_LONG, read_share=0.1),
    "google": CacheRule(3_600, 0.25),
    "deepseek": CacheRule(14_400, 0.1, least_tokens=64, step_tokens=64),
    "other": CacheRule(300, 0.5),
}
"""Rules by family, else by `other`. All read tools first, then the system prompt, then messages."""

_FAMILY_NAMES = frozenset(family.value for family in ModelFamily)


def plain_name(model: str) -> str:
    """Name a model in lower case, without a host."""
    return model.lower().rsplit("/", 1)[-1]


def rule_key(model: str | None, table: Mapping[str, object]) -> str:
    """Find a model's entry in a table: the longest start of the name, else the family.

    Args:
        model: The name, with or without a host before; None if nobody named a model.
        table: A table with families and starts of names as keys.

    Returns:
        A key; the family if no start fits, in the table or not.
    """
    name = plain_name(model or "")
    family = family_of(model) if model else ModelFamily.OTHER
    starts = (start for start in table if start not in _FAMILY_NAMES and name.startswith(start))
    return max(starts, key=len, default=family.value)


@lru_cache(maxsize=256)
def cache_rule(model: str | None) -> CacheRule:
    """Find the cache rule of a model's provider.

    Args:
        model: The name, with or without a host before; None if nobody named a model.
    """
    return CACHE_RULES.get(rule_key(model, CACHE_RULES), CACHE_RULES[ModelFamily.OTHER])


SECOND_TURN_SHARE = 0.75
"""Share of sessions assumed to read the first turn's list of tools again, in a second turn."""


def keeps_list_of_tools(*, all_tokens: int, fewer_tokens: int, prefix_tokens: int, rule: CacheRule) -> bool:
    """Decide whether to send all tools although fewer would do.

    Tools come first, so another list of tools takes everything behind out of the cache. The cost of all
    tools, cached, is compared with the cost of fewer tools and the prefix, read anew.

    Args:
        all_tokens: Tokens of all tools.
        fewer_tokens: Tokens of the tools requested by the message.
        prefix_tokens: Tokens behind the tools in a following request: system prompt and history.
        rule: The cache rule of the model's provider.

    Returns:
        True if the changed list costs more; False if such a short prefix is not cached, or no list changes.
    """
    if fewer_tokens >= all_tokens or all_tokens + prefix_tokens < rule.least_tokens:
        return False
    anew = max(rule.write_share, 1.0)
    return rule.read_share * (all_tokens + prefix_tokens) < anew * (fewer_tokens + prefix_tokens)


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
