"""The Inspector's files: what they may not do, and what its pictures are made of."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from api.inspector.routes import ASSETS, FOLDER, PAGE

SCRIPTS = sorted(name for name in ASSETS if name.endswith(".js"))
TEXTS = {name: (FOLDER / name).read_text() for name in (PAGE, *sorted(ASSETS))}
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
    r"|\beval\b|\bFunction\(|setTimeout\(\s*[\"'`]|import\(|setHTML|createElementNS"
)
STORES = re.compile(
    r"localStorage|document\.cookie|indexedDB|sendBeacon|WebSocket|XMLHttpRequest|postMessage|EventSource"
)
ELSEWHERE = re.compile(r"""https?:|url\(|@import|["']//""")


def test_every_file_is_served_and_every_served_file_is_used() -> None:
    kept = {file.name for file in FOLDER.iterdir() if file.suffix in {".css", ".html", ".js"}}
    assert kept == {PAGE, *ASSETS}
    named = set(re.findall(r"""(?:href|src)="inspector/([^"]+)\"""", TEXTS[PAGE]))
    for name in SCRIPTS:
        named |= set(re.findall(r"""from "\./([^"]+)\"""", TEXTS[name]))
    assert named == ASSETS


def test_no_file_names_an_address_elsewhere() -> None:
    assert [name for name, text in TEXTS.items() if ELSEWHERE.search(text)] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_makes_markup_or_code_of_a_text(name: str) -> None:
    assert MARKUP.findall(TEXTS[name]) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_keeps_or_sends_anything_by_another_way(name: str) -> None:
    assert STORES.findall(TEXTS[name]) == []


def test_the_page_holds_neither_script_nor_style_of_its_own() -> None:
    page = TEXTS[PAGE]
    assert re.findall(r"\son\w+=|\sstyle=|<style|javascript:", page) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)", page) == []


def test_the_key_is_in_no_address_and_in_no_form_that_could_be_sent() -> None:
    assert re.findall(r"\sname=", re.sub(r"<meta [^>]*>", "", TEXTS[PAGE])) == []
    assert re.findall(r"<form[^>]*(?:action|method)=", TEXTS[PAGE]) == []
    told = [line for name in SCRIPTS for line in TEXTS[name].splitlines() if "${key}" in line]
    assert [line.strip().split(" = ")[0] for line in told] == ["const headers"]
    assert re.findall(r"\bfetch\(\w+", TEXTS["answers.js"]) == ["fetch(address"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_name_of_the_api_is_read_but_through_the_list(name: str) -> None:
    code = re.sub(r"export const API = \{.*?\n\};", "", TEXTS[name], flags=re.DOTALL)
    assert re.findall(r"\.[a-z]+_\w+", code) == []


def test_every_element_that_the_script_looks_for_is_in_the_page() -> None:
    ids = set(re.findall(r'\sid="([^"]+)"', TEXTS[PAGE]))
    script = TEXTS["inspector.js"]
    used = set(re.findall(r'\b(?:at|value)\("([^"]+)"\)', script))
    sections = re.findall(r"const SECTIONS = (.+);", script)
    used |= {f"at-{name}" for name in json.loads(sections[0])}
    assert len(used) > 10
    assert used <= ids


CERTIFICATE = {
    "fits": True,
    "input": 700,
    "budget": 800,
    "window": 1000,
    "most": 200,
    "covers": [1, 10],
    "tail": [15, 20],
    "contiguous": True,
    "pairs": True,
}
BLOCKS = [
    {"source": "overhead", "tokens": 10, "origin": "request"},
    {"source": "system_prompt", "tokens": 40, "origin": "request"},
    {"source": "summary", "tokens": 300, "origin": "summary 2, messages 1-10"},
    {"source": "history", "tokens": 250, "origin": "messages 15-20"},
    {"source": "recall", "tokens": 60, "origin": "messages 3"},
    {"source": "new", "tokens": 40, "origin": "request"},
]
EXCLUDED = [{"what": "messages 11-14", "why": "does-not-fit"}, {"what": "recall of messages 5-6", "why": "x"}]

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the page's script is run by node")


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """The scripts where node takes them for modules."""
    for name in SCRIPTS:
        shutil.copy(FOLDER / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    return tmp_path


def run(scripts: Path, module: str, call: str, *values: Any) -> Any:
    """Call one function of a module with these values."""
    given = ", ".join(json.dumps(value) for value in values)
    (scripts / "run.js").write_text(
        f'import * as it from "./{module}";\nconsole.log(JSON.stringify(it.{call}({given})));\n'
    )
    done = subprocess.run(
        ["node", "run.js"], cwd=scripts, check=True, capture_output=True, text=True, timeout=60
    )
    return json.loads(done.stdout)


@needs_node
def test_the_bar_is_the_whole_window(scripts: Path) -> None:
    parts = run(scripts, "picture.js", "segments", CERTIFICATE, BLOCKS)
    assert sum(part["tokens"] for part in parts) == CERTIFICATE["window"]
    assert [part["source"] for part in parts][-2:] == ["free", "reserved"]
    assert sum(part["share"] for part in parts) == pytest.approx(1)


@needs_node
def test_a_lower_budget_is_told_from_free_room(scripts: Path) -> None:
    parts = run(scripts, "picture.js", "segments", {**CERTIFICATE, "budget": 750}, BLOCKS)
    tokens = {part["source"]: part["tokens"] for part in parts[-3:]}
    assert tokens == {"free": 50, "unused": 50, "reserved": 200}


@needs_node
def test_the_conversation_is_divided_without_gap_or_overlap(scripts: Path) -> None:
    assert run(scripts, "picture.js", "runs", CERTIFICATE, EXCLUDED, 22) == [
        {"kind": "summary", "first": 1, "last": 10},
        {"kind": "excluded", "first": 11, "last": 14},
        {"kind": "history", "first": 15, "last": 20},
        {"kind": "absent", "first": 21, "last": 22},
    ]
    nothing = {**CERTIFICATE, "covers": None, "tail": None}
    assert run(scripts, "picture.js", "runs", nothing, [], 0) == []


@needs_node
def test_each_message_is_given_the_part_that_it_is_of(scripts: Path) -> None:
    roles = ["system", "user", *["user", "assistant"] * 3, "user", "user"]
    found = run(scripts, "picture.js", "origins", roles, BLOCKS, 1)
    assert [one["source"] for one in found] == ["system_prompt", "summary", *["history"] * 6, "recall", "new"]
    assert [one["origin"] for one in found[2:8]] == [f"message {seq}" for seq in range(15, 21)]


@needs_node
@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "hello", "calls": None}, "hello"),
        ({"content": None, "calls": None}, ""),
        ({"content": [{"type": "text", "text": "<b>"}], "calls": None}, "<b>"),
        ({"content": None, "calls": [{"function": {"name": "look", "arguments": "{}"}}]}, "→ look({})"),
        ({"content": {"odd": 1}, "calls": "odd"}, '{\n "odd": 1\n}'),
    ],
)
def test_whatever_a_message_holds_is_shown_as_text(scripts: Path, message: Any, text: str) -> None:
    assert run(scripts, "picture.js", "textOf", message) == text


