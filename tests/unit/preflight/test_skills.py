"""Skill sections go with the tools that they are about, and nothing else is touched."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.preflight.choose_tools import cut_skills
from context.preflight.config import KNOWN_TOOLS

PROMPT = """You are a helper.
## Skill: web_search
Search well.
### How
Slowly.
## Skill: notes
Tools: memory_search, memory_get
Keep notes.
# Rules
Every skill is good.
```
## Skill: exec
```
<skill name="draw" tools="canvas, image">
Draw.
</skill>
<skill name='exec'>Run.</skill>
"""


TOOLS = ("web_search", "memory_search", "memory_get", "exec", "canvas", "image")


def trim_skills(prompt: str, allowlist: Collection[str] | None, tools: Collection[str] = KNOWN_TOOLS) -> str:
    return cut_skills(prompt, allowlist, tools=tools)[0]


def test_a_skill_goes_where_none_of_its_tools_stays() -> None:
    left = trim_skills(PROMPT, ["web_search", "image"], tools=TOOLS)
    assert "Search well." in left
    assert "Slowly." in left
    assert "Draw." in left
    assert "Keep notes." not in left
    assert "Run." not in left


def test_other_text_stays_as_it_is() -> None:
    left = trim_skills(PROMPT, [], tools=TOOLS)
    assert left == "You are a helper.\n# Rules\nEvery skill is good.\n```\n## Skill: exec\n```\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", " \r\n", "\u2028", "**\n"])
def test_a_skill_is_named_without_the_end_of_its_line(end: str) -> None:
    prompt = f"## Skill: exec{end}Run.{end}"
    assert cut_skills(prompt, [], tools=TOOLS) == ("", ("exec",))


def test_where_all_tools_stay_so_do_all_skills() -> None:
    assert trim_skills(PROMPT, None) == PROMPT


@pytest.mark.parametrize(
    "prompt",
    [
        "<skill name='a'>\nnever closed",
        "## Skills\nA list.\n",
        "```\n<skill name='a'>x</skill>\n",
    ],
)
def test_what_is_not_clearly_a_skill_stays(prompt: str) -> None:
    assert trim_skills(prompt, [], tools=["a"]) == prompt


def test_a_skill_about_tools_that_nobody_judged_stays() -> None:
    prompt = "## Skill: invoices\nTools: get_invoice\nAsk first.\n## Skill: exec\nCareful.\n"
    assert trim_skills(prompt, ["message"]) == "## Skill: invoices\nTools: get_invoice\nAsk first.\n"
    assert trim_skills(prompt, ["message"], tools=["get_invoice", "message"]).startswith("## Skill: exec")


def test_a_skill_inside_another_goes_alone() -> None:
    prompt = "<skill name='a'>\n<skill name='b'>\nInner.\n</skill>\nOuter.\n</skill>\n"
    assert trim_skills(prompt, [], tools=["a", "b"]) == "<skill name='a'>\nOuter.\n</skill>\n"


lines = st.lists(
    st.one_of(st.sampled_from(PROMPT.splitlines(keepends=True)), st.text(max_size=20)), max_size=20
)


@given(lines.map("".join), st.lists(st.sampled_from(["exec", "image", "web_search"])))
def test_trimming_only_removes_whole_lines_and_twice_is_once(prompt: str, allowlist: list[str]) -> None:
    left = trim_skills(prompt, allowlist, tools=TOOLS)
    rest = iter(prompt.splitlines(keepends=True))
    assert all(line in rest for line in left.splitlines(keepends=True))
    assert trim_skills(prompt, None) == prompt
