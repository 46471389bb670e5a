"""The policy of preflight: thresholds, weights, rights of each category, and a tenant's changes."""

# ruff: noqa: E501 - tables of words in several scripts

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from context.errors import InvalidInputError
from context.preflight.signs import UNSPACED, WORD, Lexicon, fold
from context.preflight.types import THINKING_ORDER, Category, MemoryParams, ThinkingLevel
from context.text.sanitize import MAX_TOOL_NAME_CHARS

_TABLE: dict[Category, str] = {
    Category.CASUAL: (
        "casual.greeting 1 casual.thanks 1 casual.bye 1 casual.yes 1 casual.no 1 casual.maybe 1 casual.indifferent 1 casual.praise .7 "
        "casual.daytime .3 casual.address .3 casual.joke 1.2 casual.persona 1 casual.feeling .6 shape.short .4 shape.single .3 shape.wordless 1 both.you_question .7 you.word .3 "
        "code.file -.7 code.craft -.7 code.lang -.7 code.shell -.5 code.act -.5 ask.place -.5 ask.world -.4 ask.food -.6 media.thing -.5 media.play -.5 "
        "ops.thing -.3 ops.strong -.7 shape.middle -.6 plan.want -.2 ask.search -.4 ask.topic -.6 code.strong -.8 coin.word -.7 coin.name -.7 shape.long -2"
    ),
    Category.RESEARCH: (
        "ask.what 1 ask.search .7 ask.explain 1 ask.topic 1 ask.tell .5 ask.show .5 ask.world .7 ask.place .8 ask.food .8 shape.question .5 shape.link .6 "
        "both.you_question 1 ask.generic .4 attached.document .6"
    ),
    Category.CODING: (
        "code.strong 1 code.file .7 code.craft .7 code.lang .8 code.shell .7 code.act .45 shape.identifier .4 shape.operator .5 shape.fence 1.2 shape.path .6 "
        "shape.link .25 ops.thing .25 ops.strong .3"
    ),
    Category.CRYPTO: "coin.name 1 coin.word 1 coin.weak .4 shape.dollar .4 shape.cashtag .8",
    Category.MEDIA: "media.thing .65 ask.search .35 ask.show .35 media.verb 1 media.act .35 media.cue .4 media.play 1 shape.media_file .6 both.make_media .3 attached.media 1.2",
    Category.MONITORING: "both.is_up 1 ops.metric 1 ops.strong 1 ops.thing .6 ops.check .6 code.file .15 code.strong .15 shape.path .15 code.act .3 mem.mine -.2",
    Category.MEMORY: (
        "mem.recall 1 mem.when .4 mem.past .3 mem.mine .3 both.my_question .7 both.own_question .7 both.affair_question .8 shape.question .2 mem.i .2"
    ),
    Category.COMPLEX: (
        "shape.long 1 shape.middle .35 plan.steps .5 both.first_then .7 plan.several .7 plan.analyze .5 plan.deliver .45 plan.also .4 shape.sentences .5 shape.many_sentences .3 "
        "shape.list .7 shape.many_questions .8 both.want_more .2 shape.path .2 shape.document .5"
    ),
}


def _read(table: dict[Category, str]) -> dict[str, tuple[tuple[int, float], ...]]:
    weights: dict[str, tuple[tuple[int, float], ...]] = {}
    for place, category in enumerate(Category):
        line = table[category]
        parts = line.split()
        for sign, weight in zip(parts[::2], parts[1::2], strict=True):
            weights[sign] = (*weights.get(sign, ()), (place, float(weight)))
    return weights


WEIGHTS = _read(_TABLE)
"""By sign, the weight added to each category, by place among the categories."""


_TOOLS = {
    Category.CASUAL: "message",
    Category.RESEARCH: "exec web_fetch web_search message read",
    Category.CODING: "exec read write edit apply_patch process message",
    Category.CRYPTO: "exec message web_fetch web_search",
    Category.MEDIA: "exec message",
    Category.MONITORING: "exec message",
    Category.MEMORY: "memory_search memory_get message",
}
TOOLS = {category: tuple(names.split()) for category, names in _TOOLS.items()}
"""Tools by category, without `complex`, which needs all of them."""

KNOWN_TOOLS = frozenset(name for names in TOOLS.values() for name in names)
"""The tools named in the table."""

FULL_MEMORY = MemoryParams(15, 500)
MEMORY = {
    Category.CASUAL: MemoryParams(0, 0),
    Category.RESEARCH: MemoryParams(10, 400),
    Category.CODING: MemoryParams(5, 200),
    Category.CRYPTO: MemoryParams(8, 300),
    Category.MEDIA: MemoryParams(3, 150),
    Category.MONITORING: MemoryParams(3, 150),
    Category.MEMORY: MemoryParams(25, 1000),
    Category.COMPLEX: FULL_MEMORY,
}

