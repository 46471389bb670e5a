"""Choice among the caller's tools, and removal of skills whose tools do not stay.

A skill is a section under a heading `## Skill: name`, up to the next heading that is no deeper, or a block
`<skill name="name">…</skill>`. A line `Tools: a, b` or an attribute `tools="a, b"` names the tools of the
skill; without either, the skill is about the tool of its own name.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from context.preflight.config import KNOWN_TOOLS, TOOLS, PreflightRules
from context.preflight.types import Category, Preflight, write_hint

_CALLING = frozenset({"use", "using", "call", "calling", "run", "with", "via", "through", "invoke", "tool"})
NONE_KNOWN = "tools.not_in_the_table"
"""Reason given when none of the caller's tools is known to any category."""

NONE_NEEDED = "tools.none_of_those_needed"
"""Reason given when none of the caller's known tools is needed."""

LARGE = 64
"""Tools above which the words of a message decide about unknown tools; among fewer, little is saved."""

_OPEN = frozenset({NONE_KNOWN, NONE_NEEDED})
_OF_ONE_KIND = frozenset({Category.MEDIA, Category.CRYPTO})
"""Subjects whose tools are named by the subject's own words; other tasks may need a tool of any name."""

_LISTS_KEPT = 32
_MOST_KEPT = 1_000
_MOST_CHARS_KEPT = 40_000
"""Length of the longest cached list of tools, so that callers do not decide the memory taken."""


@dataclass(frozen=True)
class MatchedTools:
    """Tools matched by a question's words.

    Attributes:
        best: The best few, best first; empty without a match.
        near: All tools that the words point at; None where the words leave that open.
        first: The first tools by rank, for a task that no tool serves by its words.
    """

    best: tuple[str, ...] = ()
    near: tuple[str, ...] | None = None
    first: tuple[str, ...] = ()


NOTHING_MATCHED = MatchedTools()


def wanted_tools(categories: Sequence[Category], config: PreflightRules) -> tuple[str, ...]:
    """List the tools needed by the categories, the tenant's additions, and the tools that always stay."""
    wanted: dict[str, None] = {}
    for category in categories:
        wanted.update(dict.fromkeys(TOOLS.get(category, ())))
    for category in categories:
        if category in config.categories:
            wanted.update(dict.fromkeys(config.categories[category].extra_tools))
    wanted.update(dict.fromkeys(config.always_include))
    return tuple(wanted)


def choose_tools(
    wanted: Sequence[str],
    tools: Sequence[str] | None,
    *,
    pinned: Collection[str],
    config: PreflightRules,
) -> tuple[tuple[str, ...] | None, str]:
    """Choose among the caller's tools, never adding any.

    Args:
        wanted: The tools needed by the categories.
        tools: The caller's names, in order; None if not given.
        pinned: Names that stay for any message.
        config: The policy.

    Returns:
        The names that stay, or None if all stay; and the reason. The names stand in the caller's order, or,
        without given names, the needed ones before the pinned ones, which are sorted.
    """
    if tools is None:
        return tuple(dict.fromkeys([*wanted, *sorted(pinned)])), "tools.by_category"
    judged = config.known_tools.intersection(tools)
    if not judged:
        return None, NONE_KNOWN
    needed = set(wanted)
    if judged.isdisjoint(needed) and not needed.issubset(config.always_include):
        return None, NONE_NEEDED
    needed.update(pinned)
    return tuple(name for name in tools if name in needed), "tools.by_category"


def named_tools(tools: Sequence[str], words: Sequence[str]) -> list[str]:
    """List the tools requested by name in a message; `words` are the message's words, folded, in order."""
    is_kept = len(tools) <= _MOST_KEPT and sum(map(len, tools)) <= _MOST_CHARS_KEPT
    by_head = (_by_head if is_kept else _by_head.__wrapped__)(tuple(tools))
    heads = [head for head in dict.fromkeys(words) if head in by_head]
    return [name for head in heads for name in by_head[head] if is_named(name, words)]


@lru_cache(_LISTS_KEPT)
def _by_head(tools: tuple[str, ...]) -> dict[str, list[str]]:
    """The same tools come with request after request."""
    found: dict[str, list[str]] = {}
    for name in tools:
        found.setdefault(_folded(name).partition("_")[0], []).append(name)
    return found


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def is_named(name: str, words: Sequence[str]) -> bool:
    """Tell whether a message requests a tool by name.

    Args:
        name: The tool's name.
        words: The message's words, folded, in order.

    Returns:
        True if all words of a longer name stand together, or a single word follows "use", "call", "with the".
    """
    parts = tuple(_folded(name).split("_"))
    for place, word in enumerate(words):
        if word == parts[0] and tuple(words[place : place + len(parts)]) == parts:
            before = [one for one in words[max(place - 2, 0) : place] if one != "the"]
            if len(parts) > 1 or (before and before[-1] in _CALLING):
                return True
    return False


