"""What a process keeps of artifacts' texts: bounded by what it weighs, not by the letters alone."""

import gc
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from uuid import uuid4

import pytest

from api.context.artifact_summaries import CachedText, TextCache, brought_text
from benchmarks.soak.words import table
from context.artifacts.content import document_artifact
from context.artifacts.types import ContentKind
from context.extract import PassageIndex

ROWS = 300


def text(number: int) -> CachedText:
    """A tool's table, as it is cut and indexed at a read."""
    content = table(Random(number), ROWS)  # noqa: S311 (the same each time)
    return CachedText(content, PassageIndex.build(content, ContentKind.TABLE))


def test_the_weight_is_about_what_memory_is_taken() -> None:
    """Letters are a fifth of it: a cache that counted them alone would be five times as large as it says."""
    text(0)
    gc.collect()
    tracemalloc.start()
    try:
        kept = [text(number) for number in range(1, 7)]
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    weighed = sum(one.weight_bytes for one in kept)
    assert taken / 2 < weighed < taken * 2


def test_the_least_recently_used_text_goes_where_the_weight_is_reached() -> None:
    kept = {f"a{number}": text(number) for number in range(9)}
    cache = TextCache(4 * max(one.weight_bytes for one in kept.values()))
    for artifact_id, one in kept.items():
        cache.keep(artifact_id, one)
    there = [artifact_id for artifact_id in kept if cache.get(artifact_id)]
    assert there == list(kept)[-len(there) :]
    assert len(there) in {4, 5}


@pytest.mark.parametrize(("times", "is_kept"), [(4, True), (3.9, False)], ids=("a quarter", "more"))
def test_a_text_of_more_than_a_quarter_of_the_cache_is_not_kept(times: float, *, is_kept: bool) -> None:
    one = text(1)
    cache = TextCache(int(times * one.weight_bytes))
    cache.keep("a", one)
    assert (cache.get("a") is not None) is is_kept


def test_a_document_that_a_request_brings_again_is_not_cut_up_again() -> None:
    content = table(Random(77), ROWS)  # noqa: S311 (the same each time)
    artifact, tenant_id = document_artifact(content, title="", timestamp=datetime.now(UTC)), uuid4()
    once = brought_text(tenant_id, artifact, content)
    assert once.index is not None
    assert brought_text(tenant_id, artifact, content) is once
    assert brought_text(uuid4(), artifact, content) is not once
    as_prose = brought_text(tenant_id, replace(artifact, kind=ContentKind.TEXT), content)
    assert as_prose.index != once.index


def test_a_text_that_is_kept_again_is_weighed_once() -> None:
    one = text(1)
    cache = TextCache(5 * one.weight_bytes)
    for _ in range(9):
        cache.keep("a", one)
    cache.keep("b", text(1))
    assert (cache.get("a"), cache.get("b")) == (one, text(1))