DEFAULT_THINKING = ThinkingLevel.LOW
THINKING = {
    Category.CASUAL: ThinkingLevel.OFF,
    Category.RESEARCH: ThinkingLevel.LOW,
    Category.CODING: ThinkingLevel.MEDIUM,
    Category.CRYPTO: ThinkingLevel.MEDIUM,
    Category.MEDIA: ThinkingLevel.OFF,
    Category.MONITORING: ThinkingLevel.OFF,
    Category.MEMORY: ThinkingLevel.LOW,
    Category.COMPLEX: ThinkingLevel.HIGH,
}


def highest(levels: list[ThinkingLevel]) -> ThinkingLevel:
    """The highest of several levels; the default of none."""
    return max(levels, key=THINKING_ORDER.index, default=DEFAULT_THINKING)


def widest(params: list[MemoryParams]) -> MemoryParams:
    """Return the most permissive of several parameters, each number for itself; full memory for none."""
    if not params:
        return FULL_MEMORY
    found = MemoryParams(0, 0)
    for one in params:
        found = found.widest(one)
    return found


MAX_PATTERNS = 200
MAX_PATTERN_CHARS = 100
MAX_TOOLS = 500
MAX_THRESHOLD = 100_000

_NOT_LITERAL = re.compile(r"[\\()\[\]{}|^]|[.*?][*+?]|\+[*?]")
_INNER_STAR = re.compile(r"\*(?!\Z)")


@dataclass(frozen=True)
class CategoryConfig:
    """A tenant's changes to one category.

    Attributes:
        extra_patterns: Further words and phrases, each enough to recognize the category. `*` at the end of a
            single word stands for any ending.
        extra_tools: Further tools needed by the category.
        thinking_level: The level of thought; None for the usual level.
        disabled: True if the category is never recognized.
    """

    extra_patterns: tuple[str, ...] = ()
    extra_tools: tuple[str, ...] = ()
    thinking_level: ThinkingLevel | None = None
    disabled: bool = False


@dataclass(frozen=True)
class PreflightRules:
    """A policy; the default applies to every new tenant.

    Attributes:
        enabled: True if anything is classified at all.
        tool_filtering: True if tools are removed.
        memory_tuning: True if memory parameters follow the categories.
        thinking_tuning: True if the level of thought follows the categories.
        prompt_annotation: True if there is a hint.
        always_include: Tools that are never removed.
        complex_threshold: Length above which a message is complex, in characters, >= 1.
        fallback_to_full: True if all tools pass when no category is recognized, or is too unsure.
        min_confidence: Confidence below which a category is too unsure, in [0, 1].
        categories: Changes to each category.
    """

    enabled: bool = True
    tool_filtering: bool = True
    memory_tuning: bool = True
    thinking_tuning: bool = True
    prompt_annotation: bool = True
    always_include: tuple[str, ...] = ("message",)
    complex_threshold: int = 300
    fallback_to_full: bool = True
    min_confidence: float = 0.4
    categories: Mapping[Category, CategoryConfig] = field(default_factory=dict)

    @cached_property
    def own_words(self) -> Lexicon | None:
        """The words of `extra_patterns`; None without any."""
        table = {
            f"own.{name}": one.extra_patterns for name, one in self.categories.items() if one.extra_patterns
        }
        return Lexicon(table) if table else None

    @cached_property
    def known_tools(self) -> frozenset[str]:
        """The tools covered by the policy; other tools are not judged."""
        named = KNOWN_TOOLS.union(*(one.extra_tools for one in self.categories.values()))
        return named.difference(self.always_include)

    @cached_property
    def thinking_levels(self) -> Mapping[Category, ThinkingLevel]:
        """The level of thought of each category."""
        own = {name: one.thinking_level for name, one in self.categories.items() if one.thinking_level}
        return {**THINKING, **own}

    @cached_property
    def disabled(self) -> frozenset[Category]:
        """The categories never recognized."""
        return frozenset(name for name, one in self.categories.items() if one.disabled)


_SWITCHES = {
    "enabled": "enabled",
    "toolFiltering": "tool_filtering",
    "memoryTuning": "memory_tuning",
    "thinkingTuning": "thinking_tuning",
    "promptAnnotation": "prompt_annotation",
    "fallbackToFull": "fallback_to_full",
}
_NAMES = {
    **_SWITCHES,
    "alwaysInclude": "always_include",
    "complexThreshold": "complex_threshold",
    "minConfidence": "min_confidence",
    "categories": "categories",
}
_CATEGORY_NAMES = {
    "extraPatterns": "extra_patterns",
    "extraTools": "extra_tools",
    "thinkingLevel": "thinking_level",
    "disabled": "disabled",
}


