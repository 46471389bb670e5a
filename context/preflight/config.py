"""A tenant's policy: switches, and changes to each category."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from context.conversation.ids import MAX_TOOL_NAME_CHARS
from context.errors import InvalidInputError
from context.preflight.by_category import KNOWN_TOOLS, THINKING
from context.preflight.lexicon.finder import UNSPACED, WORD, Lexicon, fold
from context.preflight.types import Category, ThinkingLevel

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
