"""The API on a port of its own, a browser, and a tab with a key."""

import json
from collections.abc import Iterator
from typing import Any, Protocol
from uuid import UUID

import httpx2
import pytest

from models import database as session
from models.conversations.summary import store_summary
from models.scope import Scope
from tests.integration.agents import listening
from tests.integration.browser.chromium import Chromium, Tab, find_chromium
from tests.integration.conftest import make_key
from tests.integration.erasing import new_summary

PATIENT_S = 60.0


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    browser = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def base_url(tenant_id: UUID) -> Iterator[str]:
    """The real application, served."""
    del tenant_id
    with listening() as url:
        yield url


@pytest.fixture
def key(tenant_id: UUID) -> str:
    """A key that may do everything."""
    return make_key(tenant_id)


@pytest.fixture
def api(base_url: str, key: str) -> Iterator[httpx2.Client]:
    """The API, to put something there and to look at it."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=base_url, headers=headers, timeout=PATIENT_S) as made:
        yield made


class Go(Protocol):
    """Opens a place of the page with a key; with the key of all scopes, where none is named."""

    def __call__(self, place: str, with_key: str = "", /) -> Tab:
        """Open a place, and wait until all of it is there."""
        ...


@pytest.fixture
def tab(chromium: Chromium, base_url: str) -> Iterator[Tab]:
    """A tab on the page, without a key."""
    opened = Tab(chromium, f"{base_url}/inspector")
    yield opened
    assert opened.faults == []
    opened.close()


@pytest.fixture
def go(tab: Tab, base_url: str, key: str) -> Go:
    """Open a place of the page with a key, and wait until all of it is there."""

    def open_place(place: str, with_key: str = "", /) -> Tab:
        tab.run(f"sessionStorage.setItem('afterturn-key', {json.dumps(with_key or key)})")
        tab.open(f"{base_url}/inspector{place}")
        settle(tab)
        return tab

    return open_place


def settle(tab: Tab) -> None:
    """Wait until the page asks for nothing more."""
    tab.wait("document.documentElement.dataset.place === location.hash")
    tab.wait("document.documentElement.dataset.state === 'ready'")


def say(api: httpx2.Client, session_id: str, *words: str, user_id: str = "anna", first: int = 1) -> None:
    """Store turns of a question and an answer."""
    lines = []
    for number, said in enumerate(words, first):
        messages = [{"role": "user", "content": said}, {"role": "assistant", "content": f"Yes: {said}"}]
        turn = {"turn_id": f"t{number}", "user_id": user_id, "messages": messages}
        lines.append(json.dumps({"session_id": session_id, **turn}))
    answer = api.post("/v1/turns", content="\n".join(lines))
    assert answer.status_code == 200, answer.text
    assert not [one for one in answer.json()["results"] if "error" in one], answer.text


def summarize(tenant_id: UUID, session_id: str, *texts: str) -> None:
    """Store versions of a summary, each on the one before, of two messages more."""
    with session.transaction() as db:
        for number, said in enumerate(texts):
            made = new_summary(2 * (number + 1), said, base=number or None)
            assert store_summary(Scope(db, tenant_id), session_id, made, activate=True)


def text_of(tab: Tab, selector: str) -> Any:
    """The words that a person sees in an element."""
    return tab.run(f"document.querySelector({json.dumps(selector)}).innerText")
