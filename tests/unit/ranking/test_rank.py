"""Ranking: what an entry's words are worth, and what never depends on them."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.catalog.types import Catalog, Entry
from context.priors.types import TELLING
from context.ranking.index import build_index
from context.ranking.intent import MAX_CHARS, MAX_TERMS, read_intent
from context.ranking.rank import is_unsure, rank, serves_nothing
from context.ranking.types import Ranked
from tests.unit.ranking.shelves import OFFICE, index_of, matched, order_of, pack, pipeline

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
WORDS = st.sampled_from(
    ["weather", "image", "city", "send", "query", "table", "song", "flight", "price", "news", "map", "file"]
)
PHRASES = st.lists(WORDS, max_size=6).map(" ".join)
ENTRIES = st.lists(st.tuples(PHRASES, PHRASES), min_size=1, max_size=12).map(
    lambda texts: [
        pack(f"tool{at}", description, intent_keywords=(keywords,) if keywords else ())
        for at, (description, keywords) in enumerate(texts)
    ]
)


@pytest.mark.parametrize("name", ["getUserWeather", "get_user_weather", "weather.user", "get-weather/user"])
def test_a_name_is_found_by_its_parts(name: str) -> None:
    index = index_of(pack("plotChart"), pack(name), pack("sendMail"))
    assert order_of(index, "the weather, please")[0] == name


def test_a_word_of_the_name_says_more_than_one_of_the_description() -> None:
    index = index_of(pack("alpha", "Reads an invoice."), pack("invoice", "Reads it."), pack("beta", "Sings."))
    assert matched(index, "invoice") == ["invoice", "alpha"]


def test_a_keyword_phrase_counts_more_when_all_of_its_words_are_asked_for() -> None:
    index = index_of(
        pack("one", intent_keywords=("draft a reply", "plan week")),
        pack("two", intent_keywords=("draft a plan", "reply week")),
        pack("three"),
    )
    assert order_of(index, "please draft me a reply")[0] == "one"


@pytest.mark.parametrize(
    "fields",
    [
        {"accepts": ("markdown",)},
        {"produces": ("markdown",)},
        {"supersedes": ("markdown.ground",)},
        {"typical_use": "When markdown is at hand."},
        {"input_schema": {"properties": {"markdown": {"type": "string"}}}},
        {"input_schema": {"properties": {"text": {"description": "As markdown."}}}},
        {"input_schema": {"properties": {"body": {"properties": {"markdown": {}}}}}},
        {"input_schema": {"properties": {"kind": {"enum": ["html", "markdown"]}}}},
        {"input_schema": {"properties": {"all": {"items": {"properties": {"markdown": {}}}}}}},
        {"input_schema": {"required": [{"name": "markdown", "type": "STRING"}]}},
        {"input_schema": ["title", "markdown"]},
        {"group": "markdown-tools"},
        {"extra": {"server_description": "All about markdown."}},
    ],
)
def test_every_field_that_says_what_an_entry_does_is_read(fields: dict[str, Any]) -> None:
    index = index_of(pack("first"), pack("wanted", **fields), pack("last"))
    assert matched(index, "markdown") == ["wanted"]


def test_a_pipeline_is_found_by_its_steps() -> None:
    steps = ({"id": "narrate", "pack": "slides.narrate"},)
    assert matched(index_of(pack("first"), pipeline("show", steps=steps)), "narrate it") == ["show"]


def test_what_an_entry_cannot_do_does_not_speak_for_it() -> None:
    assert matched(index_of(pack("first", limitations=("no video",)), pack("video")), "video") == ["video"]


def test_the_tools_of_the_server_that_fits_come_before_a_stray_match() -> None:
    index = index_of(
        pack("stray", "Make a table of a thing."),
        pack("insert_table", "Insert a table.", group="word"),
        pack("add_heading", "Put a heading into a document.", group="word"),
        pack("save_document", "Save the document.", group="word"),
        *(pack(f"other{at}", "Something else.") for at in range(6)),
    )
    order = order_of(index, "a document with a heading and a table")
    assert order.index("insert_table") < order.index("stray")


def test_a_rare_word_decides_over_a_common_one() -> None:
    index = index_of(
        *(pack(f"get{at}", "Get data of a city.") for at in range(8)), pack("tide", "Get tides.")
    )
    assert order_of(index, "get the tides of a city")[0] == "tide"


def test_all_entries_are_ranked_and_equals_keep_the_order_of_the_catalog() -> None:
    index = index_of(pack("zeta", "A map."), pack("beta"), pack("alpha", "A map."), pack("eta"))
    assert order_of(index, "map") == ["zeta", "alpha", "beta", "eta"]


@pytest.mark.parametrize("intent", ["", "   ", "🎉🎉", "?!", "ฉันอยากกินข้าว"])
def test_an_intent_without_a_known_word_scores_zero_and_keeps_the_order(intent: str) -> None:
    entries = rank(OFFICE, intent).entries
    assert {entry.score for entry in entries} == {0.0}
    assert [entry.entry_id for entry in entries] == list(OFFICE.place_of)


def test_a_limit_keeps_the_first_entries() -> None:
    entries = rank(OFFICE, "send an email about the weather").entries
    assert list(rank(OFFICE, "send an email about the weather", limit=3).entries) == entries[:3]


def test_an_empty_catalog_has_an_empty_ranking() -> None:
    assert list(rank(index_of(), "anything").entries) == []


def test_a_ranking_reads_as_a_list() -> None:
    entries = rank(OFFICE, "play a song").entries
    assert len(entries) == len(OFFICE.place_of)
    assert entries[0] == next(iter(entries))
    assert entries[-1] == list(entries)[-1]
    assert list(entries[2:4]) == list(entries)[2:4]


@given(TEXT)
def test_no_priors_are_the_same_as_empty_ones(intent: str) -> None:
    assert rank(OFFICE, intent, priors=None) == rank(OFFICE, intent, priors={})


def test_a_prior_raises_its_entry_and_an_unknown_id_is_passed_over() -> None:
    intent = "send an email"
    raised = rank(OFFICE, intent, priors={"play_song": 0.9, "gone": 1.0}).entries
    plain = rank(OFFICE, intent).entries
    assert [entry.entry_id for entry in raised].index("play_song") < [
        entry.entry_id for entry in plain
    ].index("play_song")
    assert {entry.entry_id for entry in raised} == {entry.entry_id for entry in plain}


@pytest.mark.parametrize("prior", [float("nan"), -1.0, 0.0])
def test_a_prior_that_says_nothing_changes_nothing(prior: float) -> None:
    assert rank(OFFICE, "a song", priors={"send_email": prior}) == rank(OFFICE, "a song")


def test_a_long_request_is_known_by_its_beginning_and_its_end() -> None:
    paste = "lorem ipsum dolor " * 6_000
    intent = read_intent(f"translate this {paste} and email it")
    assert len(intent.text) <= MAX_CHARS + 1
    assert len(intent.terms) <= MAX_TERMS
    assert matched(OFFICE, f"translate this {paste} and email it")[:2] == ["translate_text", "send_email"]


@given(ENTRIES, PHRASES, st.randoms(use_true_random=False))
def test_the_order_of_the_catalog_decides_between_equals_only(
    entries: list[Entry], intent: str, chance: Random
) -> None:
    shuffled = list(entries)
    chance.shuffle(shuffled)
    before, after = rank(index_of(*entries), intent).entries, rank(index_of(*shuffled), intent).entries
    assert {entry.entry_id: entry.score for entry in before} == {
        entry.entry_id: entry.score for entry in after
    }
    assert [entry.score for entry in before] == [entry.score for entry in after]


@given(ENTRIES, TEXT)
def test_scores_fall_and_every_entry_stands_once(entries: list[Entry], intent: str) -> None:
    ranked = rank(index_of(*entries), intent).entries
    assert all(one.score >= other.score >= 0.0 for one, other in pairwise(ranked))
    assert sorted(entry.entry_id for entry in ranked) == sorted(entry.entry_id for entry in entries)


@pytest.mark.parametrize(
    "intent", ["send an email to Ann", "what is the weather", "translate this text", "play my favourite song"]
)
def test_an_unrelated_tool_changes_no_place_of_others(intent: str) -> None:
    entries = [
        pack(entry.entry_id, text)
        for entry, text in zip(OFFICE.silent, ["weather", "email send", "event"] * 4, strict=False)
    ]
    before = matched(index_of(*entries), intent)
    after = matched(index_of(*entries, pack("grind_coffee", "Grind beans for an espresso.")), intent)
    assert after == before


def test_threads_share_an_index() -> None:
    intents = ["send an email", "the weather in Oslo", "a song", "translate it"] * 8
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda intent: list(rank(OFFICE, intent).entries), intents))
    assert together == [list(rank(OFFICE, intent).entries) for intent in intents]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["properties", "items", "enum", "anyOf", "name", "required"]), inner
            )
        ),
        max_leaves=20,
    )
)
def test_any_schema_can_be_indexed(schema: object) -> None:
    held = schema if isinstance(schema, dict) else {"properties": schema}
    index = build_index(Catalog((pack("odd", "A weather tool.", input_schema=held),)))
    assert matched(index, "weather") == ["odd"]


def ranked(*scores: float) -> list[Ranked]:
    return [OFFICE.silent[0]._replace(score=score) for score in scores]


@pytest.mark.parametrize(
    ("scores", "unsure"),
    [
        ((10.0, 6.1, 1.0), True),
        ((10.0, 6.0, 1.0), False),
        ((10.0, 9.9), False),
        ((0.0, 0.0, 0.0), True),
        ((), False),
    ],
)
def test_a_first_entry_that_hardly_leads_is_unsure(scores: tuple[float, ...], unsure: bool) -> None:
    assert is_unsure(ranked(*scores)) is unsure


@pytest.mark.parametrize(
    ("intent", "prior", "nothing"),
    [
        ("mow the lawn", 0.0, True),
        ("mow the lawn", TELLING * 0.9, True),
        ("mow the lawn", TELLING, False),
        ("send an email", 0.0, False),
    ],
)
def test_history_that_is_sure_enough_serves_where_words_do_not(
    intent: str, prior: float, *, nothing: bool
) -> None:
    assert serves_nothing(rank(OFFICE, intent, priors={"play_song": prior}, limit=1)) is nothing


def test_an_empty_catalog_serves_nothing_whatever_history_says() -> None:
    assert serves_nothing(rank(index_of(), "mow the lawn", priors={"play_song": 1.0}))


def test_an_index_is_never_changed_by_ranking() -> None:
    before = repr(OFFICE)
    rank(OFFICE, "send the weather by email", priors={"play_song": 1.0}, explain=True)
    assert repr(OFFICE) == before
