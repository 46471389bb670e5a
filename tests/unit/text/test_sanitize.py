"""Text and JSON at the door: what is cleaned, what is refused, how it is said."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.errors import InvalidInputError
from context.text.sanitize import clean_json, clean_text, parse_json
from tests.unit.linear.growth import MOST_GROWTH, grows_in_proportion, growth_of

dirty_text = st.text(st.characters(exclude_categories=()) | st.sampled_from("\0\ud800\udc00a"), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | dirty_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(dirty_text, inner, max_size=4),
    max_leaves=12,
)


def refusal(data: bytes, max_depth: int = 64) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        parse_json(data, max_depth=max_depth)
    return caught.value


def count_leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(count_leaves, value.values()))
    return sum(map(count_leaves, value)) if isinstance(value, list) else 1


@given(dirty_text)
def test_clean_text_can_be_stored_and_cleaning_it_again_changes_nothing(text: str) -> None:
    clean = clean_text(text)
    assert "\0" not in clean.encode().decode()
    assert clean_text(clean) is clean


@given(st.text())
def test_text_that_can_be_stored_is_left_alone(text: str) -> None:
    assert clean_text(text) == text.replace("\0", "")


def test_halves_of_a_surrogate_pair_are_joined_or_replaced() -> None:
    assert clean_text("a\ud83d\ude00b") == "a😀b"
    assert clean_text("a\ud83d-\ude00b") == "a\ufffd-\ufffdb"
    assert clean_text("end\ud83d") == "end\ufffd"
    assert clean_text("\ud83d\ud83d\ude00") == "\ufffd😀"


@given(json_values)
def test_clean_json_can_be_stored_and_cleaning_it_again_changes_nothing(value: Any) -> None:
    clean, changed = clean_json(value)
    text = json.dumps(clean, ensure_ascii=False, allow_nan=False)
    assert "\\u0000" not in text
    assert text.encode().decode() == text
    assert clean_json(clean) == (clean, False)
    assert changed == (clean is not value)


@given(json_values)
def test_cleaning_loses_no_value(value: Any) -> None:
    before = json.dumps(value)
    clean, changed = clean_json(value)
    assert count_leaves(clean) == count_leaves(value)
    assert json.dumps(value) == before
    assert changed or clean is value


@given(json_values)
def test_parsing_bytes_equals_cleaning_what_json_reads(value: Any) -> None:
    data = json.dumps(value).encode()
    clean, changed = clean_json(json.loads(data))
    assert json.dumps(parse_json(data)) == json.dumps([clean, changed])


def test_keys_that_become_equal_are_all_kept() -> None:
    clean, changed = clean_json({"a\0": 1, "a": 2, "\0a": 3, "b": 4})
    assert changed
    assert list(clean.items()) == [("a\ufffd1", 1), ("a", 2), ("a\ufffd2", 3), ("b", 4)]


def test_a_key_is_cleaned_in_the_depth() -> None:
    assert clean_json([{"x": [{"k\ud800": "v\0"}]}]) == ([{"x": [{"k\ufffd": "v"}]}], True)


def test_very_many_equal_keys_are_told_apart_quickly() -> None:
    def clean_of(text: str) -> dict[str, Any]:
        many = {"\0" * (n % 100) + "k" + "\0" * (n // 100): n for n in range(len(text))}
        clean: dict[str, Any] = clean_json(many)[0]
        return clean

    assert len(clean_of("x" * 10_000)) == 10_000
    assert grows_in_proportion(clean_of, "x".__mul__)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_know_are_refused_with_their_path(number: float) -> None:
    with pytest.raises(InvalidInputError, match=r"^\$\.a\[1\]\.b: is NaN or infinite"):
        clean_json({"a": [0, {"b": number}]})


@pytest.mark.parametrize("value", [(1, 2), {1, 2}, b"x", object(), {1: "a"}])
def test_what_is_not_json_is_refused_with_its_path(value: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^\$\.v: is "):
        clean_json({"v": value})


@pytest.mark.parametrize("depth", [65, 1_000, 100_000])
def test_a_value_that_is_too_deep_is_refused(depth: int) -> None:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    with pytest.raises(InvalidInputError, match=r"\]: is nested too deeply: at most 64"):
        clean_json(value)


def test_depth_counts_arrays_and_objects_inside_each_other() -> None:
    assert clean_json([{"a": 1}], max_depth=2) == ([{"a": 1}], False)
    with pytest.raises(InvalidInputError, match=r"^\$\[0\]: is nested too deeply"):
        clean_json([{}], max_depth=1)
    assert clean_json("text", max_depth=0) == ("text", False)


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 65 + b"]" * 65])
def test_bytes_that_are_too_deep_are_refused_and_crash_nothing(data: bytes) -> None:
    assert "is nested too deeply: at most 64" in str(refusal(data))


def test_brackets_in_strings_are_no_depth() -> None:
    data = b'["' + b"[" * 10 + b'\\"' + b"[" * 10 + b'",' + b"[" * 100_000
    assert refusal(data).numbers["offset"] == 26 + 63


@pytest.mark.parametrize("number", [b"NaN", b"-Infinity", b"Infinity", b"1e999", b"-1e999"])
def test_bytes_with_numbers_that_json_does_not_know_are_refused(number: bytes) -> None:
    assert str(refusal(b'{"a":[1,' + number + b"]}")).startswith("$.a[1]: is NaN or infinite")


@pytest.mark.parametrize("digits", [309, 5_000, 100_000])
def test_an_integer_that_is_too_long_is_refused_with_its_path(digits: int) -> None:
    assert str(refusal(b'{"n":[-' + b"9" * digits + b"]}")).startswith(
        "$.n[0]: is an integer of more than 308"
    )


def test_of_two_long_integers_the_one_that_is_too_long_is_named() -> None:
    assert refusal(b"[-" + b"9" * 308 + b"," + b"9" * 5_000 + b"]").field == "$[1]"


def test_a_long_integer_stays_exact() -> None:
    assert parse_json(b"[-" + b"9" * 308 + b"]") == ([1 - 10**308], False)


def test_a_key_that_stands_twice_is_refused_and_named() -> None:
    error = refusal(b'{"a":[{"k":1,"b":2,"k":3}]}')
    assert str(error) == '$.a[0]: is an object in which the key "k" stands twice'


def test_keys_are_the_same_only_after_decoding_escapes() -> None:
    assert '"k"' in str(refusal(b'{"k":1,"\\u006b":2}'))


def test_invalid_utf8_is_refused_with_its_offset() -> None:
    error = refusal(b'{"a":"\xff"}')
    assert error.numbers["offset"] == 6
    assert "byte 0xff at offset 6" in str(error)


@pytest.mark.parametrize(
    "data", [b'"\xed\xa0\x80"', b'"\xc0\x80"', "[1]".encode("utf-16"), b'\xef\xbb\xbf"bom"']
)
def test_other_encodings_are_refused(data: bytes) -> None:
    assert refusal(data).field == "$"


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"", 1, 1),
        (b'{"a":1,}', 1, 8),
        (b"[1]x", 1, 4),
        (b"[1,\n 2,,]", 2, 4),
        (b'"a\nb"', 1, 3),
        (b"{a:1}", 1, 2),
    ],
)
def test_a_syntax_error_names_line_and_column(data: bytes, line: int, column: int) -> None:
    error = refusal(data)
    assert (error.numbers["line"], error.numbers["column"]) == (line, column)
    assert f"at line {line}, column {column}" in str(error)


def test_an_odd_key_in_a_path_is_quoted_and_cut() -> None:
    error = refusal(b'{"a b":{"' + b"k" * 1000 + b'":NaN}}')
    assert error.field == f'$["a b"]["{"k" * 40}"]'


def test_escapes_that_cannot_be_stored_are_cleaned() -> None:
    data = rb'{"k\u0000":"a\ud800b", "x":"\ud83d\ude00", "y":"\\u0000"}'
    assert parse_json(data) == ({"k": "a\ufffdb", "x": "😀", "y": "\\u0000"}, True)


@pytest.mark.parametrize(
    "data_of",
    [
        lambda chars: json.dumps({"content": "line of text\n" * (chars // 13)}),
        lambda chars: json.dumps([{"role": "user", "content": "да " * 60, "name": "b"}] * (chars // 200)),
        lambda chars: json.dumps(list(range(chars // 6))),
    ],
    ids=["one text", "messages", "numbers"],
)
def test_a_body_is_read_in_time_with_its_length(data_of: Callable[[int], str]) -> None:
    growth = growth_of(lambda text: parse_json(text.encode()), data_of, most_chars=9_000_000, sure_s=0.004)
    assert growth <= MOST_GROWTH
