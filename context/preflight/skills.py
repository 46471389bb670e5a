"""Removal of skills from a system prompt if their tools do not stay.

A skill is a section under a heading `## Skill: name`, up to the next heading that is no deeper, or a block
`<skill name="name">…</skill>`. A line `Tools: a, b` or an attribute `tools="a, b"` names the tools of the
skill; without either, the skill is about the tool of its own name.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from context.preflight.by_category import KNOWN_TOOLS

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
    opening = _OPENING.match(body[0])
    if opening is not None:
        given = {found[1].lower(): found[2] or found[3] or "" for found in _ATTRIBUTE.finditer(opening[1])}
        return given.get("name", "")
    heading = _HEADING.match(body[0])
    skill = _SKILL_HEADING.match(heading[2]) if heading else None
    return skill[1].strip("`* \t\n") if skill else ""


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
    opening = _OPENING.match(body[0])
    if opening is not None:
        given = {found[1].lower(): found[2] or found[3] or "" for found in _ATTRIBUTE.finditer(opening[1])}
        name, tools = given.get("name", ""), given.get("tools", "")
    else:
        heading = _HEADING.match(body[0])
        skill = _SKILL_HEADING.match(heading[2]) if heading else None
        name, tools = skill[1].strip() if skill else "", ""
    for line in body[1:]:
        if not tools and (found := _TOOLS_LINE.match(line)):
            tools = found[1]
    return frozenset(_NAME.findall(tools)) or frozenset({name.strip("`* ")})
