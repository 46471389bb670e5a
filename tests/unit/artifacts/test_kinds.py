# ruff: noqa: RUF001 - full-width commas are part of the text
"""How a text is built is told from the text alone, in bounded time."""

import json
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context.artifacts.content import kind_of
from context.artifacts.types import ContentKind
from tests.data import data_dir, read_jsonl
from tests.unit.linear.growth import MOST_GROWTH, growth_of
from tests.unit.linear.texts import Shape

LOG = """\
2024-05-01 10:00:00,123 INFO app: started
2024-05-01 10:00:01,456 ERROR app: it broke, badly, twice
Traceback (most recent call last):
  File "a.py", line 3, in main
2024-05-01 10:00:02,789 INFO app: again
"""
SYSLOG = """\
May  1 10:00:00 host sshd[12]: Accepted publickey
May  1 10:00:03 host cron[13]: ran
May  1 10:00:09 host kernel: [12.345678] eth0: link up
"""
ACCESS = '10.0.0.1 - - [01/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 12\n' * 4
COMPILER = """\
src/main.ts(12,28): error TS2304: Cannot find name 'settings'.
src/main.ts(13,5): error TS2304: Cannot find name 'x', or its type.
src/other.ts(1,1): error TS2551: Property 'a' does not exist.
"""
DIFF = """\
diff --git a/a.py b/a.py
index 83db48f..bf269f4 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,4 @@ def main():
 def main():
-    return 1
+    value = 2
+    return value
"""
PYTHON = """\
import os
from pathlib import Path


def read(path: Path) -> str:
    # comment, with words
    if not path.exists():
        return ""
    return path.read_text()


class Reader:
    def __init__(self) -> None:
        self.seen = {}
"""
TYPESCRIPT = """\
import { Agent } from "agent";

export class Main {
  private agent: Agent;

  constructor() {
    this.agent = new Agent();
  }
}
"""
SQL = """\
CREATE TABLE users (
    id int primary key,
    name text
);
SELECT name FROM users WHERE id = 1;
INSERT INTO users VALUES (1, 'x');
"""
MARKDOWN = """\
# Title

Some words about the thing, which go on for a while.

## Usage

- first do this
- then do that

```python
import os
def main():
    return os.getcwd()
```
"""
PAGE = "<!DOCTYPE html>\n<html><head><title>x</title></head><body><p>words</p></body></html>"
FRAGMENT = (
    "<div class='a'><p>one</p><ul><li>a</li><li>b</li><li>c</li></ul><span>x</span><a href='b'>c</a></div>"
    * 3
)
CSV = "name,age,city\nAna,31,Lima\nBo,44,Oslo\nCy,28,Rome\n"
QUOTED_CSV = 'id,text\n1,"said: hello, there"\n2,"no, not that"\n3,plain\n'
TSV = "name\tage\nAna\t31\nBo\t44\nCy\t28\n"
PIPES = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
PSQL = " id | name\n----+------\n  1 | a\n  2 | b\n  3 | c\n"
PROSE = """\
The committee met on Monday, and the chair, who had been ill, opened the meeting.
Nobody objected to the plan, which surprised the members, though not the chair.
After lunch, they returned to the budget, the staff, and the new building.
"""
DIALOGUE = "User: hello there, how are you?\nAssistant: fine, thanks, and you?\nUser: good.\n" * 3
JSON_LINES = "\n".join(json.dumps({"id": number, "name": "a, b"}) for number in range(50))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": [1, 2, {"b": null}]}', ContentKind.JSON),
        (' \ufeff[{"a": 1}]\n', ContentKind.JSON),
        ("[]", ContentKind.JSON),
        (JSON_LINES, ContentKind.JSON),
        (LOG, ContentKind.LOG),
        (SYSLOG, ContentKind.LOG),
        (ACCESS, ContentKind.LOG),
        (COMPILER, ContentKind.LOG),
        ("INFO one\nWARN two\nERROR three, four\n", ContentKind.LOG),
        (DIFF, ContentKind.DIFF),
        (PYTHON, ContentKind.CODE),
        (TYPESCRIPT, ContentKind.CODE),
        (SQL, ContentKind.CODE),
        ("#!/bin/sh\nls\n", ContentKind.CODE),
        ('<?xml version="1.0"?>\n<a><b>1</b></a>', ContentKind.CODE),
        (MARKDOWN, ContentKind.MARKDOWN),
        (PAGE, ContentKind.HTML),
        (FRAGMENT, ContentKind.HTML),
        (CSV, ContentKind.TABLE),
        (QUOTED_CSV, ContentKind.TABLE),
        (CSV.replace(",", ";"), ContentKind.TABLE),
        (TSV, ContentKind.TABLE),
        (PIPES, ContentKind.TABLE),
        (PSQL, ContentKind.TABLE),
        (PROSE, ContentKind.TEXT),
        (DIALOGUE, ContentKind.TEXT),
        ("", ContentKind.TEXT),
        ("   \n \n", ContentKind.TEXT),
        ("just a line", ContentKind.TEXT),
        ("第一行，说了一些话。\n第二行，又说了一些。\n第三行，没有了。", ContentKind.TEXT),
    ],
)  # fmt: skip
def test_each_kind_is_told(text: str, kind: ContentKind) -> None:
    assert kind_of(text) is kind


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        '{"a": 1} and more',
        "{'a': 1}",
        "[1, 2,]",
        '{"a": 1}}',
        "[see below]",
        "{" * 5000 + "}" * 5000,
    ],
)
def test_what_only_looks_like_json_is_not_json(text: str) -> None:
    assert kind_of(text) is not ContentKind.JSON