@needs_node
def test_what_is_broken_is_said_to_be_broken(scripts: Path) -> None:
    broken = {**CERTIFICATE, "fits": False, "contiguous": False, "pairs": False}
    beside = {"assumed": ["max_tokens"], "activation": "pressure"}
    said = run(scripts, "picture.js", "words", broken, beside)
    assert [one["good"] for one in said] == [False, None, False, False, None, None]
    assert all(one["good"] is not False for one in run(scripts, "picture.js", "words", CERTIFICATE, beside))


@needs_node
def test_a_refusal_says_what_the_api_says_and_keeps_its_numbers(scripts: Path) -> None:
    told = {"title": "Over", "status": 422, "detail": "too much"}
    said = run(scripts, "answers.js", "refusal", 422, {**told, "type": "context-over-budget", "over_by": 9})
    assert said == {**told, "numbers": {"over_by": 9}}
    assert run(scripts, "answers.js", "refusal", 502, None)["title"] == "The server answered with status 502"


@needs_node
def test_blank_fields_are_not_sent(scripts: Path) -> None:
    given = {"model": "m", "window": None, "most": "", "prompt": "Help.", "catalog": "", "look": True}
    assert run(scripts, "answers.js", "write", given) == {
        "model": "m",
        "system_prompt": "Help.",
        "dry_run": True,
    }


@needs_node
def test_uploads_and_a_document_become_attachments(scripts: Path) -> None:
    both = [{"attachment_id": "art_1"}, {"attachment_id": "art_2"}, {"content": " a text\n"}]
    assert run(scripts, "fields.js", "attachments", "art_1, art_2", " a text\n") == both
    assert run(scripts, "fields.js", "attachments", " ", "\n") is None


@needs_node
def test_tools_are_taken_as_they_are_written(scripts: Path) -> None:
    assert run(scripts, "fields.js", "tools", ' [{"name": "look"}]') == [{"name": "look"}]
    assert run(scripts, "fields.js", "tools", " ") is None
    (scripts / "run.js").write_text(
        'import { tools } from "./fields.js";\n'
        'try { tools("[{"); } catch (error) { console.log(JSON.stringify({ ...error, at: error.title })); }\n'
    )
    done = subprocess.run(
        ["node", "run.js"], cwd=scripts, check=True, capture_output=True, text=True, timeout=60
    )
    told = json.loads(done.stdout)
    assert (told["title"], told["numbers"]) == ("The tools are not JSON", {"field": "tools"})
    assert told["detail"]


@needs_node
@pytest.mark.parametrize(
    ("named", "field"),
    [
        ("attachments[0].attachment_id", "attachments"),
        ("attachments[1].content", "document"),
        ("attachments", "attachments"),
        *(
            ("tools[3]", "tools"),
            ("focus", "focus"),
            ("context_window", "window"),
            ("messages[0]", "message"),
        ),
        *(("somewhere", None), (None, None)),
    ],
)
def test_the_field_that_a_refusal_names_is_found_in_the_form(
    scripts: Path, named: str | None, field: str | None
) -> None:
    assert run(scripts, "fields.js", "fieldOf", named, "art_1") == field
    assert field is None or f'id="{field}"' in TEXTS[PAGE]


@needs_node
@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"how": "near", "near": 0.81, "other": False}, "a summary for a near question (81 % alike)"),
        ({"how": "near", "near": 1, "other": True}, "a summary for this question, by another summarizer"),
        ({"how": "exact", "near": None, "other": False}, "a summary for this question"),
        ({"how": None, "near": None, "other": False}, "nothing"),
    ],
)
def test_what_is_shown_of_an_artifact_is_said_in_words(
    scripts: Path, shown: dict[str, Any], words: str
) -> None:
    assert run(scripts, "picture.js", "reading", shown) == words


def test_the_page_only_looks() -> None:
    sent = re.search(r"return write\(\{(.*?)\}\);", TEXTS["inspector.js"], re.DOTALL)
    assert sent is not None
    assert re.search(r"^\s*look: true$", sent[1], re.MULTILINE)
