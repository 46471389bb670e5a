"""What a call reads or writes is told by its name and arguments, and spelled one way."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.subjects import Subject, normal_path, normal_url, parse_subject, subject_of
from context.artifacts.superseded import Access, SupersededReason, find_superseded
from context.conversation.tool_calls import read_calls
from tests.unit.histories import real_conversations


def subject(tool: str, /, **arguments: Any) -> Subject:
    return subject_of(tool, json.dumps(arguments))


@pytest.mark.parametrize(
    ("tool", "arguments", "key", "reading", "writes"),
    [
        ("read", {"path": "./src//a.py"}, "path:src/a.py", "read", False),
        ("Read", {"file_path": "/a/b.py"}, "path:/a/b.py", "read", False),
        ("mcp__fs__get_file_contents", {"filePath": "b.py"}, "path:b.py", "read", False),
        ("get_file_info", {"path": "b.py"}, "path:b.py", "stat", False),
        ("list_directory", {"path": "src/"}, "path:src", "list", False),
        ("write_file", {"path": "a.py", "content": "x"}, "path:a.py", "write_file", True),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "path:a.py", "", False),
        ("str_replace_editor", {"command": "str_replace", "path": "a.py"}, "path:a.py", "", True),
        ("edit", {"path": "a.py", "search": "x", "replace": "y"}, "path:a.py", "edit", True),
        ("web_scraper", {"url": "HTTPS://Example.org:443/a/?b=2&a=1&utm_source=x#top"}, "", "", False),
        ("fetch", {"url": "https://example.org"}, "url:https://example.org", "read", False),
        ("http_request", {"url": "https://e.org/a", "method": "DELETE"}, "url:https://e.org/a", "", True),
        ("web_search", {"query": "  Best  CAFÉ in Lima "}, "query:best café in lima", "web_search", False),
        ("grep", {"pattern": "def", "path": "src"}, "query:def", 'grep path="src"', False),
        ("get_reservation_details", {"reservation_id": "AB12"}, "id:reservation_id=AB12", "", False),
        ("update_reservation_flights", {"reservationId": "AB12"}, "id:reservation_id=AB12", "", True),
        ("book_reservation", {"user_id": "ana"}, "id:user_id=ana", "", True),
        ("search_books", {"user_id": "ana"}, "id:user_id=ana", "", False),
        ("bash", {"command": "cat src/a.py"}, "path:src/a.py", "read", False),
        ("bash", {"command": ["cat", "src/a.py"]}, "path:src/a.py", "read", False),
        ("bash", {"command": "cd src && sed -i 's/a/b/' a.py"}, "path:src/a.py", "", True),
        ("bash", {"command": "echo hi > out.txt"}, "path:out.txt", "", True),
        ("bash", {"command": "npm  test"}, "command:npm test", "run", False),
        ("bash", {"command": "cat a.py | grep x"}, "command:cat a.py | grep x", "run", False),
        ("bash", {"command": "ls 2>/dev/null"}, "command:ls 2>/dev/null", "run", False),
        ("execute_tool", {"tool_name": "get", "params": {"url": "x://e"}}, "url:x://e", "", False),
        ("execute_tool", {"tool": "fs_edit", "args": '{"path": "a"}'}, "path:a", "", True),
        ("get_weather", {"city": "Lima"}, 'call:get_weather {"city":"Lima"}', "", False),
        ("now", {}, "call:now {}", "", False),
    ],
)  # fmt: skip
def test_the_subject_of_usual_calls(
    tool: str, arguments: dict[str, Any], key: str, reading: str, writes: bool
) -> None:
    found = subject_of(tool, arguments)
    assert found.key == (key or found.key)
    assert found.reading == (reading or found.reading)
    assert found.writes is writes


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        ("a/./b/../c.py", "a/c.py"),
        ("file:///a/b", "/a/b"),
        ("C:\\x\\y.txt", "C:/x/y.txt"),
        (" a/ ", "a"),
        ("", ""),
    ],
)
def test_a_path_is_spelled_one_way(path: str, spelled: str) -> None:
    assert normal_path(path) == spelled


def test_an_address_is_spelled_one_way() -> None:
    spelled = "https://example.org/a?a=1&b=2"
    assert normal_url("HTTPS://www.Example.org:443/a/?b=2&a=1&utm_source=x#top") == spelled
    assert normal_url("https://example.org:8080/a") == "https://example.org:8080/a"
    assert normal_url(" http://[broken ") == "http://[broken"


def test_a_part_of_a_file_is_another_reading_than_the_file() -> None:
    whole, part = subject("read", path="a.py"), subject("read", path="a.py", offset=100, limit=50)
    assert (whole.key, whole.part) == (part.key, "")
    assert part.part == "limit=50 offset=100"


def test_lines_of_a_file_that_a_command_shows_are_a_part() -> None:
    assert subject("bash", command="sed -n '10,20p' a.py").part == "lines=10,20"
    assert subject("bash", command="head -n 5 a.py").part == "head=5"


def test_another_page_of_a_query_is_another_reading() -> None:
    first, second = subject("search", query="x", page=1), subject("search", query="x", page=2)
    assert first.key == second.key
    assert first.reading != second.reading


@pytest.mark.parametrize(
    ("tool", "one", "other"),
    [
        ("read_file", {"path": "README.md", "repo": "a/x"}, {"path": "README.md", "repo": "b/y"}),
        ("read_file", {"path": "README.md", "repo": "a/x"}, {"path": "README.md"}),
        ("get_file_contents", {"path": "a", "owner": "x"}, {"path": "a", "owner": "y"}),
        ("get_file_contents", {"path": "a", "ref": "v1"}, {"path": "a", "ref": "v2"}),
        ("read_file", {"path": "a", "host": "h1"}, {"path": "a", "host": "h2"}),
        ("read_file", {"path": "a", "chunk": 1}, {"path": "a", "chunk": 2}),
        ("read_file", {"path": "a", "chunk": 1}, {"path": "a"}),
        ("read_file", {"path": "a", "start_char": 0}, {"path": "a", "start_char": 900}),
        ("read_file", {"path": "a", "first_line": 1}, {"path": "a", "first_line": 80}),
        ("read_sheet", {"path": "a.xlsx", "sheet_name": "May"}, {"path": "a.xlsx", "sheet_name": "June"}),
        ("read_table", {"path": "a.csv", "columns": ["x"]}, {"path": "a.csv", "columns": ["y"]}),
        ("read_files", {"path": ["a", "b"]}, {"path": ["a", "c"]}),
        ("fetch", {"url": "https://e.org", "params": {"p": 1}}, {"url": "https://e.org", "params": {"p": 2}}),
        ("http_get", {"url": "https://e.org/a", "body": "x"}, {"url": "https://e.org/a", "body": "y"}),
        ("fetch", {"url": "https://e.org/a#one"}, {"url": "https://e.org/a#two"}),
        ("fetch", {"url": "https://e.org/#/issues/1"}, {"url": "https://e.org/"}),
        ("fetch", {"url": "https://e.org/a?x=1&x=2"}, {"url": "https://e.org/a?x=2&x=1"}),
        ("query", {"sql": "select * from t where n = 'Bob'"}, {"sql": "select * from t where n = 'bob'"}),
        ("run_query", {"query": "where n = 'Bob'"}, {"query": "where n = 'bob'"}),
        ("grep", {"pattern": "TODO"}, {"pattern": "todo"}),
        ("search", {"query": "x", "page": 2}, {"query": "x"}),
        ("get_orders", {"user_id": "ana", "status": "open"}, {"user_id": "ana"}),
    ],
)  # fmt: skip
def test_calls_that_differ_in_what_they_ask_for_never_supersede_each_other(
    tool: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    for first, second in ((one, other), (other, one)):
        subjects = subject_of(tool, first), subject_of(tool, second)
        assert 0 not in find_superseded([Access(at, each) for at, each in enumerate(subjects, 1)])


@pytest.mark.parametrize("tool", ["get_issue", "get_comments", "fetch_page_links"])
def test_tools_that_show_other_things_of_an_address_read_it_differently(tool: str) -> None:
    url = "https://example.org/issues/1"
    assert subject(tool, url=url).key == subject("fetch", url=url).key
    assert subject(tool, url=url).reading != subject("fetch", url=url).reading


def test_what_a_call_says_of_itself_makes_no_other_reading() -> None:
    assert subject("read", path="a", description="Look at it", timeout=5) == subject("read", path="a")


def test_a_change_in_another_repository_leaves_a_reading_good() -> None:
    read, write = subject("read_file", path="a", repo="x"), subject("write_file", path="a", repo="y")
    assert find_superseded([Access(1, read), Access(2, write)]) == {}
    same = subject("write_file", path="a", repo="x", branch="main", content="new")
    assert find_superseded([Access(1, read), Access(2, same)])[0].reason is SupersededReason.CHANGED


def test_a_failed_call_supersedes_no_reading_and_is_superseded_by_a_good_one() -> None:
    good = subject("read", path="a")
    failed = subject_of("read", {"path": "a"}, failed=True)
    assert find_superseded([Access(1, good), Access(2, failed)]) == {}
    assert set(find_superseded([Access(1, failed), Access(2, good)])) == {0}


_ASKED = st.dictionaries(
    st.sampled_from(("repo", "ref", "chunk", "sheet_name", "columns", "mode_of_view")),
    st.one_of(st.integers(), st.text(min_size=1, max_size=5)),
    max_size=3,
)


@given(st.sampled_from(({"path": "a"}, {"url": "https://e.org"}, {"query": "q"})), _ASKED, _ASKED)
def test_only_calls_with_the_same_arguments_read_the_same(
    about: dict[str, Any], one: dict[str, Any], other: dict[str, Any]
) -> None:
    pair = [Access(1, subject_of("read", about | one)), Access(2, subject_of("read", about | other))]
    assert (0 in find_superseded(pair)) is (one == other)


def test_arguments_that_are_no_json_are_taken_as_one() -> None:
    assert subject_of("python", "print(1)").key == "call:python print(1)"
    assert subject_of("x", "[1, 2]").key == "call:x [1, 2]"


def test_a_very_long_argument_gives_a_short_key() -> None:
    found = subject("search", query="word " * 5000)
    assert len(found.text) < 200
    assert found == subject("search", query="WORD " * 5000)


@given(
    st.text(max_size=20),
    st.one_of(
        st.text(max_size=60),
        st.dictionaries(
            st.sampled_from(("path", "url", "query", "id", "command", "x")), st.text(max_size=30)
        ),
    ),
)
def test_every_call_has_a_subject_that_can_be_stored(tool: str, arguments: Any) -> None:
    found = subject_of(tool, arguments)
    assert found.key
    assert "\n" not in found.key + found.part
    assert parse_subject(found.text, writes=found.writes).key == found.key


@given(st.builds(Subject, *[st.text(st.characters(exclude_characters="\n"), min_size=1)] * 3, st.booleans()))
def test_a_stored_subject_is_read_again(found: Subject) -> None:
    assert parse_subject(found.text, writes=found.writes) == found


@pytest.mark.data
def test_recorded_file_tools_are_known() -> None:
    calls = read_calls(message for each in real_conversations("pi_sessions") for message in each)
    files = [call for call in calls.values() if call.name in {"read", "edit", "write"}]
    assert len(files) > 100
    for call in files:
        found = subject_of(call.name, call.arguments)
        assert found.key.startswith("path:")
        assert found.writes is (call.name != "read")
