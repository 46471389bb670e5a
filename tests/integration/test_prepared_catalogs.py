"""Prepared forms of catalogs: computed at PUT, stored, loaded, and refused if they are not of the catalog."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event, text
from structlog.testing import capture_logs

from api.app import make_app
from api.catalogs.catalog_cache import CatalogCache, catalogs
from context.catalog.read import read_catalog
from context.ranking.prepared import pack_prepared, prepare_catalog
from models.catalogs.catalog import find_last_used
from models.catalogs.catalog_form import FormKey, store_form
from models.catalogs.settings import catalog_settings
from models.database import read_transaction, transaction
from models.scope import Scope
from tests.integration.conftest import make_key

TOOLS = [{"name": f"weigh_{n}", "description": f"Weighs crate {n} of the depot."} for n in range(40)]
ASKED = {
    "model": "gpt-4o-mini",
    "context_window": 16_000,
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Weigh crate 7."}],
    "catalog": "depot",
}
CROWS = [
    {"name": "caw", "description": "Count the crows on the roof."},
    {"name": "nest", "description": "Find the nest in the tree."},
]
SWAPPED = [
    {"name": "caw", "description": "Find the nest in the tree."},
    {"name": "nest", "description": "Count the crows on the roof."},
]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Settings of catalogs of this test alone."""
    yield monkeypatch
    catalog_settings.cache_clear()


def begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the loaded catalogs, as a process that just began."""
    monkeypatch.setattr(catalogs, "__dict__", CatalogCache().__dict__)


def put(client: TestClient, tools: list[dict[str, Any]], name: str = "depot") -> dict[str, Any]:
    answer = client.put(f"/v1/catalogs/{name}", json={"tools": tools})
    assert answer.status_code == 200, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


def first(client: TestClient, intent: str, name: str = "depot") -> str:
    """The tool that serves an intent best."""
    answer = client.post(f"/v1/catalogs/{name}/rank", json={"intent": intent})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["entries"][0]["id"])


def run_sql(statement: str, **values: Any) -> list[Any]:
    with transaction() as db:
        found = db.execute(text(statement), values)
        return list(found) if found.returns_rows else []


def forms() -> list[Any]:
    return run_sql("select * from catalog_form")


def plant(tools: list[dict[str, Any]], put_tools: list[dict[str, Any]]) -> None:
    """Write the form of other tools over the stored form, as a whole and valid form of the tools put."""
    catalog = read_catalog(put_tools)
    form = pack_prepared(catalog, prepare_catalog(read_catalog(tools)))
    run_sql("update catalog_form set form = :form", form=form)


def test_a_process_ranks_by_the_form_that_a_put_stored(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = put(client, CROWS)["digest"]
    assert [row.digest for row in forms()] == [digest]
    plant(SWAPPED, CROWS)
    begin_anew(monkeypatch)
    assert first(client, "count the crows") == "nest"


@pytest.mark.parametrize(
    "change",
    [
        "update catalog_form set revision = 'of older code'",
        "update catalog_form set in_force_since = in_force_since - interval '1 second'",
        "update catalog_form set digest = repeat('0', 64)",
        "update catalog_form set form = substring(form from 1 for octet_length(form) - 1)",
        "update catalog_form set form = set_byte(form, 40, 255 - get_byte(form, 40))",
        "update catalog_form set form = 'x'",
        "delete from catalog_form",
    ],
    ids=["other code", "put again", "other version", "cut off", "damaged", "something else", "missing"],
)
def test_a_form_that_is_not_of_the_catalog_is_computed_and_stored_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    digest = put(client, CROWS)["digest"]
    [before] = forms()
    plant(SWAPPED, CROWS)
    run_sql(change)
    begin_anew(monkeypatch)
    assert first(client, "count the crows") == "caw"
    [after] = forms()
    assert (after.digest, after.revision, after.in_force_since) == (
        digest,
        before.revision,
        before.in_force_since,
    )
    assert bytes(after.form) == bytes(before.form)


def test_a_form_of_another_catalog_under_the_right_name_is_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(client, CROWS)
    plant(SWAPPED, SWAPPED)
    begin_anew(monkeypatch)
    with capture_logs() as told:
        assert first(client, "count the crows") == "caw"
    assert [one["reason"] for one in told if one["event"] == "catalog_form_refused"] == [
        "the form is of another catalog"
    ]


def test_a_large_catalog_is_prepared_right_after_the_answer(
    client: TestClient, settings: pytest.MonkeyPatch
) -> None:
    settings.setenv("AFTERTURN_CATALOG_PREPARE_AT_PUT_BYTES", "0")
    catalog_settings.cache_clear()
    digest = put(client, CROWS)["digest"]
    assert [row.digest for row in forms()] == [digest]


def test_a_put_of_the_same_catalog_prepares_what_an_earlier_put_could_not(client: TestClient) -> None:
    put(client, CROWS)
    run_sql("delete from catalog_form")
    assert put(client, CROWS)["changed"] is False
    assert len(forms()) == 1


def test_a_form_knows_the_tools_that_were_taken_away_before_its_version(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warning() -> str:
        begin_anew(monkeypatch)
        asked = {"intent": "find the nest in the tree"}
        return str(client.post("/v1/catalogs/depot/rank", json=asked).json()["gap_warning"])

    put(client, CROWS[:1])
    assert "had 'nest'" not in warning()
    put(client, CROWS)
    put(client, CROWS[:1])  # the same version again, after another one
    [row] = forms()
    assert "had 'nest'" in warning()
    assert "had 'nest'" in warning()
    assert forms() == [row]


def test_no_form_is_stored_for_a_version_that_is_no_more_in_force(
    client: TestClient, tenant_id: UUID
) -> None:
    put(client, CROWS)
    [row] = forms()
    old = FormKey(row.digest, row.in_force_since, row.revision)
    newest = put(client, TOOLS)["digest"]
    with Scope.write(tenant_id) as scope:
        assert not store_form(scope, "depot", old, row.form)
    assert [row.digest for row in forms()] == [newest]


def test_no_form_is_stored_that_is_too_large(client: TestClient, tenant_id: UUID) -> None:
    put(client, CROWS)
    [row] = forms()
    run_sql("delete from catalog_form")
    with Scope.write(tenant_id) as scope:
        key = FormKey(row.digest, row.in_force_since, row.revision)
        assert not store_form(scope, "depot", key, bytes(64 * 2**20 + 1))
    assert forms() == []


def test_of_many_puts_at_once_the_form_is_the_last_version_s(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(client, TOOLS)
    versions = [CROWS, SWAPPED, [*CROWS, {"name": "roof", "description": "Mend the roof."}]]

    def put_some(tools: list[dict[str, Any]]) -> None:
        for _ in range(6):
            put(client, tools)

    writers = [threading.Thread(target=put_some, args=(tools,)) for tools in versions]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    [in_force] = run_sql("select digest, updated_at from catalog")
    wanted = {put_one["name"] for put_one in client.get("/v1/catalogs/depot").json()["catalog"]["tools"]}
    begin_anew(monkeypatch)
    before = first(client, "count the crows")
    [row] = forms()
    assert (row.digest, row.in_force_since) == tuple(in_force)
    assert before in wanted
    run_sql("delete from catalog_form")
    begin_anew(monkeypatch)
    assert first(client, "count the crows") == before
    assert bytes(forms()[0].form) == bytes(row.form)


def test_a_deleted_catalog_leaves_no_form(client: TestClient) -> None:
    put(client, CROWS)
    assert client.delete("/v1/catalogs/depot").json()["removed"]["catalog_form"] == 1
    assert forms() == []


def test_the_catalogs_used_last_come_first_and_a_use_is_noted_once_an_hour(client: TestClient) -> None:
    for name in ("old", "older"):
        put(client, CROWS, name)
    run_sql("update catalog set updated_at = now() - interval '2 days'")
    run_sql("update catalog set updated_at = now() - interval '3 days' where name = 'older'")

    def names() -> list[str]:
        with read_transaction() as db:
            return [name for _, name in find_last_used(db, most=5)]

    assert names() == ["old", "older"]
    first(client, "count the crows", "older")
    assert names() == ["older", "old"]
    [noted] = run_sql("select used_at from catalog where name = 'older'")
    first(client, "find the nest", "older")
    assert run_sql("select used_at from catalog where name = 'older'") == [noted]
    run_sql("update catalog set used_at = used_at - interval '61 minutes' where name = 'older'")
    first(client, "find the nest", "older")
    assert run_sql("select used_at from catalog where name = 'older'")[0].used_at >= noted.used_at


@contextmanager
def statements() -> Iterator[list[str]]:
    """List the statements sent meanwhile."""
    sent: list[str] = []

    def note(_db: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.parametrize(("prepared", "reads"), [("0", 1), ("8", 0)])
def test_a_process_loads_the_catalogs_used_last_before_its_first_request(
    client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch, prepared: str, reads: int
) -> None:
    put(client, TOOLS)
    monkeypatch.setenv("AFTERTURN_CATALOGS_PREPARED", prepared)
    catalog_settings.cache_clear()
    begin_anew(monkeypatch)
    try:
        with TestClient(make_app()) as begun:
            begun.headers["Authorization"] = f"Bearer {make_key(tenant_id)}"
            with statements() as sent:
                answer = begun.post("/v1/sessions/s1/context", json=ASKED)
    finally:
        catalog_settings.cache_clear()
    assert answer.status_code == 200, answer.text
    assert sum("from catalog join catalog_version as version" in one for one in sent) == reads
    assert sum("select form" in one for one in sent) == reads
    assert "weigh_7" in [tool["function"]["name"] for tool in answer.json()["tools"]]
