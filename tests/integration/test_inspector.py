"""The Inspector: static files that hold no data, and a script that reads what the API really answers."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api.inspector.routes import ASSETS, FOLDER
from api.settings import api_settings
from context.certificate import Carried
from models import database as session
from models.learning.canary import start_canary
from models.learning.prior_set import SetKind, SetPlace, activate_set
from tests.integration.doors import TOOL
from tests.integration.erasing import plant_everywhere, post_turn, tool_turn
from tests.integration.learned import learn_often

WORD = "zqxmarker"
SESSION = "session-of-somebody"
PATHS = ["/inspector", *(f"/inspector/{name}" for name in sorted(ASSETS))]
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

Names = dict[str, str]


def api_of_the_script() -> dict[str, Any]:
    """What the script asks and reads, which it holds as JSON."""
    found = re.search(r"export const API = (\{.*?\n\});", (FOLDER / "names.js").read_text(), re.DOTALL)
    assert found is not None
    api: dict[str, Any] = json.loads(found[1])
    return api


API = api_of_the_script()
READS: Mapping[str, Names] = API["reads"]


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set whether the page is served, and forget it again."""

    def set_to(value: str) -> None:
        monkeypatch.setenv("AFTERTURN_INSPECTOR", value)
        api_settings.cache_clear()

    yield set_to
    monkeypatch.undo()
    api_settings.cache_clear()


@pytest.fixture
def stranger(client: TestClient) -> TestClient:
    """Somebody without a key."""
    del client.headers["Authorization"]
    return client


@pytest.mark.parametrize("path", PATHS)
def test_the_page_and_its_files_open_without_a_key_and_run_nothing_of_others(
    stranger: TestClient, path: str
) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == KINDS.get(path[path.rfind(".") :], "text/html; charset=utf-8")
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    own = ("script-src", "style-src", "connect-src")
    nothing = ("default-src", "base-uri", "form-action", "frame-ancestors")
    assert policy == dict.fromkeys(own, "'self'") | dict.fromkeys(nothing, "'none'")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "name",
    [
        *("page.html", "routes.py", "__init__.py", "nothing.js", "%2e%2e%2fsettings.py"),
        *("..%2f..%2fpyproject.toml", "%2fetc%2fpasswd", "inspector.js%00", "INSPECTOR.JS", ""),
    ],
)
def test_no_other_name_opens_a_file(stranger: TestClient, name: str) -> None:
    answer = stranger.get(f"/inspector/{name}", follow_redirects=False)
    assert answer.status_code in {307, 404}
    assert answer.status_code == 404 or answer.headers["Location"].endswith("/inspector")
    assert b"import" not in answer.content


def test_switched_off_it_is_as_if_it_had_never_been(
    stranger: TestClient, switch: Callable[[str], None]
) -> None:
    switch("false")
    nothing = stranger.get("/nothing")
    for path in PATHS:
        answer = stranger.get(path)
        assert (answer.status_code, answer.json()) == (404, nothing.json())
    assert "inspector" not in stranger.get("/").json()
    switch("true")
    assert stranger.get("/inspector").status_code == 200
    assert stranger.get("/").json()["inspector"] == "/inspector"


