"""Fitting catalogs: whole, compacted step by step, or what ranks highest; never over, whatever the budget."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.whole_catalog import project_catalog
from context.catalog.compact import LEVELS, Ladder
from context.catalog.fit import CatalogOverBudgetError, Fitted, compact_catalog, fit_catalog
from context.catalog.read import read_catalog
from context.catalog.types import Catalog, CatalogBudget, Size
from context.tokens import count_text
from tests.unit.catalog.catalogs import catalogs

ROOMY = CatalogBudget(10**9)
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}
GUIDE = {
    "packs": [
        {
            "name": "a",
            "description": "Writes a deck, e.g. of slides. Takes long.",
            "metadata": {
                "intent_keywords": ["make a deck"],
                "typical_use": "For talks.",
                "limitations": ["No video."],
                "supersedes": ["b"],
                "accepts": ["text"],
            },
        },
        {"name": "b", "description": "画像を描く。遅い。", "category": "art"},
    ],
    "pipelines": [
        {
            "id": "p",
            "name": "Deck",
            "description": "Makes a deck. Then checks it.",
            "metadata": {"intent_keywords": ["deck"], "supersedes": ["a", "b"]},
            "steps": [{"id": "one", "pack": "a", "inputs_used": ["x"]}, {"id": "two", "pack": "b"}],
            "input_schema": SCHEMA,
        }
    ],
}
CATALOG = read_catalog(GUIDE)
STEPS = [
    "extra_fields",
    "intent_keywords",
    "typical_use",
    "limitations",
    "step_bodies",
    "schemas",
    "descriptions",
]


def many(number: int, **fields: Any) -> Catalog:
    return read_catalog(
        [{"name": f"t{place:03}", "description": "Does it.", **fields} for place in range(number)]
    )


def shown(fitted: Fitted) -> dict[str, dict[str, Any]]:
    catalog = fitted.catalog
    return {
        entry.get("id") or entry["name"]: entry
        for entry in [*(catalog.get("packs") or catalog.get("tools") or []), *catalog["pipelines"]]
    }


def after_steps(taken: int) -> Fitted:
    """The catalog in the budget into which it first fits after so many steps."""
    ladder = Ladder(CATALOG)
    size = ladder.size(range(3), taken, "")
    return compact_catalog(ladder, CatalogBudget(size.tokens, size.bytes))


@given(catalogs(), st.integers(0, 900), st.one_of(st.none(), st.integers(0, 3_000)), st.data())
def test_a_fitted_catalog_is_never_over_its_budget(
    catalog: Catalog, tokens: int, most_bytes: int | None, data: st.DataObject
) -> None:
    ids = [entry.entry_id for entry in catalog.entries]
    ranked = data.draw(st.permutations(ids))
    pinned = data.draw(st.sets(st.sampled_from(ids), max_size=2)) if ids else set()
    top_n = data.draw(st.one_of(st.none(), st.integers(1, 5)))
    budget = CatalogBudget(tokens, most_bytes)
    try:
        fitted = fit_catalog(catalog, budget, ranked_ids=ranked, pinned=pinned, top_n=top_n)
    except CatalogOverBudgetError:
        fitted = None
    if fitted is None:
        least = Ladder(catalog).size([catalog.places[each] for each in sorted(pinned)], LEVELS - 1, "")
        assert not budget.holds(least)
        return
    assert count_text(fitted.text) == fitted.compaction.after_tokens <= tokens
    assert len(fitted.text.encode()) == fitted.compaction.after_bytes
    assert most_bytes is None or fitted.compaction.after_bytes <= most_bytes
    assert pinned <= set(fitted.shown) == set(shown(fitted))
    assert fitted.compaction.hidden == len(ids) - len(fitted.shown)


@given(catalogs(), st.integers(0, 900), st.data())
def test_what_is_hidden_ranks_below_everything_shown(
    catalog: Catalog, tokens: int, data: st.DataObject
) -> None:
    ranked = data.draw(st.permutations([entry.entry_id for entry in catalog.entries]))
    try:
        fitted = fit_catalog(catalog, CatalogBudget(tokens), ranked_ids=ranked)
    except CatalogOverBudgetError:
        return
    assert set(ranked[: len(fitted.shown)]) == set(fitted.shown)


@given(catalogs(), st.integers(0, 900))
def test_names_and_what_is_superseded_stay_at_every_level(catalog: Catalog, tokens: int) -> None:
    fitted = compact_catalog(catalog, CatalogBudget(tokens))
    entries = shown(fitted)
    assert set(entries) == {entry.entry_id for entry in catalog.entries}
    for entry in catalog.entries:
        written = entries[entry.entry_id]
        assert tuple(written.get("metadata", {}).get("supersedes", ())) == entry.supersedes
        assert entry.name in {entry.entry_id, written.get("title"), written.get("name")}


@given(catalogs(), st.integers(0, 900))
def test_a_catalog_used_before_is_written_in_the_same_bytes(catalog: Catalog, tokens: int) -> None:
    used = Ladder(catalog)
    compact_catalog(used, CatalogBudget(tokens * 3))
    budget = CatalogBudget(tokens)
    assert compact_catalog(used, budget) == compact_catalog(catalog, budget)


@given(catalogs())
def test_a_catalog_that_fits_is_shown_as_it_is(catalog: Catalog) -> None:
    fitted = fit_catalog(catalog, ROOMY, top_n=1)
    assert fitted.catalog == project_catalog(catalog)
    assert fitted.compaction.dropped == ()
    assert fitted.compaction.before_bytes == fitted.compaction.after_bytes


@pytest.mark.parametrize("taken", range(len(STEPS) + 1))
def test_the_steps_are_taken_in_order_and_no_more_of_them_than_needed(taken: int) -> None:
    assert list(after_steps(taken).compaction.dropped) == STEPS[:taken]


def test_keywords_uses_and_limits_of_packs_go_one_after_the_other() -> None:
    kept = [set(shown(after_steps(taken))["a"]["metadata"]) for taken in range(1, 5)]
    assert kept == [
        {"intent_keywords", "typical_use", "limitations", "supersedes", "accepts"},
        {"typical_use", "limitations", "supersedes", "accepts"},
        {"limitations", "supersedes", "accepts"},
        {"supersedes", "accepts"},
    ]


def test_pipelines_keep_their_keywords_and_the_number_and_names_of_their_steps() -> None:
    pipeline = shown(after_steps(5))["p"]
    assert pipeline["metadata"] == {"intent_keywords": ["deck"], "supersedes": ["a", "b"]}
    assert pipeline["steps"] == {"count": 2, "names": ["a", "b"]}


def test_of_a_schema_the_names_of_its_fields_stay() -> None:
    pipeline = shown(after_steps(6))["p"]
    assert (pipeline["inputs"], "input_schema" in pipeline) == (["q", "n"], False)


def test_a_description_ends_with_its_first_sentence_in_any_script() -> None:
    entries = shown(after_steps(7))
    assert entries["a"]["description"] == "Writes a deck, e.g. of slides."
    assert entries["b"]["description"] == "画像を描く。"


def test_a_sentence_without_an_end_is_clipped() -> None:
    catalog = many(1, description="word " * 500)
    description = shown(compact_catalog(catalog, CatalogBudget(0)))["t000"]["description"]
    assert 100 < len(description) <= 400
    assert "left out" in description


def test_entries_go_only_where_compaction_is_not_enough() -> None:
    size = Ladder(CATALOG).size(range(3), 7, "")
    fitted = fit_catalog(CATALOG, CatalogBudget(size.tokens, size.bytes), top_n=1)
    assert fitted.compaction.hidden == 0
    fitted = fit_catalog(CATALOG, CatalogBudget(size.tokens - 1), ranked_ids=["p"], top_n=1)
    assert "p" in fitted.shown
    assert fitted.compaction.hidden > 0


def test_what_survives_is_shown_with_as_much_as_fits() -> None:
    fitted = fit_catalog(many(400, category="x"), CatalogBudget(2_000), ranked_ids=["t200"], top_n=12)
    whole = [name for name, entry in shown(fitted).items() if "category" in entry]
    assert len(whole) == 12
    assert "t200" in whole
    assert fitted.compaction.dropped == (f"{fitted.compaction.hidden} entries",)


@given(st.integers(150, 4_000), st.integers(1, 30), st.data())
def test_trimmed_entries_use_the_room_that_the_whole_ones_leave(
    tokens: int, top_n: int, data: st.DataObject
) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "A path. Long."}}}
    catalog = many(120, inputSchema=schema, typical_use="For work of every kind.")
    ranked = data.draw(st.permutations([entry.entry_id for entry in catalog.entries]))
    ladder = Ladder(catalog)
    fitted = fit_catalog(ladder, CatalogBudget(tokens), ranked_ids=ranked, top_n=top_n)
    entries = shown(fitted)
    order = [entries[name] for name in ranked[: len(entries)]]
    trimmed = fitted.compaction.trimmed
    assert all(set(entry) == {"name", "description", "inputs"} for entry in order[len(order) - trimmed :])
    assert not fitted.compaction.hidden or len(order) - trimmed <= top_n
    if fitted.compaction.hidden:
        next_one = ladder.size([catalog.places[ranked[len(order)]]], LEVELS - 1, "")
        assert fitted.compaction.after_tokens + next_one.tokens > tokens


def test_fewer_than_the_highest_n_are_shown_where_they_are_too_much() -> None:
    fitted = fit_catalog(many(400), CatalogBudget(100), top_n=25)
    assert 0 < len(fitted.shown) < 25
    assert fitted.compaction.after_tokens <= 100
    one_more = fit_catalog(many(400), CatalogBudget(100 + 25), top_n=25)
    assert len(one_more.shown) > len(fitted.shown)


def test_hidden_entries_are_counted_and_the_way_to_them_is_shown() -> None:
    fitted = fit_catalog(many(400), CatalogBudget(300), top_n=5, hint="call find_tools")
    hidden = 400 - len(fitted.shown)
    assert fitted.catalog["hidden"] == {"entries": hidden, "hint": "call find_tools"}
    assert hidden == fitted.compaction.hidden > 300
    assert "hidden" not in fit_catalog(many(4), ROOMY).catalog


def test_a_pinned_entry_stays_whatever_it_ranks() -> None:
    ranked = [f"t{place:03}" for place in range(400)]
    fitted = fit_catalog(many(400), CatalogBudget(120), ranked_ids=ranked, pinned={"t399", "gone"}, top_n=3)
    assert (*ranked[: len(fitted.shown) - 1], "t399") == fitted.shown
    assert len(fitted.shown) >= 3


def test_the_hint_goes_before_a_pinned_entry_does() -> None:
    ladder = Ladder(many(50))
    alone = ladder.size([7], ladder.levels - 1, "")
    fitted = fit_catalog(ladder, CatalogBudget(alone.tokens), pinned={"t007"})
    assert (fitted.shown, "hidden" in fitted.catalog, fitted.compaction.hidden) == (("t007",), False, 49)


def test_pinned_entries_that_are_too_much_are_named_with_what_they_need() -> None:
    with pytest.raises(CatalogOverBudgetError) as caught:
        fit_catalog(many(50), CatalogBudget(10, 10_000), pinned={"t007"})
    assert (caught.value.numbers["pinned"], caught.value.numbers["budget_tokens"]) == (["t007"], 10)
    assert caught.value.needed.tokens > 10


def test_a_warning_of_the_ranking_is_passed_on() -> None:
    assert fit_catalog(CATALOG, ROOMY, gap_warning="nothing serves this").gap_warning == "nothing serves this"


@given(catalogs(), st.integers(0, 900), st.one_of(st.none(), st.integers(0, 3_000)))
def test_a_size_that_was_measured_before_changes_nothing(
    catalog: Catalog, tokens: int, most_bytes: int | None
) -> None:
    budget = CatalogBudget(tokens, most_bytes)
    known = Ladder(catalog, Ladder(catalog).whole)
    assert compact_catalog(known, budget) == compact_catalog(catalog, budget)


def test_a_cut_of_more_than_three_tenths_is_large() -> None:
    half = Ladder(CATALOG).whole.bytes // 2
    assert fit_catalog(CATALOG, CatalogBudget(10**6, half), ranked_ids=["b"]).compaction.is_large_cut
    assert not fit_catalog(CATALOG, ROOMY).compaction.is_large_cut


def test_the_text_is_the_catalog() -> None:
    fitted = fit_catalog(CATALOG, CatalogBudget(120))
    assert json.loads(fitted.text) == fitted.catalog


@pytest.mark.parametrize(
    ("tokens", "pinned", "says"),
    [
        (0, set(), ("even empty it takes", "leaves nothing for it")),
        (9, set(), ("even empty it takes 10 tokens", "it may take 9 tokens")),
        (10, {"t007"}, ("1 pinned entry alone takes", "it may take 10 tokens")),
        (10, {"t007", "t008"}, ("2 pinned entries alone take", "it may take 10 tokens")),
    ],
)
def test_an_error_says_what_is_too_much_for_what(
    tokens: int, pinned: set[str], says: tuple[str, str]
) -> None:
    with pytest.raises(CatalogOverBudgetError) as caught:
        fit_catalog(many(50), CatalogBudget(tokens), pinned=pinned)
    assert all(part in caught.value.message for part in (*says, "reserve_tokens"))
    assert "0 tokens" not in caught.value.message.replace("10 tokens", "")


LONG = " It weighs crates of any kind, and says so at once." * 20


@pytest.mark.parametrize("ranked", [[f"t{place:03}" for place in reversed(range(30))], []])
def test_room_left_by_a_catalog_in_its_shortest_form_is_used(ranked: list[str]) -> None:
    catalog = many(30, description="Does it." + LONG, input_schema=SCHEMA)
    fitted = fit_catalog(catalog, CatalogBudget(12_000, 10_000), ranked_ids=ranked, top_n=12)
    least = compact_catalog(catalog, CatalogBudget(12_000, 10_000)).compaction.after_bytes
    entries = shown(fitted)
    assert (len(entries), fitted.compaction.hidden) == (30, 0)
    assert least < 3_000
    assert 8_500 < fitted.compaction.after_bytes <= 10_000
    rich = [name for name, entry in entries.items() if LONG in entry["description"]]
    assert set(rich) == set(ranked[: len(rich)] if ranked else sorted(entries)[: len(rich)])
    assert fitted.compaction.trimmed == 30 - len(rich)


@given(catalogs(), st.integers(0, 900), st.data())
def test_no_entry_is_shown_with_less_than_the_first_step_at_which_all_fit(
    catalog: Catalog, tokens: int, data: st.DataObject
) -> None:
    budget = CatalogBudget(tokens)
    ranked = data.draw(st.permutations([entry.entry_id for entry in catalog.entries]))
    plain = compact_catalog(catalog, budget)
    if not budget.holds(Size(plain.compaction.after_bytes, plain.compaction.after_tokens)):
        return
    for order in (ranked, []):
        entries = shown(fit_catalog(catalog, budget, ranked_ids=order))
        for name, entry in shown(plain).items():
            assert len(json.dumps(entries[name])) >= len(json.dumps(entry))
