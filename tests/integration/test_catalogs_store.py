"""Catalogs in Postgres: a version in force, earlier ones readable, entries known since their first day."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import Connection

from context.catalog.compact import Ladder
from context.catalog.read import read_catalog
from models.catalogs.catalog import FORGET_ENTRIES_AFTER, find_digest, load_version, put_catalog
from models.scope import Scope
from models.tenants.tenant import ensure_tenant

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def day(number: int) -> int:
    """The day number of a day after the start."""
    return (START.date() - date(1970, 1, 1)).days + number


class Shelf:
    """One tenant's catalog `main`."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self.tenant = ensure_tenant(db, "first")

    def put(self, *names: str, days: int = 0, keep: int = 10, text: str = "") -> bool:
        catalog = read_catalog([{"name": name, "description": text} for name in names])
        ladder = Ladder(catalog)
        every = range(ladder.entries)
        return put_catalog(
            Scope(self.db, self.tenant),
            "main",
            catalog,
            body=ladder.text(every, 0, ""),
            tokens=ladder.whole.tokens,
            now=START + timedelta(days=days),
            keep_versions=keep,
        )

    def novel(self, digest: str | None = None) -> dict[str, int]:
        found = load_version(Scope(self.db, self.tenant), "main", digest)
        assert found is not None
        return dict(found.novel_since)

    @property
    def digest(self) -> str:
        found = find_digest(Scope(self.db, self.tenant), "main")
        assert found is not None
        return found


@pytest.fixture
def shelf(db: Connection) -> Shelf:
    return Shelf(db)


def test_a_version_is_read_as_it_was_put(shelf: Shelf) -> None:
    assert shelf.put("a", "b", text="漢字")
    found = load_version(Scope(shelf.db, shelf.tenant), "main")
    assert found is not None
    assert (found.in_force, found.packs, found.pipelines) == (True, 2, 0)
    assert (
        found.digest
        == shelf.digest
        == read_catalog([{"name": "b", "description": "漢字"}, {"name": "a", "description": "漢字"}]).digest
    )
    assert '"name":"a"' in found.body


def test_the_same_catalog_again_changes_nothing(shelf: Shelf) -> None:
    assert shelf.put("a")
    assert not shelf.put("a")
    assert shelf.put("a", "b")


def test_an_earlier_version_stays_readable_and_says_that_it_is_not_in_force(shelf: Shelf) -> None:
    shelf.put("a")
    before = shelf.digest
    shelf.put("b")
    old = load_version(Scope(shelf.db, shelf.tenant), "main", before)
    assert old is not None
    assert (old.in_force, '"name":"a"' in old.body) == (False, True)
    assert load_version(Scope(shelf.db, shelf.tenant), "main").digest != before  # type: ignore[union-attr]


def test_only_the_newest_versions_stay(shelf: Shelf) -> None:
    digests = []
    for name in "abcd":
        shelf.put(name, keep=2)
        digests.append(shelf.digest)
    kept = [load_version(Scope(shelf.db, shelf.tenant), "main", digest) is not None for digest in digests]
    assert kept == [False, False, True, True]


def test_a_version_that_comes_back_is_the_newest(shelf: Shelf) -> None:
    for name in ("a", "b", "a", "c"):
        shelf.put(name, keep=2)
    assert (
        load_version(Scope(shelf.db, shelf.tenant), "main", read_catalog([{"name": "a"}]).digest) is not None
    )
    assert load_version(Scope(shelf.db, shelf.tenant), "main", read_catalog([{"name": "b"}]).digest) is None


def test_an_entry_is_known_since_its_first_day_whatever_becomes_of_it(shelf: Shelf) -> None:
    shelf.put("a")
    shelf.put("a", "b", days=3)
    shelf.put("b", days=4)
    shelf.put("a", "b", days=5, text="rewritten")
    assert shelf.novel() == {"a": day(0), "b": day(3)}


def test_an_entry_that_was_gone_for_long_is_new_again(shelf: Shelf) -> None:
    shelf.put("a", "b")
    shelf.put("b", days=1)
    late = 2 + FORGET_ENTRIES_AFTER.days
    shelf.put("b", "c", days=late)
    shelf.put("a", "b", "c", days=late + 1)
    assert shelf.novel() == {"a": day(late + 1), "b": day(0), "c": day(late)}


def test_a_catalog_of_another_tenant_or_name_does_not_exist(shelf: Shelf) -> None:
    shelf.put("a")
    other: UUID = ensure_tenant(shelf.db, "second")
    assert find_digest(Scope(shelf.db, other), "main") is None
    assert load_version(Scope(shelf.db, other), "main", shelf.digest) is None
    assert load_version(Scope(shelf.db, shelf.tenant), "other") is None
