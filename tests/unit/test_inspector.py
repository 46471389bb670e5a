"""The Inspector's files: what they may not do, and what its pictures are made of."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    assert name == "names.js" or re.findall(r"\.[a-z]+_\w+", TEXTS[name]) == []


def test_every_element_that_the_scripts_look_for_is_in_the_page() -> None:
    ids = set(re.findall(r'\sid="([^"]+)"', TEXTS[PAGE]))
    used: set[str] = set()
    for name in SCRIPTS:
        used |= set(re.findall(r'\b(?:at|value|getElementById)\("([^"]+)"\)', TEXTS[name]))
        used |= {f"at-{part}" for part in re.findall(r'page\.(?:fill|put)\("(\w+)"', TEXTS[name])}
    views = re.findall(r"const VIEWS = \[(.+?)\];", TEXTS["place.js"])
    used |= {f"view-{name}" for name in json.loads(f"[{views[0]}]")}
    assert len(used) > 30
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


MERGED = "2,357 tokens of version 2 and 665 tokens of messages 181\u2013200 became 1,611"
VERSIONS: list[dict[str, Any]] = [
    {"version": 3, "base": 2, "from": 1, "to": 200, "adds": [181, 200], "covered": 665, "tokens": 1_611},
    {"version": 2, "base": 1, "from": 1, "to": 180, "adds": [101, 180], "covered": 5_000, "tokens": 2_357},
    {"version": 1, "base": None, "from": 1, "to": 100, "adds": [1, 100], "covered": 7_814, "tokens": 900},
]


@needs_node
@pytest.mark.parametrize(
    ("version", "kept", "text"),
    [
        (1, 3, "7,814 tokens of messages 1\u2013100 became 900"),
        (
            3,
            3,
            f"{MERGED}; all messages 1\u2013200 have 13,479",
        ),
        (3, 2, MERGED),
        (3, 1, "version 2, which is deleted, and 665 tokens of messages 181\u2013200 became 1,611"),
    ],
)
def test_a_summary_names_its_base_beside_the_messages_that_it_adds(
    scripts: Path, version: int, kept: int, text: str
) -> None:
    one = next(found for found in VERSIONS if found["version"] == version)
    assert run(scripts, "picture.js", "growth", one, VERSIONS[:kept]) == text


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


def test_the_page_only_looks_unless_a_person_agrees() -> None:
    """A window is asked for as a look; every other call that is not a reading is made by `page.change`."""
    sent = re.search(r"return page\.write\(\{(.*?)\}\);", TEXTS["session.js"], re.DOTALL)
    assert sent is not None
    assert re.search(r"^\s*look: true$", sent[1], re.MULTILINE)
    calls = json.loads(re.findall(r"export const API = (\{.*\});", TEXTS["names.js"], re.DOTALL)[0])["calls"]
    asked = {call for name in SCRIPTS for call in re.findall(r'\bask\("(\w+)"', TEXTS[name])}
    changed = {call for name in SCRIPTS for call in re.findall(r'call: \["(\w+)"', TEXTS[name])}
    assert asked | changed == calls.keys()
    assert {call for call in asked if calls[call][0] != "GET"} == {"context", "rank"}
    assert "if (await agreed(" in TEXTS["inspector.js"].partition("async change(")[2][:90]


PLACES: list[tuple[str, dict[str, Any]]] = [
    ("#/sessions", {"view": "sessions", "id": "", "how": {}}),
    ("#/session/a%20b", {"view": "session", "id": "a b", "how": {}}),
    ("#/session/x%3Fy%23z%2F1?message=12&versions=2-3", {
        "view": "session", "id": "x?y#z/1", "how": {"message": "12", "versions": "2-3"},
    }),
    ("#/sessions?prefix=walk-&user=a%26b", {
        "view": "sessions", "id": "", "how": {"prefix": "walk-", "user": "a&b"},
    }),
]  # fmt: skip


@needs_node
@pytest.mark.parametrize(("address", "place"), PLACES)
def test_an_address_names_a_place_and_a_place_its_address(
    scripts: Path, address: str, place: dict[str, Any]
) -> None:
    assert run(scripts, "place.js", "placeOf", address) == place
    assert run(scripts, "place.js", "addressOf", place) == address


@needs_node
@pytest.mark.parametrize(
    ("address", "view", "named"),
    [
        *(("", "sessions", ""), ("#/nowhere/x", "sessions", ""), ("#walk-long", "session", "walk-long")),
        *(("#%E0%A4%A", "session", ""), ("#/session/%E0%A4%A", "session", "")),
    ],
)
def test_any_address_leads_somewhere(scripts: Path, address: str, view: str, named: str) -> None:
    place = run(scripts, "place.js", "placeOf", address)
    assert (place["view"], place["id"]) == (view, named)


@needs_node
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.lists(st.sampled_from("abcde"), max_size=12),
    after=st.lists(st.sampled_from("abcde"), max_size=12),
)
def test_a_comparison_holds_both_texts_whole(scripts: Path, before: list[str], after: list[str]) -> None:
    rows = run(scripts, "diff.js", "diffLines", "\n".join(before), "\n".join(after))
    assert [row["left"] for row in rows if row["left"] is not None] == (before or [""])
    assert [row["right"] for row in rows if row["right"] is not None] == (after or [""])
    assert all(row["same"] == (row["left"] == row["right"]) for row in rows)


@needs_node
def test_lines_that_stay_stand_beside_themselves(scripts: Path) -> None:
    rows = run(scripts, "diff.js", "diffLines", "a\nb\nc\nd", "a\nx\ny\nc\nd")
    assert [(row["left"], row["right"]) for row in rows] == [
        *(("a", "a"), ("b", "x"), (None, "y"), ("c", "c"), ("d", "d")),
    ]


@needs_node
@pytest.mark.parametrize(
    ("text", "seqs"),
    [
        *(("Hall 4 [12].", [12]), ("[3, 7\u20139] and [ 5 ]", [3, 7, 9, 5]), ("[12 · anna]", [12])),
        *(("list[0x1], [a], [] and 12", []), ("", [])),
    ],
)
def test_a_citation_leads_to_each_message_that_it_names(scripts: Path, text: str, seqs: list[int]) -> None:
    found = run(scripts, "picture.js", "cited", text)
    assert [part["seq"] for part in found if part["seq"] is not None] == seqs
    assert "".join(part["said"] for part in found) == text


@needs_node
def test_a_day_without_a_call_is_a_day_of_nothing(scripts: Path) -> None:
    rows = [
        {"day": "2026-02-28", "input": 10, "output": 5, "price": 0.5},
        {"day": "2026-02-28", "input": 1, "output": 1, "price": None},
        {"day": "2026-03-02", "input": 2, "output": 0, "price": 0.25},
    ]
    assert run(scripts, "picture.js", "byDay", rows, "2026-02-27", "2026-03-02") == [
        {"day": "2026-02-27", "tokens": 0, "price": 0},
        {"day": "2026-02-28", "tokens": 17, "price": 0.5},
        {"day": "2026-03-01", "tokens": 0, "price": 0},
        {"day": "2026-03-02", "tokens": 2, "price": 0.25},
    ]


@needs_node
def test_a_ranking_shows_the_place_that_words_alone_would_give(scripts: Path) -> None:
    entries = [{"id": name, "words": words} for name, words in (("b", 1.0), ("a", 3.0), ("c", 1.0))]
    found = run(scripts, "picture.js", "moves", entries)
    assert [(one["id"], one["place"], one["byWords"]) for one in found] == [
        ("b", 1, 2),
        ("a", 2, 1),
        ("c", 3, 3),
    ]


@needs_node
def test_ids_and_queries_are_written_into_an_address_whatever_they_hold(scripts: Path) -> None:
    given = ["a/b?c#d", 3]
    assert (
        run(scripts, "answers.js", "pathOf", "eraseMessage", given) == "v1/sessions/a%2Fb%3Fc%23d/messages/3"
    )
    query = {"prefix": "a&b=c", "user": "", "cursor": None}
    assert run(scripts, "answers.js", "pathOf", "sessions", [], query) == "v1/sessions?prefix=a%26b%3Dc"
