# ruff: noqa: RUF001 - marks of several scripts
"""Exact names: found, ranked, and missed when they are gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.text.exact_values import (
    extract_identifiers,
    identifier_recall,
    kept_identifiers,
    rank_identifiers,
)
from tests.data import data_dir, read_jsonl
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.linear.texts import Shape


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("open /usr/local/lib/app.py, then", "/usr/local/lib/app.py"),
        ("see src/core/agent-session.ts.", "src/core/agent-session.ts"),
        ("in C:\\work\\plan\\notes.txt now", "C:\\work\\plan\\notes.txt"),
        ("read @packages/agent/src please", "@packages/agent/src"),
        ("at https://example.com/a/b?x=1&y=2.", "https://example.com/a/b?x=1&y=2"),
        ("write to ana.lopez@example.org, or", "ana.lopez@example.org"),
        ("id 0e3287cb-c0ff-4d2a-8c3d-d8833014a7b0.", "0e3287cb-c0ff-4d2a-8c3d-d8833014a7b0"),
        ("commit 59a200c6d575 broke it", "59a200c6d575"),
        ("flight HAT017 to SEA", "HAT017"),
        ("reservation OI5L9G", "OI5L9G"),
        ("ticket PROJ-1234 is open", "PROJ-1234"),
        ("see #4821 first", "#4821"),
        ("upgrade to v2.14.0-rc.1 now", "v2.14.0-rc.1"),
        ("it costs $1,250.50 today", "$1,250.50"),
        ("es kostet 99,90 € im Monat", "99,90 €"),
        ("within 250 ms at most", "250 ms"),
        ("on 2024-05-21 at noon", "2024-05-21"),
        ("on May 21 we fly", "May 21"),
        ("会议在2024年5月21日举行", "2024年5月21日"),
        ("call user_id then", "user_id"),
        ("the AgentSession class", "AgentSession"),
        ("set maxTokens to", "maxTokens"),
        ("import os.path.join here", "os.path.join"),
        ("MAX_RETRIES is", "MAX_RETRIES"),
        ("edit pyproject.toml first", "pyproject.toml"),
        ('the plan "Blue Heron" wins', "Blue Heron"),
        ("run `make demo` again", "make demo"),
        ("проект «Сокол» закрыт", "Сокол"),
        ("書籍《三体》を読む", "三体"),
    ],
)
def test_an_exact_name_is_found(text: str, name: str) -> None:
    assert name in extract_identifiers(text)


@pytest.mark.parametrize(
    "text", ["", "We use it, e.g. at home and/or at work.", "I am fine. Thanks!", "Это просто слова."]
)
def test_plain_words_hold_no_names(text: str) -> None:
    assert not extract_identifiers(text)


def test_argument_names_are_not_names() -> None:
    assert set(extract_identifiers('edit(filePath="a.py", newText="x")')) == {"a.py"}


def test_half_a_name_beside_a_cut_is_no_name() -> None:
    assert not extract_identifiers("/Users/ana/wor … [12 characters left out] … ject/src/main.py")


@pytest.mark.parametrize("mark", ["[129 characters left out]", "[... 129 characters left out ...]"])
def test_the_number_of_a_shortened_text_is_nobodys(mark: str) -> None:
    """A summary of a shortened result once listed it among the exact values."""
    assert extract_identifiers(f"flight HAT017 has seats {mark} at noon") == {"HAT017": 1}


def test_a_command_in_quotes_gives_the_names_inside_it() -> None:
    names = extract_identifiers('bash(command="cd /srv/app && grep -n x src/main.py | head")')
    assert {"/srv/app", "src/main.py"} <= set(names)
    assert not any("&&" in name for name in names)


def test_heavier_sources_come_first_and_weightless_ones_do_not_count() -> None:
    ranked = rank_identifiers([("see alpha.py", 1.0), ("use beta.py", 4.0), ("log gamma.py", 0.0)], limit=5)
    assert ranked == ["beta.py", "alpha.py"]


def test_a_name_that_comes_back_gains_weight() -> None:
    ranked = rank_identifiers([("alpha.py", 1.0), ("beta.py", 1.0), ("beta.py", 1.0)], limit=1)
    assert ranked == ["beta.py"]


def test_a_path_is_kept_by_its_file_name() -> None:
    assert kept_identifiers("moved main-new.ts", ["/home/ana/src/main-new.ts"]) == [
        "/home/ana/src/main-new.ts"
    ]


def test_another_file_of_the_same_folder_does_not_keep_a_path() -> None:
    assert not kept_identifiers("moved /home/ana/src/other.ts", ["/home/ana/src/main-new.ts"])


def test_recall_of_nothing_is_whole() -> None:
    assert identifier_recall("", []) == 1.0


@given(st.text(max_size=400))
def test_every_name_stands_in_its_text(text: str) -> None:
    assert all(name in text for name in extract_identifiers(text))


@given(st.text(max_size=300))
def test_a_text_keeps_all_its_own_names(text: str) -> None:
    names = list(extract_identifiers(text))
    assert kept_identifiers(text, names) == names


@pytest.mark.parametrize("unit", ["a", "/a", "a.", "A-", "1", "a_", '"', "aB", " ", "-1.", "0f", "[", "a@b."])
def test_no_text_takes_long(unit: str) -> None:
    assert grows_in_proportion(extract_identifiers, Shape(unit).text)


@pytest.mark.data
def test_what_recorded_users_name_is_found() -> None:
    record = read_jsonl(data_dir("tau_airline") / "plan_history.jsonl")[0]
    assert "mia_li_3668" in extract_identifiers(record["intent"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("箱子QX-41送到A1号仓库，文件是box_A1.csv。", ["QX-41", "A1", "box_A1.csv"]),
        ("部署K-12和v1.2.3到prod-eu，使用getBaziDetail函数", ["K-12", "v1.2.3", "getBaziDetail"]),
        ("請求書INV-2041を/srv/billingに移して", ["INV-2041", "/srv/billing"]),
        ("청구서 INV-2041을 /srv/billing/a.csv로 옮겨 주세요", ["INV-2041", "/srv/billing/a.csv"]),
        ("2008年8月8日，2026년", ["2008年8月8日"]),
    ],
)
def test_a_name_among_words_without_blanks_is_found_alone(text: str, names: list[str]) -> None:
    found = extract_identifiers(text)
    assert list(found) == names
    assert kept_identifiers(text, names) == names