def read_config(data: object, *, base: PreflightRules | None = None) -> PreflightRules:
    """Read a policy from JSON; names in either spelling, `toolFiltering` or `tool_filtering`.

    Args:
        data: A decoded JSON object.
        base: The policy for fields missing in the object; the default policy if not given.

    Raises:
        InvalidInputError: A field is unknown, or its value cannot be used; the field is named.
    """
    base = base or PreflightRules()
    given = _fields(data, "policy", _NAMES)
    values: dict[str, Any] = {}
    for name, value in given.items():
        path = _spelling(_NAMES, name)
        if name in _SWITCHES.values():
            values[name] = _switch(value, path)
        elif name == "always_include":
            values[name] = _tools(value, path)
        elif name == "complex_threshold":
            values[name] = _number(value, path, 1, MAX_THRESHOLD, whole=True)
        elif name == "min_confidence":
            values[name] = float(_number(value, path, 0, 1))
        else:
            values[name] = _categories(value, path)
    known = {name: getattr(base, name) for name in _NAMES.values()}
    return PreflightRules(**{**known, **values})


def write_config(config: PreflightRules) -> dict[str, Any]:
    """Write a policy as JSON; `read_config` gives the same policy again."""
    written: dict[str, Any] = {spelled: getattr(config, name) for spelled, name in _NAMES.items()}
    written["alwaysInclude"] = list(config.always_include)
    written["categories"] = {
        str(category): {
            "extraPatterns": list(one.extra_patterns),
            "extraTools": list(one.extra_tools),
            **({"thinkingLevel": str(one.thinking_level)} if one.thinking_level else {}),
            "disabled": one.disabled,
        }
        for category, one in config.categories.items()
    }
    return written


def _spelling(names: Mapping[str, str], name: str) -> str:
    return next(spelled for spelled, known in names.items() if known == name)


def _fields(data: object, path: str, names: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise InvalidInputError(path, "must be an object")
    found: dict[str, Any] = {}
    for key, value in data.items():
        name = names.get(key, key)
        if name not in names.values():
            raise InvalidInputError(f"{path}.{key}", f"is not a known field; there are {', '.join(names)}")
        if value is not None:
            found[name] = value
    return found


def _switch(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(path, "must be true or false")
    return value


def _number(value: object, path: str, low: int, high: int, *, whole: bool = False) -> int | float:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        raise InvalidInputError(path, f"must be {what} from {low} to {high}", low=low, high=high)
    return value


def _tools(value: object, path: str) -> tuple[str, ...]:
    return tuple(_texts(value, path, most=MAX_TOOLS, chars=MAX_TOOL_NAME_CHARS))


def _texts(value: object, path: str, *, most: int, chars: int) -> Sequence[str]:
    if not isinstance(value, (list, tuple)):
        raise InvalidInputError(path, "must be a list")
    if len(value) > most:
        raise InvalidInputError(path, f"holds too many: at most {most}", limit=most)
    for place, text in enumerate(value):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInputError(f"{path}[{place}]", "must be a text that is not empty")
        if len(text) > chars:
            raise InvalidInputError(
                f"{path}[{place}]", f"is too long: at most {chars} characters", limit=chars
            )
    return value


def _categories(value: object, path: str) -> dict[Category, CategoryConfig]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(path, "must be an object")
    found = {}
    for name, changes in value.items():
        if name not in set(Category):
            known = ", ".join(Category)
            raise InvalidInputError(f"{path}.{name}", f"is not a category; there are {known}")
        found[Category(name)] = _category(changes, f"{path}.{name}")
    return found


def _category(data: object, path: str) -> CategoryConfig:
    given = _fields(data, path, _CATEGORY_NAMES)
    values: dict[str, Any] = {}
    for name, value in given.items():
        here = f"{path}.{_spelling(_CATEGORY_NAMES, name)}"
        if name == "extra_patterns":
            patterns = _texts(value, here, most=MAX_PATTERNS, chars=MAX_PATTERN_CHARS)
            values[name] = tuple(_pattern(text, f"{here}[{place}]") for place, text in enumerate(patterns))
        elif name == "extra_tools":
            values[name] = _tools(value, here)
        elif name == "thinking_level":
            values[name] = _level(value, here)
        else:
            values[name] = _switch(value, here)
    return CategoryConfig(**values)


def _level(value: object, path: str) -> ThinkingLevel:
    if value not in set(ThinkingLevel):
        raise InvalidInputError(path, f"is unknown; allowed: {', '.join(ThinkingLevel)}")
    return ThinkingLevel(str(value))


def _pattern(text: str, path: str) -> str:
    """Accept words and phrases only: patterns are looked up, so no pattern can make a request slow."""
    plain = text.strip()
    if _NOT_LITERAL.search(plain) or _INNER_STAR.search(plain):
        raise InvalidInputError(
            path, "must be a word or a phrase, not a regular expression; `*` may stand at the end of a word"
        )
    folded = fold(plain)
    if not UNSPACED.search(folded) and not WORD.search(folded):
        raise InvalidInputError(path, "holds no word")
    if plain.endswith("*") and len(WORD.findall(folded)) > 1:
        raise InvalidInputError(path, "may end with `*` only where it is a single word")
    return plain
