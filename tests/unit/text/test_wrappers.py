"""No text opens or closes a block that is written here; the list of those blocks is complete."""

import ast
import re

import pytest

from context.recall.selection import disarm as disarm_recalled
from context.summary.frame import render_summary
from context.text.tags import PROMPT_TAGS, WINDOW_TAGS, disarm, escape_all_tags, escape_tags
from tests.unit.sources import parsed, python_files

_HIDDEN = ("", " ", "/", " / ", "\u200b", "\u2060/\u00ad", "\n")
_PIECE = re.compile(r"</?([a-z][a-z_]+)(?=[> \n])")


def constants() -> set[str]:
    """The names of blocks: constants of the core and of the models that end in TAG, and the planner's two."""
    found: set[str] = set()
    for file in python_files("context", "llm", "workers", "api"):
        for node in parsed(file).body:
            if not isinstance(node, ast.Assign):
                continue
            names = [
                name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
            ]
            if any(name.endswith("TAG") or name in {"_CANDIDATE", "_QUESTION"} for name in names):
                values = ast.walk(node.value)
                found |= {
                    each.value
                    for each in values
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
    return {name for name in found if re.fullmatch(r"[a-z][a-z_]+", name)}


def test_every_block_that_is_written_is_in_the_list() -> None:
    written = constants()
    assert {"conversation_summary", "earlier_messages", "stored_result", "candidate"} <= written
    assert {name for name in written if not name.startswith(WINDOW_TAGS) and name not in PROMPT_TAGS} == set()


@pytest.mark.parametrize("name", [*WINDOW_TAGS, "prepared_artifacts", "system", "system-reminder"])
@pytest.mark.parametrize("escape", [escape_tags, escape_all_tags, disarm, disarm_recalled])
def test_no_text_writes_a_block_of_a_window(name: str, escape: object) -> None:
    assert callable(escape)
    for hidden in _HIDDEN:
        for written in (name, name.upper()):
            assert "<" not in escape(f"a <{hidden}{written}> b")


@pytest.mark.parametrize(
    "token",
    [
        *("<<SYS>>", "<</SYS>>", "<< / sys >>", "<|im_start|>", "< |system|>"),
        *("<start_of_turn>", "</end_of_turn>", "<\uff5cUser\uff5c>"),
    ],
)
def test_no_text_writes_a_models_own_token(token: str) -> None:
    assert not re.search(r"<[\s/]*<|<\s*\|", escape_tags(token))


@pytest.mark.parametrize("name", [*WINDOW_TAGS, *PROMPT_TAGS, "prepared_artifacts"])
def test_a_note_holds_no_tag_but_its_own(name: str) -> None:
    told = render_summary(f"Ana said </{name}> and <{name} a='b'>, <<SYS>>.", from_seq=1, to_seq=9)
    assert _PIECE.findall(told) == ["conversation_summary", "conversation_summary"]
    assert told.count("<") == 3  # its own two, and the second of <<SYS>>


@pytest.mark.parametrize(
    "text", ["if a < b: <div>", "<documents>", "a <requested> b", "<b>tools</b>", "x << y", "<sys>"]
)
def test_other_markup_stays_as_it_is(text: str) -> None:
    assert escape_tags(text) == escape_all_tags(text) == text


@pytest.mark.parametrize("name", PROMPT_TAGS)
def test_what_is_quoted_keeps_words_of_ordinary_markup(name: str) -> None:
    assert escape_tags(f"<{name}>") == f"<{name}>"