def test_it_is_not_a_part_of_the_apis_description(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert paths
    assert not [path for path in paths if "inspector" in path]


def test_nothing_can_be_sent_to_it(client: TestClient) -> None:
    assert {client.post(path).status_code for path in PATHS} == {405}


def test_without_a_key_there_is_the_page_and_no_word_of_anybody(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, "user")
    with_key = {path: client.get(path).content for path in PATHS}
    del client.headers["Authorization"]
    assert {path: client.get(path).content for path in PATHS} == with_key
    assert not any(WORD.encode() in content for content in with_key.values())
    for call in API["calls"]:
        answer = asked(client, call)
        assert (answer.status_code, WORD in answer.text) == (401, False)


IDS = {
    "session_id": SESSION,
    "version": "1",
    "seq": "1",
    "user_id": "user",
    "name": "main",
    "window_id": "none",
}


def asked(client: TestClient, call: str, body: Any = None, **ids: str) -> Any:
    """Make a call of the page."""
    method, template = API["calls"][call]
    return client.request(
        method, template.format_map({**IDS, **ids}), json=body or {} if method in {"POST", "PUT"} else None
    )


@pytest.fixture
def answers(client: TestClient, tenant_id: UUID, keep_windows: None) -> dict[str, Any]:  # noqa: ARG001
    """One real answer of each kind that the script reads, with at least one of everything in it."""
    plant_everywhere(tenant_id, client, SESSION, WORD, "user")
    post_turn(client, SESSION, tool_turn("another", WORD))
    post_turn(client, "elsewhere", {**tool_turn("one", WORD), "user_id": "user"})
    assert client.put("/v1/catalogs/main", json={"tools": [TOOL]}).status_code == 200
    learn_often(tenant_id, "main", {"send a mail": "mail.send"})
    learn_often(tenant_id, "main", {"send a mail": "mail.send"})
    begin_canary(tenant_id, client)
    given = {
        "model": "gpt-4o",
        "window": 700,
        "most": 100,
        "prompt": "Help.",
        "catalog": "main",
        "focus": "the hello",
        "attachments": [{API["attachment"]["text"]: "A document of the request."}],
        "look": True,
    }
    said = [{"role": "user", "content": "hello"}]
    body = {API["sends"][ours]: value for ours, value in {**given, "messages": said}.items()}
    bodies = {"context": body, "rank": {API["sends"]["intent"]: "send a mail", API["sends"]["explain"]: True}}
    version, share = API["sends"]["version"], API["sends"]["share"]
    bodies |= {"rollBack": {version: 1}, "startCanary": {version: 2, share: 0.5}, "setShare": {share: 0.5}}
    look = API["sends"]["look"]
    assert asked(client, "context", {**body, look: False}).status_code == 200
    (window, *_) = asked(client, "windows").json()["windows"]
    named = {"window_id": window["window_id"]}
    found = {call: asked(client, call, bodies.get(call), **named) for call in API["calls"]}
    assert {call: answer.status_code for call, answer in found.items()} == dict.fromkeys(API["calls"], 200)
    found["problem"] = client.get("/v1/sessions/nobody")
    return {kind: answer.json() for kind, answer in found.items()}


def begin_canary(tenant_id: UUID, client: TestClient) -> None:
    """Serve set 2 beside set 1, with an outcome under each."""
    place = SetPlace(tenant_id, SetKind.RANKING, "main")
    with session.transaction() as db:
        assert activate_set(db, place, 1, reason="by hand")
        start_canary(db, place, 2, share=0.5, days=3, reason="by hand")
    step = {"tool": "mail.send", "outcome": "ok"}
    for version in (1, 2):
        plan = {"catalog": "main", "intent": "send a mail", "steps": [step], "prior_set": version}
        said = [{"role": "user", "content": "send"}, {"role": "assistant", "content": "sent"}]
        post_turn(client, f"served-{version}", {"turn_id": "t", "messages": said, "plan": plan})


PARTS = {
    "listed": ("sessions", "all"),
    "user": ("users", "all"),
    "turn": ("turns", "all"),
    "catalog": ("catalogs", "all"),
    "ranked": ("rank", "entries"),
    "kind": ("queue", "kinds"),
    "piece": ("queue", "all"),
    "stored": ("artifacts", "all"),
    "reading": ("stored", "summaries"),
    "set": ("priors", "all"),
    "canary": ("set", "canary"),
    "served": ("windows", "all"),
    "work": ("session", "work"),
    "certificate": ("context", "certificate"),
    "block": ("certificate", "blocks"),
    "exclusion": ("certificate", "excluded"),
    "artifact": ("context", "artifacts"),
    "message": ("context", "messages"),
    "summary": ("summaries", "all"),
    "day": ("usage", "days"),
    "cap": ("usage", "caps"),
}
"""Which member of which answer each kind of part is, by the script's names."""


def at(answer: Any, path: str) -> Any:
    """What stands at a path; a KeyError says which member is not there."""
    for name in path.split("."):
        answer = answer[name]
    return answer


def test_every_field_that_the_script_reads_is_in_the_apis_answers(answers: dict[str, Any]) -> None:
    read = {kind: [answers[kind]] for kind in (*API["calls"], "problem")}
    for kind, (whole, member) in PARTS.items():
        parts = [at(one, READS[whole][member]) for one in read[whole]]
        read[kind] = [part for found in parts for part in (found if isinstance(found, list) else [found])]
        assert read[kind], f"the answers hold no {kind}"
    assert READS.keys() == read.keys() | {"loss"}
    every_key = {key for message in read.pop("message") for key in message}
    assert set(READS["message"].values()) <= every_key
    for kind, found in read.items():
        for path in READS[kind].values():
            at(found[0], path)
    assert set(READS["loss"].values()) <= set(Carried.__dataclass_fields__)


def test_every_call_and_field_that_the_script_sends_is_described(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert all(method.lower() in paths[template] for method, template in API["calls"].values())
    calls = [API["calls"][call] for call in ("context", "rank", "rollBack", "startCanary", "setShare")]
    bodies = [paths[path][method.lower()]["requestBody"] for method, path in calls]
    named = {name for body in bodies for name in body["content"]["application/json"]["schema"]["properties"]}
    assert set(API["sends"].values()) <= named
    queried = {
        given["name"]
        for method, template in API["calls"].values()
        for given in paths[template][method.lower()].get("parameters", ())
        if given["in"] == "query"
    }
    assert set(API["queries"].values()) <= queried
    described = client.get("/openapi.json").text
    assert all(f'"{name}"' in described for name in API["attachment"].values())


@pytest.mark.parametrize(
    ("sent", "field", "mark"),
    [
        ({"attachments": [{"attachment_id": "art_none"}]}, "attachments[0].attachment_id", "attachments"),
        ({"tools": {}}, "tools", "tools"),
        ({"focus": "x" * 2_001}, "focus", "focus"),
    ],
)
def test_a_refusal_names_the_field_that_the_page_marks(
    client: TestClient, sent: dict[str, Any], field: str, mark: str
) -> None:
    """The page finds its own field by the name before the bracket."""
    said = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}], "dry_run": True}
    answer = client.post(f"/v1/sessions/{SESSION}/context", json={**said, **sent})
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert f'id="{mark}"' in (FOLDER / "page.html").read_text()
