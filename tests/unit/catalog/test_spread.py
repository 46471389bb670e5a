"""Without an intent a catalog shows something of everything: each family of packs, and pipelines."""

from context.catalog.fit import fit_catalog, spread_ids
from context.catalog.read import read_catalog
from context.catalog.types import Catalog, CatalogBudget, Entry, EntryKind


def catalog() -> Catalog:
    tools = [
        {"name": f"{family}.act_{n}", "description": "Does a thing with great care. " * 8}
        for family in ("audio", "blog", "code", "depot", "email")
        for n in range(12)
    ]
    pipelines = [
        {"id": f"pipe_{n}", "name": f"pipe {n}", "description": "Runs a few of them. " * 8, "steps": []}
        for n in range(9)
    ]
    return read_catalog({"tools": tools, "pipelines": pipelines})


def test_every_family_comes_before_the_second_of_any_and_pipelines_among_them() -> None:
    ordered = spread_ids(catalog().entries)
    assert sorted(ordered) == sorted(entry.entry_id for entry in catalog().entries)
    first = ordered[:8]
    assert {name.partition(".")[0] for name in first if "." in name} >= {"audio", "blog", "code", "depot"}
    assert sum(name.startswith("pipe_") for name in first) == 2


def test_a_weak_model_without_an_intent_sees_packs_of_every_family_and_pipelines() -> None:
    fitted = fit_catalog(catalog(), CatalogBudget(16_000, 4_000), top_n=12)
    assert len(fitted.shown) == 12 + fitted.compaction.trimmed
    assert set(fitted.shown) == set(spread_ids(catalog().entries)[: len(fitted.shown)])
    assert len({name.partition(".")[0] for name in fitted.shown if "." in name}) == 5
    assert sum(name.startswith("pipe_") for name in fitted.shown) >= 4


def test_a_ranking_goes_before_it() -> None:
    best = "depot.act_7"
    whole, trimmed = (
        fit_catalog(catalog(), CatalogBudget(16_000, most_bytes), ranked_ids=[best], top_n=1)
        for most_bytes in (400, 4_000)
    )
    assert whole.shown == (best,)
    assert best in trimmed.shown
    assert len(trimmed.shown) == 1 + trimmed.compaction.trimmed


def test_a_catalog_of_pipelines_alone_or_of_nothing_is_ordered_too() -> None:
    pipe = Entry("p", EntryKind.PIPELINE, "p")
    assert spread_ids([pipe]) == ["p"]
    assert spread_ids([]) == []
