"""Catalogs over HTTP: stored by version, ranked, fitted to a model, cached by digest, one's own alone."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from api.catalogs import catalog_cache
from api.catalogs import routes as catalogs_api
from models import database as session
from models.catalogs.settings import CatalogSettings
from models.tenants.tenant import ensure_tenant
from tests.data import data_dir
from tests.integration.conftest import make_key

PATH = "/v1/catalogs/main"
MAIL = {
    "name": "mail.send",
    "description": "Sends a mail to somebody. Takes a while.",
    "metadata": {"intent_keywords": ["send an email"], "supersedes": ["mail.draft"]},
}
DRAW = {"type": "function", "function": {"name": "draw", "description": "画像を描く。", "parameters": {}}}
DECK = {"id": "deck", "name": "Deck", "description": "Makes slides.", "steps": [{"pack": "draw"}]}
CATALOG = {"packs": [MAIL, DRAW], "pipelines": [DECK]}


def put(client: TestClient, document: object, path: str = PATH) -> dict[str, Any]:
    answer = client.put(path, json=document)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def post(client: TestClient, call: str, **fields: Any) -> dict[str, Any]:
    answer = client.post(f"{PATH}/{call}", json=fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def tools(number: int) -> list[dict[str, Any]]:
    return [
        {"name": f"tool-{place:04}", "description": f"Handles the case {place} of the ledger. Slowly."}
        for place in range(number)
    ]


def test_a_catalog_is_stored_and_read_back_with_its_digest(client: TestClient) -> None:
    stored = put(client, CATALOG)
    assert (stored["name"], stored["tools"], stored["pipelines"], stored["changed"]) == ("main", 2, 1, True)
    answer = client.get(PATH)
    found = answer.json()
    assert answer.headers["etag"] == f'"{stored["digest"]}"'
    assert {name: found[name] for name in ("digest", "bytes", "tokens", "in_force")} == {
        "digest": stored["digest"],
        "bytes": stored["bytes"],
        "tokens": stored["tokens"],
        "in_force": True,
    }
    assert [pack["name"] for pack in found["catalog"]["packs"]] == ["draw", "mail.send"]
    assert found["catalog"]["packs"][1]["metadata"] == MAIL["metadata"]
    assert put(client, found["catalog"])["changed"] is False


def test_the_same_catalog_in_another_order_changes_nothing(client: TestClient) -> None:
    first = put(client, CATALOG)
    again = put(client, {"pipelines": [DECK], "packs": [DRAW, dict(reversed(MAIL.items()))]})
    assert (again["digest"], again["changed"]) == (first["digest"], False)


def test_a_list_of_tools_is_a_catalog(client: TestClient) -> None:
    assert put(client, [DRAW])["tools"] == 1


def test_a_reader_who_has_the_version_is_not_sent_it_again(client: TestClient) -> None:
    digest = put(client, CATALOG)["digest"]
    for header in (f'"{digest}"', f'"x", "{digest}"'):
        answer = client.get(PATH, headers={"If-None-Match": header})
        assert (answer.status_code, answer.content) == (304, b"")
    assert client.get(PATH, headers={"If-None-Match": '"x"'}).status_code == 200


def test_an_earlier_version_is_read_by_its_digest(client: TestClient) -> None:
    before = put(client, CATALOG)["digest"]
    put(client, [DRAW])
    answer = client.get(PATH, params={"digest": before}).json()
    assert (answer["digest"], answer["in_force"], answer["pipelines"]) == (before, False, 1)
    assert client.get(PATH, params={"digest": "0" * 64}).status_code == 404
    assert client.get(PATH, params={"digest": "x"}).json()["field"] == "digest"


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"tools": [{"name": "a"}, {"name": "a"}]}, "tools"),
        ({"tools": [], "extra": 1}, "extra"),
        ({"tools": [{"description": "x"}]}, "tools[0].name"),
        (7, "body"),
    ],
)
def test_a_catalog_that_cannot_be_read_is_refused_with_its_field(
    client: TestClient, document: object, field: str
) -> None:
    answer = client.put(PATH, json=document)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert client.get(PATH).status_code == 404


def test_broken_json_and_too_much_of_it_are_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.put(PATH, content=b'{"tools": [').status_code == 400
    small = CatalogSettings(catalog_max_bytes=1_024, catalog_max_entries=2)
    monkeypatch.setattr(catalogs_api, "catalog_settings", lambda: small)
    assert client.put(PATH, json=tools(3)).json()["limit"] == 2
    assert client.put(PATH, json=tools(90)).status_code == 413


def test_text_is_cleaned_once_at_the_door(client: TestClient) -> None:
    sent = rb'[{"name": "a", "description": "x\u0000y\ud800"}]'
    assert client.put(PATH, content=sent).status_code == 200
    assert client.get(PATH).json()["catalog"]["tools"][0]["description"] == "xy\ufffd"


def test_entries_are_ranked_for_an_intent_and_the_reasons_are_told(client: TestClient) -> None:
    digest = put(client, CATALOG)["digest"]
    answer = post(client, "rank", intent="please send an email to Ann", explain=True)
    first = answer["entries"][0]
    assert (first["id"], first["kind"], first["prior"]) == ("mail.send", "pack", 0.0)
    assert first["score"] == first["lexical"] > 0
    assert first["reasons"]
    assert (len(answer["entries"]), answer["hidden"], answer["prior_set"]) == (3, 0, None)
    assert answer["digest"] == digest
    assert "reasons" not in post(client, "rank", intent="send an email")["entries"][0]


def test_only_the_highest_n_are_ranked_where_so_many_are_asked_for(client: TestClient) -> None:
    put(client, CATALOG)
    answer = post(client, "rank", intent="画像を描いて", top_n=1)
    assert ([entry["id"] for entry in answer["entries"]], answer["hidden"]) == (["draw"], 2)


def test_an_intent_that_nothing_serves_is_said_so(client: TestClient) -> None:
    put(client, CATALOG)
    assert post(client, "rank", intent="send an email")["gap_warning"] is None
    warning = post(client, "rank", intent="reconcile quarterly vineyard payroll")["gap_warning"]
    assert warning.startswith("nothing in the catalog")


def test_a_strong_model_is_shown_everything(client: TestClient) -> None:
    stored = put(client, {"tools": tools(300)})
    answer = post(client, "compact", model="anthropic/claude-sonnet-4-5")
    assert len(answer["catalog"]["tools"]) == 300
    assert answer["compaction"] == {
        "before_bytes": stored["bytes"],
        "after_bytes": stored["bytes"],
        "before_tokens": stored["tokens"],
        "after_tokens": stored["tokens"],
        "dropped": [],
        "hidden": 0,
        "trimmed": 0,
    }


def test_a_weak_model_is_shown_what_ranks_highest_within_its_bytes(client: TestClient) -> None:
    put(client, {"tools": tools(600)})
    with capture_logs() as logs:
        answer = post(client, "compact", model="openrouter/openrouter/free", intent="case 417 of the ledger")
    shown = [tool["name"] for tool in answer["catalog"]["tools"]]
    assert "tool-0417" in shown
    trimmed = answer["compaction"]["trimmed"]
    assert (len(shown) - trimmed, answer["tier"]) == (12, "C")
    assert trimmed > 12
    compact = json.dumps(answer["catalog"], ensure_ascii=False, separators=(",", ":"))
    assert len(compact.encode()) <= answer["compaction"]["after_bytes"] <= 10_000
    assert answer["compaction"]["after_bytes"] > 9_500
    hidden = 600 - len(shown)
    assert answer["compaction"]["hidden"] == answer["catalog"]["hidden"]["entries"] == hidden
    [event] = [each for each in logs if each["event"] == "catalog_compacted"]
    assert (event["log_level"], event["hidden"]) == ("info", hidden)
    assert "ledger" not in str(event)


def test_a_small_cut_is_no_news(client: TestClient) -> None:
    put(client, CATALOG)
    with capture_logs() as logs:
        post(client, "compact", model="gpt-4o")
    assert [each for each in logs if each["event"] == "catalog_compacted"] == []


def test_what_the_rest_of_a_prompt_takes_is_left_free(client: TestClient) -> None:
    put(client, {"tools": tools(120)})
    roomy = post(client, "compact", model="never-heard-of", reserve_tokens=0)
    tight = post(client, "compact", model="never-heard-of", reserve_tokens=9_500)
    assert roomy["compaction"]["hidden"] == 0
    assert tight["compaction"]["after_tokens"] < roomy["compaction"]["after_tokens"]
    answer = client.post(f"{PATH}/compact", json={"model": "never-heard-of", "reserve_tokens": 20_000})
    assert (answer.status_code, answer.json()["type"]) == (422, "catalog-over-budget")
    assert answer.json()["budget_tokens"] == 0


def test_the_same_call_is_answered_in_the_same_bytes(client: TestClient) -> None:
    put(client, {"tools": tools(400)})
    wish = {"model": "never-heard-of", "intent": "case 12 of the ledger"}
    answers = {client.post(f"{PATH}/compact", json=wish).content for _ in range(2)}
    catalog_cache.catalogs.__init__()  # type: ignore[misc]
    answers.add(client.post(f"{PATH}/compact", json=wish).content)
    assert len(answers) == 1


def test_a_new_version_is_seen_by_the_very_next_call(client: TestClient) -> None:
    put(client, CATALOG)
    assert post(client, "rank", intent="slides")["entries"][0]["id"] == "deck"
    put(client, [{"name": "slides"}])
    assert [entry["id"] for entry in post(client, "rank", intent="slides")["entries"]] == ["slides"]


def test_catalogs_are_listed_by_name_as_they_are_in_force(client: TestClient) -> None:
    assert client.get("/v1/catalogs").json() == {"catalogs": []}
    put(client, FILES, "/v1/catalogs/zoo")
    put(client, CATALOG)
    latest = put(client, [DRAW])
    listed = client.get("/v1/catalogs").json()["catalogs"]
    assert [each["name"] for each in listed] == ["main", "zoo"]
    assert {name: listed[0][name] for name in ("digest", "tools", "pipelines", "bytes", "tokens")} == {
        name: latest[name] for name in ("digest", "tools", "pipelines", "bytes", "tokens")
    }


def test_a_deleted_catalog_is_gone_with_its_versions_and_may_come_again(client: TestClient) -> None:
    put(client, CATALOG)
    old = put(client, [SORT, *FILES])["digest"]
    put(client, FILES)
    assert post(client, "rank", intent="list the files")["entries"]
    receipt = client.delete(PATH)
    assert receipt.status_code == 200
    removed = {"catalog": 1, "catalog_version": 3, "catalog_entry": 6, "catalog_form": 1}
    assert receipt.json()["removed"] == removed
    assert client.get(PATH).status_code == 404
    assert client.get(PATH, params={"digest": old}).status_code == 404
    assert client.post(f"{PATH}/rank", json={"intent": "list the files"}).status_code == 404
    assert client.delete(PATH).status_code == 404
    put(client, FILES)
    assert "file.sort" not in str(post(client, "rank", intent="sort the lines of the file")["gap_warning"])


SORT = {"name": "file.sort", "description": "Sort the lines of a file by their content."}
FILES = [
    {"name": "file.list", "description": "List the files of a directory."},
    {"name": "file.move", "description": "Move a file to another directory."},
]


def test_a_tool_that_the_version_before_had_is_named_where_it_is_asked_for(client: TestClient) -> None:
    put(client, [SORT, *FILES])
    assert post(client, "rank", intent="sort the lines of the file")["gap_warning"] is None
    put(client, FILES)
    for call, more in (("rank", {}), ("compact", {"model": "gpt-4o"})):
        asked = post(client, call, intent="sort the lines of the file", **more)
        assert "had 'file.sort'" in asked["gap_warning"]
        assert post(client, call, intent="move the file to a directory", **more)["gap_warning"] is None
    put(client, [SORT, *FILES])
    assert post(client, "rank", intent="sort the lines of the file")["gap_warning"] is None


def test_only_so_many_earlier_versions_are_looked_through(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(client, [SORT, *FILES])
    for number in range(3):
        put(client, [*FILES, {"name": f"page.{number}", "description": f"Fetch page {number} of the web."}])
    for versions, is_named in ((3, True), (2, False), (0, False)):
        limited = CatalogSettings(catalog_former_versions=versions)
        monkeypatch.setattr(catalog_cache, "catalog_settings", lambda limited=limited: limited)
        catalog_cache.catalogs.__init__()  # type: ignore[misc]
        warning = post(client, "rank", intent="sort the lines of the file")["gap_warning"]
        assert (warning is not None and "file.sort" in warning) is is_named


def test_the_catalogs_kept_in_memory_are_bounded_and_the_answer_stays_right(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = catalog_cache.CatalogCache()
    monkeypatch.setattr(catalogs_api, "catalogs", cache)
    bound = CatalogSettings(catalog_cache_bytes=90_000)
    monkeypatch.setattr(catalog_cache, "catalog_settings", lambda: bound)
    for name in "abc":
        put(client, {"tools": [{"name": name, "description": "word " * 200}]}, f"/v1/catalogs/{name}")
    for name in "abcab":
        answer = client.post(f"/v1/catalogs/{name}/rank", json={"intent": "word"}).json()
        assert [entry["id"] for entry in answer["entries"]] == [name]
    assert len(cache._loaded._kept) == 2


def test_catalogs_put_at_once_leave_one_of_them_in_force(client: TestClient) -> None:
    documents = [tools(number) for number in range(1, 7)]
    with ThreadPoolExecutor(len(documents)) as pool:
        stored = list(pool.map(partial(put, client), documents))
    found = client.get(PATH).json()
    assert found["digest"] in {each["digest"] for each in stored}
    assert len(found["catalog"]["tools"]) == found["tools"]
    assert all(each["changed"] for each in stored)


def test_ten_thousand_tools_are_stored_ranked_and_fitted(client: TestClient) -> None:
    assert put(client, {"tools": tools(10_000)})["tools"] == 10_000
    assert post(client, "rank", intent="case 7321 of the ledger", top_n=3)["entries"][0]["id"] == "tool-7321"
    weak = post(client, "compact", model="never-heard-of", intent="case 7321 of the ledger")
    shown = len(weak["catalog"]["tools"])
    assert (shown - weak["compaction"]["trimmed"], weak["compaction"]["hidden"]) == (12, 10_000 - shown)
    strong = post(client, "compact", model="gpt-4o", intent="case 7321 of the ledger")
    assert strong["compaction"]["after_tokens"] <= 100_000
    assert "tool-7321" in {tool["name"] for tool in strong["catalog"]["tools"]}


def test_a_catalog_of_another_tenant_does_not_exist(client: TestClient, tenant_id: UUID) -> None:
    put(client, CATALOG)
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert client.get(PATH).status_code == 404
    assert client.post(f"{PATH}/rank", json={"intent": "x"}).status_code == 404
    assert client.post(f"{PATH}/compact", json={"model": "x"}).status_code == 404
    client.headers["Authorization"] = f"Bearer {make_key(tenant_id, 'read')}"
    assert client.get(PATH).status_code == 200
    assert client.put(PATH, json=CATALOG).status_code == 403


@pytest.mark.data
def test_a_real_routing_guide_fits_every_tier(client: TestClient) -> None:
    guide = json.loads((data_dir("helmdeck") / "routing_guide.json").read_text())
    stored = put(client, guide)
    assert (stored["tools"], stored["pipelines"]) == (64, 23)
    intent = "Remember this announcement, write a blog post from it, and generate an illustration for it"
    for model, most in (
        ("openrouter/z-ai/glm-4.5-air:free", 10_000),
        ("mistral/mistral-large-latest", 22_000),
    ):
        answer = post(client, "compact", model=model, intent=intent)
        assert answer["compaction"]["after_bytes"] <= most
        assert answer["gap_warning"] is None
    assert post(client, "compact", model="gpt-4o")["compaction"]["hidden"] == 0