def test_one_broken_line_among_json_lines_is_not_json() -> None:
    assert kind_of('{"a": 1}\nbroken\n{"a": 2}') is not ContentKind.JSON


def test_line_numbers_of_a_file_reader_do_not_hide_code() -> None:
    numbered = "".join(f"{place:6}\t{line}\n" for place, line in enumerate(PYTHON.splitlines(), 1))
    assert kind_of(numbered) is ContentKind.CODE


@example("\r;")
@given(st.text(max_size=300))
def test_every_text_has_a_kind(text: str) -> None:
    assert kind_of(text) in ContentKind


@pytest.mark.parametrize(
    "unit",
    [
        "x",
        "\n",
        "a,b\n",
        "[" * 1_000 + "]" * 1_000,
        "<",
        "| ",
        "[" * 1_999 + "\n",
        "**a" * 600 + "\n",
        "1:" * 900 + "\n",
        '"',
    ],
    ids=["a line", "no lines", "rows", "nested", "angles", "pipes", "brackets", "stars", "numbers", "quotes"],
)
def test_anything_is_read_in_time_with_its_length(unit: str) -> None:
    growth = growth_of(kind_of, Shape(unit).text, most_chars=256_000, sure_s=0.001)
    assert growth <= MOST_GROWTH


@pytest.mark.data
def test_the_files_that_a_coding_session_read_are_code_and_their_listings_are_not() -> None:
    folder = data_dir("pi_sessions")
    entries = [entry for path in sorted(folder.glob("*.jsonl")) for entry in read_jsonl(path)]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    calls = {call["id"]: call["function"] for message in messages for call in message.get("tool_calls") or []}
    found: Counter[ContentKind] = Counter()
    for message in messages:
        call = calls.get(message.get("tool_call_id") or "")
        if (
            call
            and call["name"] == "read"
            and '.ts"' in call["arguments"]
            and len(str(message["content"])) > 3000
        ):
            found[kind_of(str(message["content"]))] += 1
    assert found[ContentKind.CODE] >= 0.9 * found.total() > 0


@pytest.mark.parametrize("text", [LOG, DIFF, PYTHON, MARKDOWN, CSV, PIPES, JSON_LINES, PROSE])
def test_line_ends_of_another_system_change_nothing(text: str) -> None:
    assert kind_of(text.replace("\n", "\r\n")) is kind_of(text)


@pytest.mark.parametrize("text", [LOG, DIFF, PYTHON, TYPESCRIPT, MARKDOWN, CSV, JSON_LINES, PROSE])
def test_a_long_text_is_of_the_kind_of_its_parts(text: str) -> None:
    once = text if text.endswith("\n") else text + "\n"
    assert kind_of(once * (200_000 // len(once))) is kind_of(text)