def by_words(
    found: Preflight,
    tools: Sequence[str] | None,
    matched: MatchedTools,
    *,
    pinned: Collection[str],
    known: Collection[str],
) -> Preflight:
    """Decide about the unknown tools of a long list by the words of the message.

    No category speaks for an unknown tool. Where the words leave the choice open, or a message goes on with a
    task without naming the tools, unknown tools stay. Small talk leaves the first ones, and none beside known
    ones. A task that needs tools of its own kind, of which the words point at none, leaves the first ones.

    Args:
        found: The decision, by categories.
        tools: The names of the caller's tools.
        matched: The tools that the words point at, and the first ones by rank.
        pinned: Tools that stay for any message.
        known: Tools known to a category.
    """
    is_talk = found.categories == (Category.CASUAL,)
    if tools is None or len(tools) <= LARGE or (is_talk and found.tool_allowlist is not None):
        return found
    near = matched.near
    if found.inherited:
        near = None
    elif is_talk or (near is None and found.categories and _OF_ONE_KIND.issuperset(found.categories)):
        near = matched.first
    if found.tool_allowlist is not None:
        unknown = set(tools).difference(known)
        stay = {*found.tool_allowlist, *(unknown if near is None else unknown.intersection(near))}
    elif near is not None and not _OPEN.isdisjoint(found.reasons):
        stay = {*near, *pinned, *known}
    else:
        return found
    allowlist = tuple(name for name in tools if name in stay)
    reasons = (*(reason for reason in found.reasons if reason not in _OPEN), "tools.by_words")
    hint = write_hint(found.categories, allowlist, found.thinking_level) if found.hint is not None else None
    hidden = len(tools) - len(allowlist)
    return replace(found, tool_allowlist=allowlist, hidden=hidden, hint=hint, reasons=reasons)


_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_SKILL_HEADING = re.compile(r"skill:[ \t]*(\S.*)", re.IGNORECASE)
_OPENING = re.compile(r"[ \t]{0,8}<skill\b([^<>]*)>", re.IGNORECASE)
_CLOSING = re.compile(r"</skill[ \t]*>[ \t]*\n?\Z", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\b(name|tools)[ \t]*=[ \t]*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_TOOLS_LINE = re.compile(r"[ \t]*+[-*]?[ \t]*+\**tools:?\**:?[ \t]*(\S.*)", re.IGNORECASE)
_NAME = re.compile(r"[\w.:/-]+")


@dataclass
class _Part:
    """Lines that stay or go together; `names` is None for text outside skills."""

    lines: list[str]
    names: frozenset[str] | None = None


def cut_skills(
    system_prompt: str, allowlist: Collection[str] | None, *, tools: Collection[str] = KNOWN_TOOLS
) -> tuple[str, tuple[str, ...]]:
    """Remove the skills about hidden tools only, and name them; all other text stays unchanged.

    Args:
        system_prompt: The caller's system prompt.
        allowlist: The names of the tools that stay; None for all.
        tools: The judged tools: the caller's, if given. A skill about no judged tool stays.

    Returns:
        The prompt, the same text if there is nothing to remove, and the removed skills, each once.
        An unclosed block, or a block around another block, stays.
    """
    if allowlist is None or "skill" not in system_prompt.casefold():
        return system_prompt, ()
    hidden = frozenset(tools).difference(allowlist)
    kept: list[str] = []
    cut: dict[str, None] = {}
    for part in _parts(system_prompt.splitlines(keepends=True)):
        if part.names is None or part.names.isdisjoint(hidden) or not part.names.isdisjoint(allowlist):
            kept.extend(part.lines)
        else:
            cut[_name_of(part.lines)] = None
    return "".join(kept), tuple(cut)


def _name_of(body: Sequence[str]) -> str:
    """Return the name of a skill, from its heading or its tag."""
    return _head_of(body)[0]


def _head_of(body: Sequence[str]) -> tuple[str, str]:
    """Return the name of a skill and the tools of its tag."""
    opening = _OPENING.match(body[0])
    if opening is not None:
        given = {found[1].lower(): found[2] or found[3] or "" for found in _ATTRIBUTE.finditer(opening[1])}
        return given.get("name", ""), given.get("tools", "")
    heading = _HEADING.match(body[0])
    skill = _SKILL_HEADING.match(heading[2]) if heading else None
    return skill[1].strip().strip("`* ") if skill else "", ""


def _parts(lines: Sequence[str]) -> Iterator[_Part]:
    closings = [place for place, line in enumerate(lines) if _CLOSING.search(line)]
    place = 0
    in_fence = False
    while place < len(lines):
        line = lines[place]
        if _FENCE.match(line):
            in_fence = not in_fence
        end = None if in_fence else _end_of_skill(lines, place, closings)
        if end is None:
            yield _Part([line])
            place += 1
        else:
            body = list(lines[place:end])
            yield _Part(body, _tools_of(body))
            place = end


def _end_of_skill(lines: Sequence[str], place: int, closings: Sequence[int]) -> int | None:
    """Return the end of a skill that begins at a line; None without a skill."""
    if _OPENING.match(lines[place]):
        after = bisect_left(closings, place)
        return _end_of_block(lines, place, closings[after]) if after < len(closings) else None
    heading = _HEADING.match(lines[place])
    if heading is None or not _SKILL_HEADING.match(heading[2]):
        return None
    return _end_of_section(lines, place + 1, depth=len(heading[1]))


def _end_of_block(lines: Sequence[str], start: int, closing: int) -> int | None:
    """Return the end of a block; None for a nested block, since the closing tag may belong to either."""
    nested = any(_OPENING.match(line) for line in lines[start + 1 : closing + 1])
    return None if nested else closing + 1


def _end_of_section(lines: Sequence[str], start: int, *, depth: int) -> int:
    in_fence = False
    for place in range(start, len(lines)):
        if _FENCE.match(lines[place]):
            in_fence = not in_fence
        heading = None if in_fence else _HEADING.match(lines[place])
        if heading and len(heading[1]) <= depth:
            return place
        if not in_fence and _OPENING.match(lines[place]):
            return place
    return len(lines)


def _tools_of(body: Sequence[str]) -> frozenset[str]:
    name, tools = _head_of(body)
    for line in body[1:]:
        if not tools and (found := _TOOLS_LINE.match(line)):
            tools = found[1]
    return frozenset(_NAME.findall(tools)) or frozenset({name.strip("`* ")})
